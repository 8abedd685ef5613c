"""The decorator `node`: a function of one's own becomes a step of the graph."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_type_hints

from pydantic import BaseModel

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.sources import Source
from branchwise.corpora.plugins.specs import Group
from branchwise.graphs.plugins.slots import SLOTS, Slot
from branchwise.tools.plugins.injection import Injected, injected_as, is_optional
from branchwise.tools.plugins.schema import place_of

DEFAULT_SECONDS, MAX_SECONDS = 60.0, 86_400.0
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, eq=False)
class NodePlugin:
    """A declared node; calling it calls the function, as if it had never been declared.

    `state`: name of the parameter that gets the state. `seconds`: a call that takes longer is
    stopped. `settings`: the pydantic model of its settings, None where it has none. `injected`:
    the other parameters, with what they are filled with and whether that may be missing. `source`:
    which code it is, once it was found by a spec.
    """

    plugin_group: ClassVar[Group] = "nodes"
    name: str
    slot: Slot
    function: Callable[..., Any]
    state: str
    seconds: float = DEFAULT_SECONDS
    settings: type[BaseModel] | None = None
    injected: Mapping[str, tuple[Injected, bool]] = field(default_factory=dict)
    source: Source | None = None

    def __post_init__(self) -> None:
        # So that inspect, help() and doctest see the function.
        names = ("__name__", "__qualname__", "__doc__", "__module__")
        self.__dict__.update({n: getattr(self.function, n, None) for n in names})
        self.__dict__["__wrapped__"] = self.function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    @property
    def place(self) -> str:
        """`file:line` of the function."""
        return place_of(self.function)


def node(
    slot: Slot,
    *,
    name: str | None = None,
    seconds: float = DEFAULT_SECONDS,
    settings: type[BaseModel] | None = None,
) -> Callable[[Callable[..., Any]], NodePlugin]:
    """Declare a function as a step of the graph: `@node("after_tools")`.

    In a run the function, asynchronous or not, gets a copy of the state (`AgentState`) and returns
    what it changes of it, or None; slots.py says what each slot may return. Parameters annotated
    as `Corpus`, `Graph`, `RunContext` or as the `settings` class are filled in. `name`: of the
    node, by default the function's. `seconds`: a call that takes longer is stopped.

    Raises InputError: an unknown slot, no docstring, a name that is none, a signature that cannot
    be called, a limit that is none.
    """
    if callable(slot):
        raise InputError(
            f"the node {getattr(slot, '__name__', '')!r} names no slot",
            where=place_of(slot),
            remedy=f'write @node("{SLOTS[1]}"); slots are {", ".join(SLOTS)}',
        )

    def declare(function: Callable[..., Any]) -> NodePlugin:
        return _declared(function, slot, name, seconds, settings)

    return declare


def _declared(
    function: Callable[..., Any],
    slot: Any,
    name: str | None,
    seconds: float,
    settings: type[BaseModel] | None,
) -> NodePlugin:
    if not callable(function) or isinstance(function, type | NodePlugin):
        raise InputError(
            f"@node declares a function, not {type(function).__name__!r}",
            where=place_of(function) if callable(function) else None,
            remedy="put it above an `async def`",
        )
    own, where = name or str(getattr(function, "__name__", "")), place_of(function)
    if slot not in SLOTS:
        raise InputError(
            f"the node {own} has the slot {str(slot)[:80]!r}",
            where=where,
            remedy=f"slots are {', '.join(SLOTS)}",
        )
    if not _NAME.fullmatch(own):
        raise InputError(
            f"{own[:80]!r} is no name for a node",
            where=where,
            remedy="use letters, digits, - and _, a letter first, 64 at most",
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InputError(
            f"the node {own} is a generator: a call would run none of it",
            where=where,
            remedy="return what changes; do not yield",
        )
    if not (function.__doc__ or "").strip():
        raise InputError(f"the node {own} has no docstring", where=where, remedy="say what it does")
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not (is_number and 0 < seconds <= MAX_SECONDS):
        raise InputError(
            f"the node {own} has the limit {str(seconds)[:80]}",
            where=where,
            remedy=f"give seconds, more than 0 and at most {MAX_SECONDS:,.0f}",
        )
    if settings is not None and not (
        isinstance(settings, type) and issubclass(settings, BaseModel)
    ):
        raise InputError(
            f"the settings of the node {own} are no pydantic model",
            where=where,
            remedy="name a class derived from pydantic.BaseModel",
        )
    state, injected = _parameters(function, own, where, settings)
    plugin = NodePlugin(own, slot, function, state, float(seconds), settings, injected)
    _check_once(plugin, getattr(function, "__globals__", {}))
    return plugin


def _check_once(plugin: NodePlugin, names: Mapping[str, Any]) -> None:
    """Refuse a second node of one name in a file. In a notebook a cell may run again."""
    if names.get("__name__") == "__main__":
        return
    for other in names.values():
        is_twin = isinstance(other, NodePlugin) and other.name == plugin.name
        if is_twin and other.place != plugin.place:
            raise InputError(
                f"the node {plugin.name} is defined twice",
                where=f"{other.place} and {plugin.place}",
                remedy="give one of them another name",
            )


def _parameters(
    function: Callable[..., Any], name: str, where: str, settings: type[BaseModel] | None
) -> tuple[str, dict[str, tuple[Injected, bool]]]:
    """The parameter that gets the state, and those that are filled in."""
    try:
        hints = get_type_hints(function)
    except Exception as error:  # noqa: BLE001 - annotations are evaluated: anything may happen
        raise InputError(
            f"an annotation of the node {name} cannot be read: {error}",
            where=where,
            remedy="annotate with names that the file imports or defines above",
        ) from None
    injected: dict[str, tuple[Injected, bool]] = {}
    others: list[inspect.Parameter] = []
    for one, parameter in inspect.signature(function).parameters.items():
        if kind := injected_as(hints.get(one), settings):
            injected[one] = (kind, is_optional(hints[one]))
        else:
            others.append(parameter)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if not others or any(one.kind not in by_name for one in others):
        raise _no_signature(name, where)
    state, *rest = others
    if any(one.default is inspect.Parameter.empty for one in rest):
        raise _no_signature(name, where)
    return state.name, injected


def _no_signature(name: str, where: str) -> InputError:
    return InputError(
        f"the node {name} cannot be called with a state alone",
        where=where,
        remedy="write `async def name(state: AgentState)`, and annotate what is to be filled in "
        "(Corpus, Graph, RunContext, the settings)",
    )
