"""Where a server listens: bound before anything is loaded, so that a busy port shows at once."""

import errno
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from branchwise.corpora.errors import InputError

LOOPBACK = "127.0.0.1"
_BACKLOG = 2048
_REASONS: Mapping[int, tuple[str, str]] = {
    errno.EADDRINUSE: ("the port is in use", "name another, or 0 for any free port"),
    errno.EACCES: ("this user may not listen there", "name a port above 1023"),
    errno.EADDRNOTAVAIL: ("this machine does not have that address", f"name {LOOPBACK}"),
}


@dataclass(frozen=True)
class Listener:
    """A listening socket; `host` as the user named it, `is_local` if no other machine gets in.

    Clients that connect before the server is ready wait for it.
    """

    socket: socket.socket
    host: str
    is_local: bool

    @property
    def url(self) -> str:
        """Such as `http://127.0.0.1:8000`, with the port that was found for port 0."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.socket.getsockname()[1]}"


def listen(host: str, port: int, option: str) -> Listener:
    """Listen on a port, 0 for any free one. Raises InputError, which names `option`."""
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
    except (OSError, UnicodeError, ValueError):
        raise InputError(
            f"there is no host {host[:80]!r}", where=option, remedy=f"name {LOOPBACK}"
        ) from None
    family, _, _, _, address = found[0]
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        # Otherwise the port of a server that has just ended is blocked for a minute.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it: asyncio sets it only on sockets that name their protocol. A
        # response in two writes would wait 40 ms for the client to acknowledge the first.
        taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        taken.bind(address)
        taken.listen(_BACKLOG)
    except OSError as error:
        taken.close()
        raise _refused(error, host, port, option) from None
    taken.setblocking(False)
    return Listener(taken, host, is_local=_is_loopback(str(address[0])))


def parse_address(text: str, option: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`; for `PORT` or `:PORT`, the loopback host. Raises InputError."""
    host, _, port = text.strip().rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    # More than one colon is an IPv6 address, which is written in brackets before a port.
    if not (port.isascii() and port.isdigit() and int(port) < 2**16) or (
        ":" in host and host == bare
    ):
        raise InputError(
            f"{text[:80]!r} is not an address to listen on",
            where=option,
            remedy="write PORT, or HOST:PORT such as 127.0.0.1:8001",
        )
    return bare or LOOPBACK, int(port)


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _refused(error: OSError, host: str, port: int, option: str) -> InputError:
    known = _REASONS.get(error.errno or 0)
    what, remedy = known or (error.strerror or "cannot listen there", "name another address")
    return InputError(f"{what} ({host}, port {port})", where=option, remedy=remedy)
