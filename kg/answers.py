"""The interface of a graph, local or remote: its queries and answers, and how long they are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from branchwise.base.backoff import Sign

MAX_TEXT = 2_000
"""Characters kept of a value in an answer."""

MAX_LABEL = 300
"""Characters of a label that goes with an answer."""

MAX_MESSAGE = 2_000
"""Characters of an error's message, or of a note."""

MAX_SENTENCES = 3
"""Sentences of one kind; the rest is counted."""


def cut_value(text: str) -> str:
    """A value; one that is cut states its length, lest it pass for the whole."""
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}… (cut: {len(text):,} characters)"


def cut(text: str, most: int = MAX_MESSAGE) -> str:
    """A text of at most `most` characters, the last an ellipsis if it was cut."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


MAX_ROWS = 1_000
"""Rows that an answer keeps; a model sees fewer."""

DEFAULT_SECONDS = 10.0
MAX_QUERY_BYTES = 16 * 1024

SearchKind = Literal["item", "property"]
ErrorKind = Literal[
    "syntax",  # does not parse
    "refused",  # not read-only, or too large
    "unknown",  # names a property or entity that the graph does not have
    "timeout",
    "resources",  # memory, or nesting too deep
    "endpoint",  # a server failed, or answered what cannot be read
    "damaged",  # the files of a built graph are not what was built
    "busy",  # a server asked to wait for longer than the query may take
]


class Term(NamedTuple):
    """A value in an answer. `value` is the IRI, the literal's text, or a blank node's name."""

    value: str
    kind: Literal["iri", "literal", "blank"]
    datatype: str = ""
    language: str = ""


@dataclass(frozen=True)
class QueryResult:
    """The rows of a query; of ASK, `boolean`; of CONSTRUCT and DESCRIBE, subject-predicate-object.

    `complete`: there were no more than `MAX_ROWS` rows. `labels`: of the IRIs in the rows that have
    one. `notes`: what the user should know, a sentence each (why there is no row).
    """

    variables: tuple[str, ...]
    rows: tuple[tuple[Term | None, ...], ...]
    complete: bool = True
    boolean: bool | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def cells(self, *variables: str) -> Iterator[tuple[Term | None, ...]]:
        """Each row's terms for these variables, None where the answer lacks the column."""
        indexes = {name: index for index, name in enumerate(self.variables)}
        for row in self.rows:
            yield tuple(row[indexes[name]] if name in indexes else None for name in variables)


class Match(NamedTuple):
    """Something found by name. `id`: "Q42" or "P57" on Wikidata's numbers, else the IRI.

    `name`: the label or alias that matched; `types`: labels of what it is an instance of. `near`:
    its name is only like the text (another spelling, some of the words), so it is a guess.
    `members`: how many things are instances of it; 0 if it is not a class or this is unknown.
    """

    id: str
    label: str
    description: str
    name: str
    types: tuple[str, ...]
    statements: int
    near: bool = False
    members: int = 0


class KgError(Exception):
    """A query or search that failed, and what to do, in words for the model: no address, path or
    key. `sign`: what it says of the server that was asked, if one was."""

    def __init__(self, kind: ErrorKind, message: str, sign: Sign | None = None) -> None:
        super().__init__(message)
        self.kind, self.sign = kind, sign

    def __reduce__(self) -> tuple[type["KgError"], tuple[ErrorKind, str, Sign | None]]:
        return KgError, (self.kind, str(self), self.sign)


class Graph(Protocol):
    """A knowledge graph that can be queried from any thread."""

    def identity(self) -> dict[str, str]:
        """Its identity, for a system's digest: no path, no address."""
        ...

    def query(self, sparql: str, seconds: float = DEFAULT_SECONDS) -> QueryResult:
        """Answer a query as models write them for Wikidata. Raises KgError."""
        ...

    def search(self, text: str, kind: SearchKind = "item", limit: int = 8) -> list[Match]:
        """Things with this name, best first, bearers of one name together. Raises KgError."""
        ...

    def close(self) -> None:
        """Release processes and connections."""
        ...
