"""A proxy before a model server that keeps every exchange, and can end one early."""

import asyncio
import json
import threading
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

ASKED_AGAIN = frozenset({0, 408, 409, 425, 429, *range(500, 600)})
"""Statuses after which a request may come again; 0: the answer was cut."""


@dataclass
class Exchange:
    """A chat request's body, the status and text of its answer; status 0 where it was cut."""

    body: dict[str, Any]
    status: int = 0
    text: str = ""


class CountingProxy:
    """Forwards what comes to `upstream` (an address without /v1), on a thread of its own."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.AppRunner | None = None
        self.exchanges: list[Exchange] = []
        self.cuts_next = False
        self.url = ""

    def start(self) -> "CountingProxy":
        """Listen on the loopback; `url` is what clients need."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def stop(self) -> None:
        """End what is open, and the thread."""
        assert self._runner is not None
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def failures(self) -> list[Exchange]:
        """The exchanges that the server answered with an error."""
        return [one for one in self.exchanges if one.status >= 400]

    def check_nothing_in_vain(self) -> None:
        """No request comes again after an answer that asking again cannot change."""
        last: dict[str, int] = {}
        for one in self.exchanges:
            key = json.dumps(one.body, sort_keys=True)
            assert last.get(key, 0) in ASKED_AGAIN, f"asked again after {last[key]}: {one.body}"
            last[key] = one.status

    async def _listen(self) -> None:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        exchange = Exchange(await request.json())
        self.exchanges.append(exchange)
        cuts, self.cuts_next = self.cuts_next, False
        url = f"{self._upstream}/v1/chat/completions"
        patience = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(timeout=patience) as session,
            session.post(url, json=exchange.body) as answer,
        ):
            response = web.StreamResponse(
                status=answer.status, headers={"Content-Type": answer.content_type}
            )
            if answer.content_length is not None:
                response.content_length = answer.content_length
            await response.prepare(request)
            async for part in answer.content.iter_any():
                if cuts:
                    await response.write(part[: len(part) // 2])
                    assert request.transport is not None
                    request.transport.close()
                    return response
                exchange.text += part.decode(errors="replace")
                await response.write(part)
            exchange.status = answer.status
            await response.write_eof()
            return response
