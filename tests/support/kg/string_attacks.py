"""Queries that try to hide a clause in a string, and a listener that would be asked by it."""

import random
import socket
import threading
from contextlib import suppress
from typing import Any, Self

import pyoxigraph

from branchwise.kg.answers import KgError
from branchwise.kg.sparql.prepare import prepare

_MARKS = ('"', "'", '""', "''", '"""', "'''", '""""', "''''", '"""""', '"', "'", '"""', "'''")
_ESCAPES = (
    *("\\", "\\\\", "\\\\\\", '\\"', "\\'", "\\n", "\\d", "\\u", "\\U", "\\u0022", "\\u0027"),
    *("\\U0011", "\\U00000022", "\\u005C", "\\u005Cu0022", "\\\\u0022", "\\u002", "\\U0000000A"),
    *("\\u000A", "\\u0023", "\\u007B", "\\u0020", "\\b", "\\f", "\\r"),
)
_PIECES = ("a", " ", "\n", "\r", "#", "# ", "}", "{", "} {", " . ", "<", ">", "<?b#>", "?x", "@en")
_PIECES += ("^^", "<urn:a>", "(", ")", "\t", "\x0b", "\x85", "\u2028", "\ufeff", ";", ",", "1", ":")
_CLAUSES = (
    "SERVICE <URL> { ?s ?p ?o }",
    "SERVICE SILENT <URL> { ?s ?p ?o }",
    "BIND(<URL> AS ?u) SERVICE ?u { ?s ?p ?o }",
    "GRAPH <urn:g> { ?s ?p ?o }",
    "SERVICE wikibase:label { ?s ?p ?o }",
)
_FRAMES = (
    "SELECT * { VALUES ?x { %s } }",
    "SELECT * { VALUES ?x { %s } }",
    "SELECT * { ?s ?p %s }",
    "SELECT * { ?s ?p ?o FILTER(?o = %s) }",
    "SELECT * { ?s ?p %s . OPTIONAL { ?s ?p ?q } }",
    "SELECT (%s AS ?y) { ?s ?p ?o }",
    "SELECT ?sAltLabel { ?s ?p %s }",
    "SELECT ?s (STRLEN(%s) AS ?n) { ?s ?p ?o } GROUP BY ?s HAVING (?n > 1)",
)


class Listener:
    """Accepts connections at `address`, counts them in `seen`, and closes them at once."""

    def __init__(self) -> None:
        self.seen = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._accept)

    def _accept(self) -> None:
        while True:
            connection, _ = self._server.accept()
            with connection:
                if connection.recv(4) == b"stop":
                    return
                self.seen += 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with socket.create_connection(self._server.getsockname()) as connection:
            connection.sendall(b"stop")
        self._thread.join()
        self._server.close()


def attack(rng: random.Random, address: str) -> str:
    """A query with quotation marks, escapes and clauses, most of them in no order."""
    clause = rng.choice(_CLAUSES).replace("URL", address)
    form = rng.random()
    if form < 0.5:
        long = rng.choice(('"""', "'''"))
        behind = rng.choice(("#", "# ", "", "."))
        escape = rng.choice((*_ESCAPES, ""))
        inside = f"{long}a{long[0]} }} {{ {clause} {behind}{escape}{long}\n"
    elif form < 0.7:
        mark = rng.choice(_MARKS[-4:])
        inside = f"{mark}{_some(rng, 1)}}} {{ {clause} {_some(rng, 2)}{mark}{_some(rng, 1)}"
    else:
        inside = f"{_some(rng, 3)}{clause}{_some(rng, 4)}"
    for _ in range(rng.choice((0, 0, 1, 2))):
        at = rng.randrange(len(inside) + 1)
        gone = rng.choice((0, 0, 1))
        inside = inside[:at] + rng.choice((*_MARKS, *_ESCAPES, *_PIECES)) + inside[at + gone :]
    return rng.choice(_FRAMES) % inside


def _some(rng: random.Random, most: int) -> str:
    kinds = (_MARKS, _ESCAPES, _PIECES)
    return "".join(rng.choice(rng.choice(kinds)) for _ in range(rng.randint(0, most)))


def run_prepared(store: pyoxigraph.Store, query: str) -> bool:
    """Prepare a query and run it, not confined to anything; False where it is refused."""
    try:
        text = prepare(query).text
    except KgError:
        return False
    run(store, text)
    return True


def run(store: pyoxigraph.Store, text: str) -> None:
    """Run a text, to its last row; a server that it asks and that does not answer is no error."""
    with suppress(OSError):
        found: Any = store.query(text)
        if not isinstance(found, pyoxigraph.QueryBoolean):
            list(found)


def one_triple() -> pyoxigraph.Store:
    """A store that is not empty, so that what stands behind a pattern is evaluated."""
    store = pyoxigraph.Store()
    store.add(pyoxigraph.Quad(*[pyoxigraph.NamedNode(f"urn:{x}") for x in "abc"]))
    return store
