"""What no text from outside may carry further: it goes to models, into stores and onto screens.

Servers and plug-ins repeat keys: in error messages, in echoed headers, in what a model "answers".
Everything that they return passes through `without_keys` before it is used.
Were keys struck out only on writing, a resumed run would compute other digests of its replies.
"""

import base64
import functools
import os
import re
import threading
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from branchwise.base.providers import PROVIDERS

STRUCK = "***"
SHORTEST = 8
"""Characters of the shortest secret. What is shorter ("none", "EMPTY") is a stand-in for servers
that want any key, and a word that answers may hold."""

# Texts are escaped several times at most; of a longer run the end is read.
_ESCAPED = re.compile(
    r"\\{1,16}u00([0-9a-f]{2})|\\{1,16}x([0-9a-f]{2})|%([0-9a-f]{2})|&#x0*([0-9a-f]{2});"
    r"|&#0*([0-9]{2,3});|\\{1,16}(/)",
    re.IGNORECASE,
)
_USER = re.compile(r"(?<=//)[^/\s@'\"<>]+@")
_PROXIES = (
    *("http_proxy", "https_proxy", "all_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_PROXY"),
)
_FORM = re.compile(
    r"(?:\b|_)sk-[\w-]{8,}|\b[spr]k_(?:live|test)_\w{8,}"
    r"|\b(?:hf|gh[oprsu]|github_pat|gsk|r8)_\w{20,}|\bxox[abps]-[\w-]{10,}"
    r"|\bAIza[\w-]{20,}|\bAKIA[A-Z0-9]{12,}|\beyJ[\w-]{10,}\.[\w-]+|-----BEGIN "
    r"|\bBearer\s+[\w.~+/-]{12,}"
)
"""How keys of common services begin."""
_VARIABLES = {name for provider in PROVIDERS.values() for name in provider.variables}
_LOCK = threading.Lock()


def remember(variables: Iterable[str]) -> None:
    """Strike out what these environment variables hold from now on, too."""
    with _LOCK:
        _VARIABLES.update(variables)


def without_keys(text: str) -> str:
    """The text with every known secret struck out, in any case of its letters, also where JSON, a
    URL or HTML escapes it, and in hexadecimal or base64, as a part of what was encoded with it.

    Known are the keys of providers (`OPENAI_API_KEY`, …) and of all variables that were named for
    a host, and the passwords of the environment's proxies.
    """
    secrets = _secrets()
    if not secrets:
        return text
    escapes = any(mark in text for mark in ("\\", "%", "&#"))
    plain = _ESCAPED.sub(_character, text) if escapes else text
    lower = plain.lower()
    for secret in secrets:
        for written in _ways(secret):
            if written.text in (plain if written.is_exact else lower):
                text = written.pattern.sub(STRUCK, text)
    return text


def bytes_without_keys(body: bytes) -> bytes:
    """The same for a body that is not decoded yet; one without secrets stays what it is."""
    if not _secrets():
        return body
    text = body.decode("latin-1")
    struck = without_keys(text)
    return body if struck is text else struck.encode("latin-1")


def looks_secret(text: str) -> bool:
    """Whether a text holds a known secret, or what has the form of a key."""
    return bool(_FORM.search(text)) or without_keys(text) != text


def without_users(text: str) -> str:
    """The text without `user:password@` in addresses."""
    return _USER.sub(f"{STRUCK}@", text)


def _secrets() -> list[str]:
    """The longest first: one may be a part of another."""
    with _LOCK:
        names = list(_VARIABLES)
    values = {os.environ.get(name, "").strip() for name in names}
    for name in _PROXIES:
        if "@" in (proxy := os.environ.get(name, "")):
            password = proxy.rpartition("@")[0].rpartition("//")[2].partition(":")[2]
            values |= {password, unquote(password)}
    return sorted((value for value in values if len(value) >= SHORTEST), key=len, reverse=True)


def _character(escape: re.Match[str]) -> str:
    kind = escape.lastindex
    code = escape[kind or 0]
    return code if kind == 6 else chr(int(code, 10 if kind == 5 else 16))


class _Written(NamedTuple):
    """A way of writing a secret: what is looked for (in lower case unless `is_exact`), and what is
    struck out, with any of its characters escaped."""

    text: str
    is_exact: bool
    pattern: re.Pattern[str]


@functools.lru_cache(maxsize=64)
def _ways(secret: str) -> tuple[_Written, ...]:
    data = secret.encode("utf-8", "surrogateescape")
    as_is = [
        _Written(text.lower(), False, re.compile("".join(map(_forms, text)), re.IGNORECASE))
        for text in (secret, data.hex())
    ]
    cores = {
        core: None
        for before in range(3)
        for core in (_base64(data, before), _base64(data, before).translate(_URL_SAFE))
    }
    encoded = [
        _Written(core, True, re.compile(f"{_EDGE}{''.join(map(_forms, core))}{_EDGE}={{0,2}}"))
        for core in cores
    ]
    return (*as_is, *encoded)


_URL_SAFE = str.maketrans("+/", "-_")
_EDGE = r"[A-Za-z0-9+/_-]{0,2}"
"""Characters that have a part of the secret's first or last byte."""


def _base64(data: bytes, before: int) -> str:
    """What of its base64 is the same whatever stands around it, after `before` bytes (modulo 3)."""
    encoded = base64.b64encode(bytes(before) + data).decode()
    return encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]


def _forms(character: str) -> str:
    code = f"{ord(character):02x}"
    slash = r"|\\{1,16}/" if character == "/" else ""
    return (
        rf"(?:{re.escape(character)}|(?i:\\{{1,16}}u00{code}|\\{{1,16}}x{code}|%{code}|&#x0*{code};)"
        rf"|&#0*{ord(character)};{slash})"
    )
