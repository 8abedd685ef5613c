"""A proxy before a model server that keeps every exchange, and can end one early."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from support.loopback import LoopbackServer

ASKED_AGAIN = frozenset({0, 408, 409, 425, 429, *range(500, 600)})
"""Statuses after which a request may come again; 0: the answer was cut."""


_OWN = re.compile(r"HTTP-Referer|X-(?!Stainless)", re.IGNORECASE)
"""Headers of a user's own, not the client's."""


@dataclass
class Exchange:
    """A request's body and own headers, the status and text of its answer; status 0 where it
    was cut."""

    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 0
    text: str = ""


class CountingProxy(LoopbackServer):
    """Forwards what comes to `upstream` (an address without /v1)."""

    path = "/v1"

    def __init__(self, upstream: str) -> None:
        super().__init__()
        self._upstream = upstream
        self.exchanges: list[Exchange] = []
        self.cuts_next = False

    @property
    def failures(self) -> list[Exchange]:
        return [one for one in self.exchanges if one.status >= 400]

    def check_nothing_in_vain(self) -> None:
        """No request comes again after an answer that asking again cannot change."""
        last: dict[str, int] = {}
        for one in self.exchanges:
            key = json.dumps(one.body, sort_keys=True)
            assert last.get(key, 0) in ASKED_AGAIN, f"asked again after {last[key]}: {one.body}"
            last[key] = one.status

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/responses", self._chat)
        return app

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        own = {name: value for name, value in request.headers.items() if _OWN.match(name)}
        exchange = Exchange(await request.json(), own)
        self.exchanges.append(exchange)
        cuts, self.cuts_next = self.cuts_next, False
        url = f"{self._upstream}{request.path}"
        patience = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(timeout=patience) as session,
            session.post(url, json=exchange.body, headers=own) as answer,
        ):
            response = web.StreamResponse(
                status=answer.status, headers={"Content-Type": answer.content_type}
            )
            # Of what is unpacked here the length is another.
            if answer.content_length is not None and "Content-Encoding" not in answer.headers:
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
