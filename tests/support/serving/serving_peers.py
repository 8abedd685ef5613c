"""What serves in tests: apps in this process, and processes of `branchwise serve`."""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field

import uvicorn
from starlette.types import ASGIApp

from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import Hit
from branchwise.tools.serving import web
from branchwise.tools.serving.listening import listen

PLACES = ("Etna", "Rhine", "Danube", "Gouda", "Moon", "Mars", "Sicily", "Alps")
KINDS = ("volcano", "river", "cheese", "planet", "island")


@dataclass
class Shelf:
    """Finds passages named after the query; can be held, and told to fail."""

    name: str = "shelf"
    identity: dict[str, str] = field(default_factory=lambda: {"kind": "shelf"})
    calls: list[list[str]] = field(default_factory=list)
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    held: bool = False
    release: threading.Event = field(default_factory=threading.Event)
    fail: Exception | None = None
    text: str = "text"

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        self.calls.append(list(queries))
        self.entered.release()
        if self.held and not self.release.wait(timeout=60):
            raise TimeoutError("the test never released the retriever")
        if self.fail:
            raise self.fail
        return [
            [Hit(Passage(id=f"{q}-{n}", title=q, text=f"{self.text} {n}"), 1 / n) for n in ranks]
            for q, ranks in ((q, range(1, k + 1)) for q in queries)
        ]


@contextlib.asynccontextmanager
async def running(app: ASGIApp) -> AsyncIterator[tuple[str, uvicorn.Server]]:
    """The app behind a port of its own, in this event loop: its address, and what serves it."""
    listener, ready = listen("127.0.0.1", 0, "test"), asyncio.Event()
    server = web.web_server(app, ready.set)
    serving = asyncio.create_task(server.serve(sockets=[listener.socket]))
    await ready.wait()
    try:
        yield listener.url, server
    finally:
        server.should_exit = True
        await serving


@contextlib.asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """The address of the app, which is served in this event loop."""
    async with running(app) as (base, _):
        yield base


@dataclass
class Served:
    """A process of `branchwise serve` that has said that it is ready."""

    process: "subprocess.Popen[str]"
    line: str

    @property
    def url(self) -> str:
        return next(word for word in self.line.split() if word.startswith("http"))

    @property
    def base(self) -> str:
        return self.url.rpartition("/")[0]


Serve = Callable[..., Served]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "branchwise", "serve", *map(str, arguments)]


@contextlib.contextmanager
def processes() -> Iterator[Serve]:
    started: list[subprocess.Popen[str]] = []

    def serve(*arguments: object) -> Served:
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1"}
        process = subprocess.Popen(
            command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        started.append(process)
        assert process.stdout is not None
        # A server that ends instead would be waited for by whoever holds a request in it.
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        return Served(process, line)

    try:
        yield serve
    finally:
        for process in started:
            process.kill()
            process.communicate()
