"""HTTP connections on which everything together ends at one deadline.

A socket's time-out begins again with each byte that arrives, so that a server which sends a byte
a second is never late. Here each read has what is left of the whole time.
"""

import functools
import http.client
import io
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any


def time_left(deadline: float) -> float:
    """Seconds until `deadline` (of `time.monotonic`). Raises TimeoutError where there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time is up")
    return left


class _Reader(io.RawIOBase):
    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket, self._deadline = connected, deadline
        self._raw = connected.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(time_left(self._deadline))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedSocket:
    """What `HTTPResponse` wants of a socket: a file to read from."""

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket, self._deadline = connected, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._socket, self._deadline))


def _response(
    connected: socket.socket, *arguments: Any, deadline: float, **named: Any
) -> http.client.HTTPResponse:
    timed: Any = _TimedSocket(connected, deadline)
    return http.client.HTTPResponse(timed, *arguments, **named)


def _resolve(host: str, port: int, deadline: float) -> list[str]:
    """The host's addresses. The system's look-up has no time-out: it is left behind."""
    found: SimpleQueue[list[str] | Exception] = SimpleQueue()

    def look_up() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.put([str(entry[4][0]) for entry in entries])
        except (OSError, UnicodeError) as error:
            found.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        addresses = found.get(timeout=time_left(deadline))
    except Empty:
        raise TimeoutError("the name was not found in time") from None
    if isinstance(addresses, Exception):
        raise addresses
    return addresses


def _connect(address: tuple[str, int], *_: object, deadline: float) -> socket.socket:
    host, port = address
    failed = OSError("the host has no address")
    for resolved in _resolve(host, port, deadline):
        try:
            return socket.create_connection((resolved, port), time_left(deadline))
        except OSError as error:
            failed = error
    raise failed


class _Connection(http.client.HTTPConnection):
    _create_connection: Callable[..., socket.socket]

    def __init__(self, host: str, *, deadline: float, **named: Any) -> None:
        named["timeout"] = time_left(deadline)
        super().__init__(host, **named)
        _bind(self, deadline)


class _SecureConnection(http.client.HTTPSConnection):
    _create_connection: Callable[..., socket.socket]

    def __init__(self, host: str, *, deadline: float, **named: Any) -> None:
        named["timeout"] = time_left(deadline)
        super().__init__(host, **named)
        _bind(self, deadline)


def _bind(connection: _Connection | _SecureConnection, deadline: float) -> None:
    connection._create_connection = functools.partial(_connect, deadline=deadline)
    timed: Any = functools.partial(_response, deadline=deadline)
    connection.response_class = timed


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Read once: it takes longer than a short query."""
    return ssl.create_default_context()


class TimedHTTP(urllib.request.HTTPHandler):
    """urllib's handler of http:// with a deadline."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Send the request and read the answer's head."""
        return self.do_open(functools.partial(_Connection, deadline=self._deadline), req)


class TimedHTTPS(urllib.request.HTTPSHandler):
    """urllib's handler of https:// with a deadline; certificates are checked."""

    def __init__(self, deadline: float) -> None:
        super().__init__(context=_certificates())
        self._deadline = deadline

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Send the request and read the answer's head."""
        secure = functools.partial(_SecureConnection, deadline=self._deadline)
        return self.do_open(secure, req, context=_certificates())
