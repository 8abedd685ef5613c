"""The way to a server that the environment prescribes: its proxy, and the certificates to trust."""

import os
import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from branchwise.base.errors import InputError
from branchwise.base.secrets import without_users

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
