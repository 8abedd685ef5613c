"""What errors tell who types commands, as it is written in Python."""

import functools
import re
import shlex
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from branchwise.base.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")
_REPEATED = ("field", "metric", "tool", "node", "key", "header", "role")
_OPTION = re.compile(
    r"(?<![\w-])--field (?P<field>[a-z]+)=(?P<column>[\w.]+)"
    r"|(?<!ray start )(?<![\w-])--(?P<name>[a-z][a-z-]*)(?![\w-])"
    r"(?:[ =](?P<value>[A-Z][A-Z.=:]*)\b)?"
)
_CALL = re.compile(
    r"`branchwise (?P<name>run|resume|ask|score|ablate)\b(?P<rest>[^`]*)`"
    r"|\bbranchwise (?P<bare>resume|score)\b(?P<end>[^;]*)"
)
_KEPT = re.compile(r"(`branchwise [^`]*`|\bbranchwise [a-z].*|branchwise\.[a-z]+\([^)]*\))")


def in_python(text: str) -> str:
    """The same with `--out` as `out`, and a command that Python has as its call; others stay."""
    parts = _KEPT.split(_CALL.sub(_call, text))
    return "".join(part if n % 2 else _OPTION.sub(_parameter, part) for n, part in enumerate(parts))


def told_in_python(function: Callable[P, T]) -> Callable[P, T]:
    """Have what a function refuses told so."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except InputError as error:
            error.put(in_python)
            raise

    return called


def _parameter(option: re.Match[str]) -> str:
    if option["field"]:
        return f"fields={{{option['field']!r}: {option['column']!r}}}"
    name, value = _named(option["name"]), option["value"]
    return f"{name}={value}" if value else name


def _named(option: str) -> str:
    return option.replace("-", "_") + ("s" if option in _REPEATED else "")


def _call(command: re.Match[str]) -> str:
    rest = command["rest"] if command["name"] else command["end"]
    try:
        words = shlex.split(rest)
    except ValueError:  # a quotation mark alone
        return command[0]
    given = []
    while words:
        word = words.pop(0)
        name = f"{_named(word.removeprefix('--'))}=" if word.startswith("--") else ""
        if name:
            word = words.pop(0) if words and not words[0].startswith("--") else "..."
        given.append(f"{name}{word if word.isupper() or word == '...' else repr(word)}")
    return f"branchwise.{command['name'] or command['bare']}({', '.join(given)})"
