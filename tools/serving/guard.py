"""Keeps web pages away from a server that is meant for programs of this machine.

A page in the user's browser reaches the loopback as well. Under a name of its own that it lets
point there (DNS rebinding) it could even read the answers; the name then stands in `Host`, and the
page's origin in `Origin`.
"""

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from branchwise.tools.serving.requests import refused


class LoopbackOnly:
    """Refuses requests that name another host than this machine's own, or come from a web page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The app's answer, or a refusal."""
        problem = _problem(Headers(scope=scope)) if scope["type"] == "http" else None
        answer = self._app if problem is None else refused(403, problem, last=True)
        await answer(scope, receive, send)


def _problem(headers: Headers) -> str | None:
    host, origin = headers.get("host"), headers.get("origin")
    if host is not None and not _is_local(f"//{host}"):
        return "this server answers to 127.0.0.1 and localhost only; use one of them in the address"
    if origin is not None and not _is_local(origin):
        return "requests of web pages are not answered"
    return None


def _is_local(address: str) -> bool:
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
