"""What a failed request says of its server: that it is gone, silent, or there."""

from typing import Literal
from urllib.parse import urlsplit

Sign = Literal["answered", "gone", "lost"]
"""`answered`: whatever it said, the server is there. `gone`: there is no connection to it, or the
gateway before it finds none. `lost`: no answer in time, or a connection that ended without one,
which may also be the request's fault."""


def sign_of_status(status: int, wait: float | None) -> Sign:
    """What a status says; `wait`: seconds that the server asked for, which a gateway does not."""
    if status in (502, 503) and wait is None:
        return "gone"
    return "lost" if status == 504 else "answered"


def host_of(server: str) -> str:
    """How messages call a server: its host, with the port where the address names one; "" for what
    is no address."""
    try:
        return urlsplit(server.removeprefix("http:") if "http:http" in server else server).netloc
    except ValueError:
        return ""
