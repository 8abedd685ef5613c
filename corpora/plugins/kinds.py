"""The kinds of plug-ins as a user names them, and errors for objects of another kind."""

import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.faults import importing
from branchwise.corpora.plugins.specs import Group


class NameRule(NamedTuple):
    """Which names plug-ins of a kind may have: a pattern, and the remedy for other names."""

    pattern: str
    remedy: str


_PLAIN = NameRule(
    r"[A-Za-z][A-Za-z0-9_]{0,63}", "use at most 64 letters, digits and _, a letter first"
)
_OF_NODES = NameRule(
    r"[A-Za-z][A-Za-z0-9_-]{0,63}", "use at most 64 letters, digits, _ and -, a letter first"
)
_OF_TOOLS = NameRule(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", "use at most 64 letters, digits, _ and -")


class PluginKind(NamedTuple):
    """`noun`, the option and the field of study files that name one, and what declares one."""

    noun: str
    option: str
    field: str
    decorator: str
    names: NameRule = _PLAIN

    def takes_name(self, name: object) -> bool:
        """Whether a plug-in of the kind may have this name."""
        return isinstance(name, str) and re.fullmatch(self.names.pattern, name) is not None


KINDS: dict[Group, PluginKind] = {
    "tools": PluginKind("tool", "--tool", "tools", "@tool", _OF_TOOLS),
    "nodes": PluginKind("node", "--node", "nodes", '@node("after_tools")', _OF_NODES),
    "retrievers": PluginKind("retriever", "--retriever", "retriever", "@retriever"),
    "metrics": PluginKind("metric", "--metric", "metrics", "@metric(...)"),
}
"""Every kind that there is: what errors, specs and entry points (`branchwise.KEY`) go by."""


def group_of(found: object) -> Group | None:
    """The kind of an object, from a decorated object's `plugin_group`; a LangChain tool is
    recognised by its base class. None for anything else."""
    group = getattr(type(found), "plugin_group", None)
    if isinstance(group, str) and group in KINDS:
        return group
    bases = [(base.__module__, base.__name__) for base in type(found).__mro__]
    return "tools" if ("langchain_core.tools.base", "BaseTool") in bases else None


def made(found: Any, group: Group, place: str) -> Any:
    """The plug-in that a name led to, or that a factory function of that name makes.

    Raises InputError, which says what was found instead, and the remedy.
    """
    named, what = found, "is {}"
    if group_of(named) is None and callable(named) and not _makes_none(named):
        with importing(place):
            found = named()
        is_class = isinstance(named, type)
        what = "is a class that makes {}" if is_class else "is a function that returns {}"
    if (other := group_of(found)) == group:
        return found
    kind = KINDS[group]
    if other is not None:
        right = KINDS[other]
        raise InputError(
            what.format(f"a {right.noun}, not a {kind.noun}"),
            where=place,
            remedy=f"name it with {right.option} ({right.field}: in a study file)",
        )
    is_plain = inspect.isroutine(named)
    above = f"put `{kind.decorator}` above it" if is_plain else f"name a {kind.noun}"
    raise InputError(
        what.format(f"{_described(found)}, not a {kind.noun}"),
        where=place,
        remedy=f"{above}, or name a function without arguments that returns one",
    )


def _makes_none(function: Callable[..., Any]) -> bool:
    """Whether a call without arguments is useless: it needs some, or makes a coroutine."""
    later = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(kind(function) for kind in later):
        return True
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:
        return False  # for some classes Python knows no signature
    return False


def _described(found: object) -> str:
    if inspect.isroutine(found):
        return "a function"
    return "a class" if isinstance(found, type) else repr(type(found).__name__)
