"""What `@retriever` and `@metric` have in common: names, places, and what is refused at once."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from branchwise.corpora.errors import InputError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class Declared(Protocol):
    """What a decorator made of a function."""

    @property
    def name(self) -> str: ...
    @property
    def place(self) -> str:
        """`file:line` of the function."""
        ...


def look_like(plugin: object, function: Callable[..., Any]) -> None:
    """Let inspect, help() and who looks for names of a module see the function."""
    names = ("__name__", "__qualname__", "__doc__", "__module__")
    vars(plugin).update({name: getattr(function, name, None) for name in names})
    vars(plugin)["__wrapped__"] = function


def place_of(function: Callable[..., Any]) -> str:
    """`file:line` of a function, or what it is called where it has none."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
        line = inspect.unwrap(function).__code__.co_firstlineno
    except (TypeError, AttributeError, ValueError):
        return str(getattr(function, "__qualname__", type(function).__name__))
    return f"{file}:{line}"


def checked_name(kind: str, function: Any, name: str | None) -> str:
    """The plug-in's name: the function's own unless another is given. Raises InputError."""
    if not callable(function) or isinstance(function, type):
        raise InputError(
            f"@{kind} declares a function, not {type(function).__name__!r}",
            remedy="put it above a `def`",
        )
    chosen = getattr(function, "__name__", "") if name is None else name
    if not isinstance(chosen, str) or not _NAME.fullmatch(chosen):
        raise InputError(
            f"{chosen!r} cannot be the name of a {kind}",
            where=place_of(function),
            remedy="use at most 64 letters, digits and _, a letter first",
        )
    return chosen


def first_paragraph(kind: str, name: str, function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, on one line. InputError where there is none."""
    text = " ".join((inspect.getdoc(function) or "").strip().split("\n\n")[0].split())
    if not text:
        raise InputError(
            f"the {kind} {name} has no docstring",
            where=place_of(function),
            remedy="say in one what it does",
        )
    return text


def check_positive(kind: str, function: Callable[..., Any], **numbers: Any) -> None:
    """Raise InputError for a setting of the decorator that is no positive number."""
    for setting, value in numbers.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value < float("inf"):
            raise InputError(
                f"@{kind}: {setting} is {value!r}, which is no positive number",
                where=place_of(function),
            )


def check_once(kind: str, declared: Declared, names: Mapping[str, Any]) -> None:
    """Refuse a second plug-in of one name in a file. In a notebook a cell may run again."""
    if names.get("__name__") == "__main__":
        return
    for other in names.values():
        same = isinstance(other, type(declared)) and other.name == declared.name
        if same and other.place != declared.place:
            raise InputError(
                f"the {kind} {declared.name} is defined twice",
                where=f"{other.place} and {declared.place}",
                remedy="give one of them another name",
            )
