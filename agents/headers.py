"""Headers of a user's own for requests: `HTTP-Referer`, `X-Title` (OpenRouter).

Without a host they go to model servers, with one (HOST/NAME) to the model or retrieval server
there. They say who asks and how to route, and no answer depends on them. Keys are none of them: a
run keeps headers as they are, and keys go by `base/keys.py` to one address alone.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from pydantic_core import PydanticCustomError

from branchwise.base.errors import InputError
from branchwise.base.keys import SEPARATOR, split_header
from branchwise.base.secrets import looks_secret
from branchwise.base.setting import refused, told

OPTION, METAVAR = "--header", "[HOST/]NAME=VALUE"
HELP = (
    "Header of requests to model servers, or with a host to the model or retrieval server there, "
    "repeatable: X-Title=Films, search.example/X-Index=films. Never a key: keys are for --key."
)
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
MAX_HEADERS, MAX_VALUE = 16, 1000
"""Headers of a system; characters of one's value."""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_SECRET = re.compile(
    r"auth(?!ors?(-|$))|cookie|credential|key|passw|secret|session|token", re.IGNORECASE
)
_OURS = re.compile(
    r"host|content-.*|transfer-encoding|te|trailer|connection|keep-alive|upgrade|expect"
    r"|accept(-encoding)?|proxy-.*|openai-.*|x-stainless-.*",
    re.IGNORECASE,
)
_BY_KEY = "a run keeps headers as they are: name a key's variable by --key HOST=VARIABLE"


def checked_headers(given: Any) -> dict[str, str]:
    """The headers, values without white space around them.

    Raises PydanticCustomError for what is not a name or not printable ASCII (RFC 9110, section
    5.5), for headers that requests have anyway, and for what may be a key; it repeats no value.
    """
    if not isinstance(given, Mapping):
        raise refused("is not headers by name", "write names and values: {X-Title: films}")
    if len(given) > MAX_HEADERS:
        raise refused(f"has {len(given):,} headers", f"at most {MAX_HEADERS} are sent")
    checked: dict[str, str] = {}
    for name, value in given.items():
        _check_name(name)
        if any(name.lower() == other.lower() for other in checked):
            raise refused("is there twice", "give each header once", name)
        text = value.strip() if isinstance(value, str) else ""
        if not text or len(text) > MAX_VALUE or not (text.isascii() and text.isprintable()):
            what = "is empty, longer than 1,000 characters, or not printable ASCII"
            raise refused(what, "write plain letters, digits and signs", name)
        if looks_secret(text):
            raise refused("has a value that looks like a key", _BY_KEY, name)
        checked[name] = text
    return checked


def read_headers(options: Iterable[str]) -> dict[str, str]:
    """Read NAME=VALUE, as it is written after `--header`. Raises InputError."""
    headers: dict[str, str] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not _NAME.fullmatch(name.rpartition(SEPARATOR)[2]):
            # Not shown: it may be a key.
            raise InputError(
                "what is given is not a header", where=OPTION, remedy=f"write {OPTION} {METAVAR}"
            )
        if name in headers:
            raise InputError(f"{name} is there twice", where=OPTION, remedy="give it once")
        headers[name] = value
    return headers


def headers_over(options: Iterable[str], kept: Mapping[str, str]) -> dict[str, str]:
    """The headers of options, and of the kept ones those that are not among them, whatever the case
    of their letters. Raises InputError."""
    given = read_headers(options)
    names = {name.lower() for name in given}
    rest = {name: value for name, value in kept.items() if name.lower() not in names}
    try:
        return checked_headers(rest | given)
    except PydanticCustomError as error:
        raise told(error, OPTION) from None


def _check_name(written: Any) -> None:
    try:
        name = split_header(written)[1] if isinstance(written, str) else ""
    except InputError:
        raise refused("has a host that is none", "write HOST/NAME or HOST:PORT/NAME") from None
    if not _NAME.fullmatch(name):
        raise refused("has a name that no header has", "write letters, digits and -")
    if looks_secret(name):
        raise refused("has a name that looks like a key", _BY_KEY)
    if _OURS.fullmatch(name):
        raise refused("is not for --header", "leave it out: requests have their own", name)
    if _SECRET.search(name):
        raise refused("looks like a key's header", _BY_KEY, name)
