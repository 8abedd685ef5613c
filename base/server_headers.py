"""Which of a user's headers go to which server: by host, as keys do, or to model servers."""

from collections.abc import Mapping

from branchwise.base.errors import InputError
from branchwise.base.keys import Origin, checked_host

SEPARATOR = "/"
"""Between a host and a header's name, in which it cannot occur (RFC 9110, section 5.1)."""


def split_header(name: str) -> tuple[str, str]:
    """The host that a header is for, "" for model servers, and its name. Raises InputError."""
    host, separator, own = name.rpartition(SEPARATOR)
    return (checked_host(host) if separator else "", own)


def headers_for(headers: Mapping[str, str], url: str, *, of_model: bool = False) -> dict[str, str]:
    """Those that go to an address: named for its host, or its host and port, which go first.

    `of_model`: it is a model server's, which also gets those without a host.
    """
    origin = Origin.of(url)
    found: dict[str, tuple[int, str]] = {}
    for written, value in headers.items():
        try:
            host, name = split_header(written)
        except InputError:
            continue
        places = {f"{origin.host}:{origin.port}": 2, origin.host: 1} | ({"": 0} if of_model else {})
        if host in places and places[host] >= found.get(name, (-1, ""))[0]:
            found[name] = (places[host], value)
    return {name: value for name, (_, value) in found.items()}
