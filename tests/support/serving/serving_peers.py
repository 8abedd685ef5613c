"""What serves in tests: apps in this process, and processes of `branchwise serve`."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from branchwise.tools.serving import web
from branchwise.tools.serving.web import listen

PLACES = ("Etna", "Rhine", "Danube", "Gouda", "Moon", "Mars", "Sicily", "Alps")
KINDS = ("volcano", "river", "cheese", "planet", "island")


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
