"""An aiohttp application on the loopback, served by a thread of its own."""

import asyncio
import ssl
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, Self

from aiohttp import web


class LoopbackServer(ABC):
    """Serves `app()` from `start` to `stop`, or in a `with` block."""

    ends_with_client = False
    """Whether a handler is cancelled when its client goes away."""
    path = ""
    """Of `url`."""
    tls: ssl.SSLContext | None = None
    """With which it is served; None for plain HTTP."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.AppRunner | None = None
        self.host = ""

    @abstractmethod
    def app(self) -> web.Application:
        """What is served; its handlers run in the thread."""

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}{self.path}"

    def start(self, port: int = 0) -> Self:
        """Listen, on a free port by default; `host` is then the address and the port."""
        self._thread.start()
        self._wait_for(self._listen(port))
        return self

    def stop(self) -> None:
        self._wait_for(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait_for(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _listen(self, port: int) -> None:
        self._runner = web.AppRunner(
            self.app(),
            handler_cancellation=self.ends_with_client,
            access_log=None,
            shutdown_timeout=0.1,
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=self.tls).start()
        self.host = f"127.0.0.1:{self._runner.addresses[0][1]}"

    async def _end(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()
        handlers = asyncio.all_tasks() - {asyncio.current_task()}
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
