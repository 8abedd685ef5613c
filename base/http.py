"""HTTP requests and their whole answers, bounded in time and size, by the environment's proxies."""

import asyncio
import functools
import os
import socket
import ssl
import threading
import urllib.request
import zlib
from collections.abc import Mapping
from concurrent.futures import Future
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.secrets import bytes_without_keys, without_users

if TYPE_CHECKING:
    import httpx


_CONNECT_SECONDS = 3.0
_SCHEMES = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
"""Of proxies, with the port of each."""


def check_way(url: str, *, takes_all: bool = False) -> None:
    """Raise InputError, before any work, for what would make every request to `url` fail: a proxy
    in the environment that is no address or does not listen, a certificate file that is none.

    `takes_all`: whether `ALL_PROXY` counts, as it does for model servers. Sends no request.
    """
    address = urlsplit(url)
    if address.scheme == "https":
        _check_certificates()
    variable, proxy = _named(url, takes_all=takes_all)
    if variable not in os.environ and variable.upper() in os.environ:
        variable = variable.upper()
    if proxy:
        _check_proxy(proxy, variable, address.hostname or "")


def proxy_of(url: str, *, takes_all: bool = False) -> str | None:
    """The environment's proxy for an address, as urllib reads it; None where there is none.

    `takes_all`: as of `check_way`.
    """
    _, proxy = _named(url, takes_all=takes_all)
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _named(url: str, *, takes_all: bool) -> tuple[str, str | None]:
    """The variable that holds the proxy for an address, and the proxy."""
    address, proxies = urlsplit(url), getproxies()
    name = "all" if takes_all and address.scheme not in proxies else address.scheme
    proxy = proxies.get(name)
    return f"{name}_proxy", None if not proxy or proxy_bypass(address.netloc) else proxy


def _check_proxy(proxy: str, variable: str, host: str) -> None:
    shown = without_users(proxy if "://" in proxy else f"//{proxy}").removeprefix("//")
    remedy = f"correct or unset it, or name {host} in NO_PROXY"
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        at = (parts.hostname or "", parts.port or _SCHEMES[parts.scheme])
    except (ValueError, KeyError):
        at = ("", 0)
    if not at[0]:
        what = f"{shown!r} is not the address of a proxy"
        raise InputError(what, where=variable, remedy=remedy)
    try:
        socket.create_connection(at, _CONNECT_SECONDS).close()
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        what = f"nothing answers at the proxy {shown} ({why})"
        raise InputError(what, where=variable, remedy=remedy) from None


def _check_certificates() -> None:
    for variable, is_there in (("SSL_CERT_FILE", Path.is_file), ("SSL_CERT_DIR", Path.is_dir)):
        if not (named := os.environ.get(variable)):
            continue
        try:
            if not is_there(Path(named)):
                raise InputError("does not exist", where=f"{variable}={named}", remedy="correct it")
            if variable == "SSL_CERT_FILE":
                ssl.create_default_context(cafile=named)
        except OSError as error:  # SSLError is one
            why = f"holds no certificates that can be read ({error.strerror or error})"
            remedy = "correct or unset it"
            raise InputError(why, where=f"{variable}={named}", remedy=remedy) from None


AGENT_VARIABLE = "BRANCHWISE_USER_AGENT"
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_KEPT = 3.0
"""Seconds for which an idle connection is kept: many servers end it after five."""

Fault = Literal[
    "late", "encryption", "closed", "unreachable", "too large", "compression", "corrupt",
    "redirect", "another host",
]  # fmt: skip


class HttpReply(NamedTuple):
    """An answer with its body, decompressed. `whole`: nothing that was announced is missing.

    Names in `headers` are found in any case.
    """

    status: int
    media_type: str
    headers: Mapping[str, str]
    body: bytes
    whole: bool


class ExchangeError(Exception):
    """Why an answer is missing or incomplete. `reason` is the system's own word; it holds no
    address."""

    def __init__(self, fault: Fault, reason: str = "") -> None:
        super().__init__(fault)
        self.fault, self.reason = fault, reason


class HttpClient:
    """Connections to any servers, kept for the next request. For all threads, and after a fork.

    They live in one event loop on a daemon thread: the caller's thread may run a loop of its own,
    and must hear of an interrupt at once.
    """

    def __init__(self) -> None:
        self._lock, self._process = threading.Lock(), 0
        self._loop: _Loop
        self._pools: dict[str | None, httpx.AsyncHTTPTransport]

    def send(
        self,
        request: urllib.request.Request,
        deadline: float,
        limit: int,
        keys: Keys = NO_KEYS,
        *,
        redirects: bool = False,
    ) -> HttpReply:
        """Send `request` and read at most `limit` bytes of body, packed and unpacked.

        `deadline` (of `time.monotonic`) covers everything from the look-up of the name to the last
        byte. An error status is a Reply like any other, and so is a redirect unless `redirects` are
        to be followed: then one within the host is, and keeps method and body. Raises
        ExchangeError.
        """
        with self._lock:
            if self._process != os.getpid():
                self._process, self._loop, self._pools = os.getpid(), _Loop(), {}
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
        exchange = self._exchange(request, deadline, limit, keys, redirects)
        work = asyncio.run_coroutine_threadsafe(exchange, self._loop)
        try:
            packed = work.result()
        finally:
            work.cancel()
        # Here, since others wait for the loop.
        return _unpacked(packed, limit)

    async def _exchange(
        self,
        request: urllib.request.Request,
        deadline: float,
        limit: int,
        keys: Keys,
        redirects: bool,
    ) -> HttpReply:
        import httpx

        try:
            async with asyncio.timeout_at(deadline):
                await asyncio.sleep(0)  # Time that is up ends here, before anything is sent.
                url = httpx.URL(request.full_url)
                for _ in range(_MOST_REDIRECTS):
                    reply = await self._one(request, url, limit, keys.key(str(url)))
                    if not redirects or reply.status not in _REDIRECTS:
                        return reply
                    url = _redirected(url, reply)
                raise ExchangeError("redirect", str(reply.status))
        except (OSError, httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
            raise _failure(error) from None

    async def _one(
        self, request: urllib.request.Request, url: "httpx.URL", limit: int, key: str | None
    ) -> HttpReply:
        import httpx

        named = {"Accept-encoding": "identity", **dict(request.header_items())}
        if key:
            named["Authorization"] = f"Bearer {key}"
        headers = [(name.encode(), value.encode("latin-1")) for name, value in named.items()]
        body = cast("bytes | None", request.data)
        proxy = proxy_of(str(url))
        if proxy not in self._pools:
            # The environment is asked for proxies alone, not for the passwords of a ~/.netrc.
            self._pools[proxy] = httpx.AsyncHTTPTransport(
                verify=_certificates(),
                proxy=proxy,
                trust_env=False,
                limits=httpx.Limits(keepalive_expiry=_KEPT),
            )
        # Not httpx's client, which would keep cookies.
        sent = httpx.Request(request.get_method(), url, headers=headers, content=body)
        response = await _answer(self._pools[proxy], sent)
        try:
            return await _read(response, limit)
        finally:
            await response.aclose()


HTTP = HttpClient()
"""The process's."""
_certificates = functools.cache(ssl.create_default_context)
"""Read once: it takes longer than a short query."""


def user_agent() -> str:
    """How requests name their sender, from `BRANCHWISE_USER_AGENT` where that is set.

    Wikimedia's policy asks for contact data (an address or a page) in it, and its servers answer
    403 or 429 to clients without: set it before longer runs, say to
    "branchwise (https://example.org/us; us@example.org)".
    """
    own = "".join(filter(str.isprintable, os.environ.get(AGENT_VARIABLE, ""))).strip()
    named = own.encode("latin-1", "replace").decode("latin-1")
    return named or f"branchwise/{_version()} (research harness for search agents)"


@functools.cache
def _version() -> str:
    from importlib.metadata import version

    return version("branchwise")


class _Loop(asyncio.SelectorEventLoop):
    async def getaddrinfo(self, *asked: Any, **named: Any) -> Any:
        """The system's look-up has no time-out: a thread is left behind where it takes too long."""
        addresses: Future[Any] = Future()
        addresses.set_running_or_notify_cancel()

        def look_up() -> None:
            try:
                addresses.set_result(socket.getaddrinfo(*asked, **named))
            except BaseException as error:  # noqa: BLE001 (the one who waits hears of it)
                addresses.set_exception(error)

        threading.Thread(target=look_up, daemon=True).start()
        return await asyncio.wrap_future(addresses)


async def _answer(pool: "httpx.AsyncHTTPTransport", sent: "httpx.Request") -> "httpx.Response":
    """The head of an answer. A server may close a kept connection just when it is used again: then
    the request goes out once more."""
    import httpx

    is_new = False

    async def seen(event: str, _: object) -> None:
        nonlocal is_new
        is_new = is_new or "connect_tcp" in event

    sent.extensions["trace"] = seen
    try:
        return await pool.handle_async_request(sent)
    except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
        if is_new:
            raise
    return await pool.handle_async_request(sent)


def _redirected(url: "httpx.URL", reply: HttpReply) -> "httpx.URL":
    """Where a redirect leads. Raises ExchangeError for nowhere and for another host."""
    # Followed by hand: httpx makes a GET of a POST, and each address is asked for its own key.
    to = url.join(reply.headers.get("Location", ""))
    if "Location" not in reply.headers or to.scheme not in ("http", "https", "ftp"):
        raise ExchangeError("redirect", str(reply.status))
    upgraded = (url.scheme, to.scheme, url.port, to.port) == ("http", "https", None, None)
    same = (url.scheme, url.port) == (to.scheme, to.port)
    if to.host != url.host or to.userinfo or not (same or upgraded):
        raise ExchangeError("another host")
    return to


async def _read(response: "httpx.Response", limit: int) -> HttpReply:
    """The answer with its body as it came."""
    import httpx

    raw, whole = bytearray(), True
    try:
        async for chunk in response.aiter_raw():
            raw += chunk
            if len(raw) > limit:
                raise ExchangeError("too large")
    except httpx.RemoteProtocolError:
        whole = False
    return HttpReply(response.status_code, "", response.headers, bytes(raw), whole)


def _unpacked(packed: HttpReply, limit: int) -> HttpReply:
    """The answer; never more than `limit` bytes of its body are unpacked."""
    status, _, headers, body, whole = packed
    encoding = headers.get("Content-Encoding", "").strip().lower()
    if encoding in ("gzip", "x-gzip"):
        inflater = zlib.decompressobj(wbits=31)
        try:
            body = inflater.decompress(body, limit + 1)
        except zlib.error:
            raise ExchangeError("corrupt") from None
        if len(body) > limit:
            raise ExchangeError("too large")
        whole = whole and inflater.eof
    elif encoding not in ("identity", ""):
        raise ExchangeError("compression")
    media = Message()
    media["Content-Type"] = headers.get("Content-Type", "")
    return HttpReply(status, media.get_content_type(), headers, bytes_without_keys(body), whole)


def _failure(error: Exception) -> ExchangeError:
    import httpx

    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        # Of several addresses that were tried, the last one's. Not __cause__ alone: httpcore's pool
        # raises what it was told "from None".
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[-1]
        else:
            cause = cause.__cause__ or cause.__context__

    def is_of(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    if is_of(TimeoutError, httpx.TimeoutException):
        return ExchangeError("late")
    if is_of(ssl.SSLError):
        return ExchangeError("encryption")
    ended = (httpx.ReadError, httpx.WriteError, httpx.CloseError, httpx.RemoteProtocolError)
    if is_of(ConnectionResetError, BrokenPipeError, *ended):
        return ExchangeError("closed")
    system = [cause for cause in causes if isinstance(cause, OSError) and cause.strerror]
    if not system:
        return ExchangeError("unreachable", type(error).__name__)
    number, words = system[-1].errno, str(system[-1].strerror)
    # What the system calls it: asyncio's own words name the address.
    return ExchangeError("unreachable", os.strerror(number) if number and number > 0 else words)
