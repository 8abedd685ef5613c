"""SPARQL servers on the loopback: one that someone else wrote, and one that fails on command.

with serve_kg(world / "kg.nt.gz") as url: ...
with FaultyServer() as server:
    server.play(reply(429, headers={"Retry-After": "1"}), reply(body=ROWS))
    RemoteKg(server.url, ...)
"""

import gzip
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import IO
from urllib.parse import parse_qs, urlsplit

import pytest

RESULTS = "application/sparql-results+json"


def rows(*names: str, count: int = 1) -> bytes:
    """Results with one variable, ?x, and these strings."""
    cells = [{"x": {"type": "literal", "value": name}} for name in names] * count
    return json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": cells}}).encode()


def without_proxy() -> pytest.MonkeyPatch:
    """The loopback is asked directly, until this is undone."""
    patch = pytest.MonkeyPatch()
    patch.setenv("NO_PROXY", "127.0.0.1")
    return patch


@contextmanager
def serve_kg(nt_gz: Path) -> Iterator[str]:
    """rdflib-endpoint over a file of N-Triples; gives its URL."""
    import uvicorn
    from rdflib import Graph
    from rdflib_endpoint import SparqlEndpoint

    kg = Graph()
    with gzip.open(nt_gz) as stream:
        kg.parse(stream, format="nt")
    logging.getLogger("rdflib_endpoint").setLevel(logging.CRITICAL)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(SparqlEndpoint(graph=kg), log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    patch = without_proxy()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        patch.undo()
        server.should_exit = True
        thread.join()
        listening.close()


@dataclass(frozen=True)
class Seen:
    """A request as the server got it; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    parameters: Mapping[str, str]


Reaction = Callable[[socket.socket, threading.Event], None]
"""What is done with a connection whose request was read; the event ends what would not end."""


def reply(
    status: int = 200,
    body: bytes = b"",
    media: str = RESULTS,
    headers: Mapping[str, str] | None = None,
    missing: int = 0,
) -> Reaction:
    """An answer; its length is announced, and `missing` bytes too many."""
    fields = {"Content-Type": media, "Content-Length": str(len(body) + missing), **(headers or {})}
    head = f"HTTP/1.1 {status} Whatever\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items())

    def react(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(head.encode() + b"\r\n" + body)

    return react


def raw(text: bytes) -> Reaction:
    """These bytes and nothing else; none: the connection is closed without an answer."""
    return lambda connection, _: connection.sendall(text)


def hang() -> Reaction:
    """No answer until the server is stopped."""
    return lambda _, stopped: (stopped.wait(), None)[1]


def drip(head: bytes) -> Reaction:
    """`head`, then a space whenever a hundredth of a second has passed, without end."""

    def react(connection: socket.socket, stopped: threading.Event) -> None:
        connection.sendall(head)
        while not stopped.wait(0.01):
            connection.sendall(b" ")

    return react


@dataclass
class FaultyServer:
    """Answers the n-th request with the n-th reaction, and then again with the last."""

    requests: list[Seen] = field(default_factory=list)
    most_at_once: int = 0
    _reactions: Sequence[Reaction] = ()
    _running: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def play(self, *reactions: Reaction) -> None:
        self._reactions = reactions

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}/sparql"

    def __enter__(self) -> "FaultyServer":
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=100)
        threading.Thread(target=self._accept, daemon=True).start()
        self._patch = without_proxy()
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()
        self._stopped.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # A client that gives up before it has asked sends no request line.
        with connection, suppress(OSError, ValueError):
            encrypted = connection.recv(1, socket.MSG_PEEK) == b"\x16"
            with connection.makefile("rb") as stream:
                seen = Seen("", "", {}, {}) if encrypted else _read_request(stream)
            with self._lock:
                self.requests.append(seen)
                self._running += 1
                self.most_at_once = max(self.most_at_once, self._running)
                turn = min(len(self.requests), len(self._reactions)) - 1
            try:
                self._reactions[turn](connection, self._stopped)
            finally:
                with self._lock:
                    self._running -= 1


def _read_request(stream: IO[bytes]) -> Seen:
    method, target, _ = stream.readline().decode().split()
    lines = []
    while (line := stream.readline()) not in (b"\r\n", b""):
        lines.append(line)
    parsed = BytesParser(policy=HTTP).parsebytes(b"".join(lines))
    headers = {name.lower(): str(value) for name, value in parsed.items()}
    body = stream.read(int(headers.get("content-length", "0"))).decode()
    address = urlsplit(target)
    parameters = {k: v[0] for k, v in parse_qs(f"{address.query}&{body}").items()}
    return Seen(method, address.path, headers, parameters)
