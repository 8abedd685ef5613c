"""Keeps web pages away from a server that is meant for programs on this machine.

A page in the user's browser can reach the loopback too. With a domain name that points there (DNS
rebinding) it could even read the responses; the name is then in `Host`, and the page's origin in
`Origin`.
"""

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from branchwise.tools.serving.requests import refused


class LoopbackOnly:
    """Refuses requests that name another host or come from a web page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The app's response, or a refusal."""
        problem = _problem(Headers(scope=scope)) if scope["type"] == "http" else None
        answer = self._app if problem is None else refused(403, problem, last=True)
        await answer(scope, receive, send)


def _problem(headers: Headers) -> str | None:
    host, origin = headers.get("host"), headers.get("origin")
    if host is not None and not _is_local(f"//{host}"):
        return "this server answers to 127.0.0.1 and localhost only; use one of them in the address"
    if origin is not None and not _is_local(origin):
        return "requests from web pages are refused"
    return None


def _is_local(address: str) -> bool:
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
