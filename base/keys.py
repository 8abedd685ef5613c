"""Which key and which of a user's headers go to which address.

Asked for each request, by its own address, so that neither a redirect nor a library's default
carries a key elsewhere. Keys are read when they are sent: no object holds one that could be
printed, compared or stored.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from branchwise.base.errors import InputError
from branchwise.base.providers import OPENAI, PROVIDERS, Provider
from branchwise.base.secrets import remember

OPENAI_BASE = "OPENAI_BASE_URL"
OPTION, METAVAR = "--key", "HOST=VARIABLE"
HELP = (
    "Environment variable with the key of a server, repeatable: localhost:8000=VLLM_API_KEY. "
    "A provider's own (OPENAI_API_KEY, ANTHROPIC_API_KEY, …) goes to the provider alone, "
    "OPENAI_API_KEY also to OPENAI_BASE_URL."
)
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[\w-]+(?:\.[\w-]+)*)(?::(?P<port>\d{1,5}))?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME = 64
_EXAMPLE = "write HOST=VARIABLE or HOST:PORT=VARIABLE, for example localhost:8000=VLLM_API_KEY"


class Origin(NamedTuple):
    """Scheme, host and port of an address (RFC 6454): who gets what is sent there."""

    scheme: str
    host: str
    port: int | None

    @classmethod
    def of(cls, url: str) -> "Origin":
        """Raises ValueError for a port that is not a number."""
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
        return cls(parts.scheme, _plain_host(parts.hostname or ""), port)


@dataclass(frozen=True)
class Keys:
    """Environment variables by the host, or HOST:PORT, that their keys are for.

    With a port, the key goes to that port alone, and before the host's. Raises InputError for what
    is not a host or not the name of a variable, and for two variables of one host.
    """

    variables: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        read = _read(self.variables.items())
        object.__setattr__(self, "variables", MappingProxyType(read))
        remember(read.values())

    @classmethod
    def parse(cls, options: Iterable[str] | None) -> "Keys":
        """Read HOST=VARIABLE, as it is written after `--key`."""
        pairs = [option.partition("=")[::2] for option in options or ()]
        return cls(_read(pairs))

    def over(self, others: Mapping[str, str]) -> "Keys":
        """These, and of the others those for hosts that have none here."""
        return Keys({**Keys(others).variables, **self.variables})

    def variable(self, url: str, *, of_model: bool = False) -> str | None:
        """The name of the variable whose key goes to an address; None where none does.

        `of_model`: the address is a model server's, so that a provider's key may be its own.
        """
        origin = Origin.of(url)
        own = self.variables.get(f"{origin.host}:{origin.port}") or self.variables.get(origin.host)
        if own or not of_model:
            return own
        base = openai_base()
        provider = _provider(origin)
        if provider is None and base is not None and origin == Origin.of(base):
            provider = OPENAI
        if provider is None:
            return None
        held = (name for name in provider.variables if os.environ.get(name, "").strip())
        return next(held, provider.variables[0])

    def key(self, url: str, *, of_model: bool = False) -> str | None:
        """The key itself, to be sent to this address and nowhere else."""
        name = self.variable(url, of_model=of_model)
        return None if name is None else os.environ.get(name, "").strip() or None

    def check(self, url: str | None = None) -> None:
        """Raise InputError for a variable that is not set, or holds what no header can carry.

        `url`: look only at the one that was named for it.
        """
        only = None if url is None else self.variable(url)
        for host, name in self.variables.items():
            if url is not None and name != only:
                continue
            if not os.environ.get(name, "").strip():
                raise InputError(
                    f"{_shown(name)}, named for {host}, is not set in the environment",
                    where=OPTION,
                    remedy="set the variable to the key, or name another one",
                )
            check_value(name)


def refused_key(url: str, keys: Keys, *, of_model: bool = False) -> str:
    """What to do where a server does not accept the key that it got, or got none."""
    if variable := keys.variable(url, of_model=of_model):
        return f"the key in {variable} is not accepted there: check it"
    server = urlsplit(url).netloc
    return f"no key goes to {server}; name its variable: {OPTION} {server}=VARIABLE"


def check_value(name: str) -> None:
    """Raise InputError where a variable is set to what no request can carry as a key."""
    key = os.environ.get(name, "").strip()
    if key and not re.fullmatch(r"[!-~]+", key):
        raise InputError(
            f"{name} holds spaces, line breaks or letters that no key has",
            remedy="set it to the key alone",
        )


def is_openai(url: str) -> bool:
    """Whether an address is OpenAI's own, over https; Azure's hosts have other keys."""
    return _provider(Origin.of(url)) is OPENAI


def is_providers(url: str) -> bool:
    """Whether an address is a provider's own (`base/providers.py`), which takes its key alone."""
    return _provider(Origin.of(url)) is not None


def openai_base() -> str | None:
    """What `OPENAI_BASE_URL` is set to: where a model without an address of its own is asked.

    None where it is not set. Raises InputError for no address.
    """
    url = os.environ.get(OPENAI_BASE, "").strip().rstrip("/")
    if not url:
        return None
    try:
        parts, origin = urlsplit(url), Origin.of(url)
    except ValueError:
        parts, origin = urlsplit(""), Origin("", "", None)
    plain = "@" not in parts.netloc and not parts.query and not parts.fragment and url.isprintable()
    if origin.scheme not in _PORTS or not origin.host or not plain or " " in url:
        raise InputError(
            f"{OPENAI_BASE} is not an address, or carries a user, a key or parameters",
            remedy="set it to http://HOST:PORT/v1 or https://HOST/v1, or unset it",
        )
    return url


def _plain_host(host: str) -> str:
    """As it is looked up: without a last dot, and with letters beyond ASCII as IDNA has them."""
    try:
        return host.rstrip(".").encode("idna").decode() or host
    except UnicodeError:
        return host


_OWN = {Origin.of(provider.url): provider for provider in PROVIDERS.values()}
_OPENAIS = Origin.of(OPENAI.url)


def _provider(origin: Origin) -> Provider | None:
    """Whose own address this is; OpenAI's are its regions', too (eu.api.openai.com)."""
    is_region = origin.host.endswith(f".{_OPENAIS.host}")
    return _OWN.get(origin._replace(host=_OPENAIS.host) if is_region else origin)


def _read(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for host, variable in pairs:
        if not variable:
            # What stands there may be the key itself, and is not shown.
            raise InputError("names a host or a variable alone", where=OPTION, remedy=_EXAMPLE)
        name = checked_host(host)
        if not _VARIABLE.fullmatch(variable):
            # Not shown: it may be the key itself.
            raise InputError(
                f"what is named for {name} is not the name of an environment variable",
                where=OPTION,
                remedy=_EXAMPLE,
            )
        if variables.setdefault(name, variable) != variable:
            raise InputError(
                f"two keys are named for {name}: {_shown(variables[name])} and {_shown(variable)}",
                where=OPTION,
                remedy="leave one out",
            )
    return variables


def _shown(variable: str) -> str:
    """The name of a variable; what does not look like one may be a key that was written there."""
    return variable if variable.isupper() and len(variable) <= _LONGEST_NAME else "a variable"


def checked_host(text: str) -> str:
    """The host, perhaps with a port, as origins have it: in small letters, IPv6 without brackets.

    Raises InputError.
    """
    host_and_port = _HOST.fullmatch(text.strip())
    port = int(host_and_port["port"]) if host_and_port and host_and_port["port"] else None
    if not host_and_port or (port is not None and not 0 < port < 2**16):
        # A text with an @ or a long one may hold a secret.
        shown = "it" if "@" in text else repr(text.partition("?")[0][:60])
        raise InputError(f"{shown} is not a host", where=OPTION, remedy=_EXAMPLE)
    host = _plain_host(host_and_port["host"].lower().strip("[]"))
    return host if port is None else f"{host}:{port}"


NO_KEYS = Keys()
"""No keys named: providers get their own, and no other server gets any."""


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
    readable: dict[str, tuple[int, str]] = {}
    for written, value in headers.items():
        try:
            host, name = split_header(written)
        except InputError:
            continue
        places = {f"{origin.host}:{origin.port}": 2, origin.host: 1} | ({"": 0} if of_model else {})
        if host in places and places[host] >= readable.get(name, (-1, ""))[0]:
            readable[name] = (places[host], value)
    return {name: value for name, (_, value) in readable.items()}
