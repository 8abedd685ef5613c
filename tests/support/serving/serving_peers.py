"""What serves in tests: apps in this process, and processes of `branchwise serve`."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from starlette.types import ASGIApp

from branchwise.tools.web_server import listen, web_server

PLACES = ("Etna", "Rhine", "Danube", "Gouda", "Moon", "Mars", "Sicily", "Alps")
KINDS = ("volcano", "river", "cheese", "planet", "island")


@contextlib.asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """The address of the app, which is served in this event loop."""
    listener, server = listen("127.0.0.1", 0, "test"), web_server(app)
    serving = asyncio.create_task(server.serve(sockets=[listener.socket]))
    try:
        yield listener.url
    finally:
        server.should_exit = True
        await serving


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
