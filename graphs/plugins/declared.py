"""The decorator `node`: a function becomes a step of the graph."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.declaring import Declaration, Plugin, place_of
from branchwise.corpora.plugins.injection import Injected
from branchwise.corpora.plugins.sources import PluginSource
from branchwise.corpora.plugins.specs import Group
from branchwise.graphs.plugins.slots import SLOTS, NodeSlot

DEFAULT_SECONDS = 60.0


@dataclass(frozen=True, eq=False, kw_only=True)
class NodePlugin(Plugin):
    """A declared node. `state`: name of the parameter that gets the state.

    `seconds`: a call that takes longer is stopped. `source`: the code's identity, once a spec has
    found it.
    """

    plugin_group: ClassVar[Group] = "nodes"
    fills: ClassVar[tuple[Injected, ...]] = ("corpus", "graph", "run", "settings")
    may_wait: ClassVar[bool] = True
    slot: NodeSlot
    state: str
    seconds: float = DEFAULT_SECONDS
    source: PluginSource | None = None


def node(
    slot: NodeSlot,
    *,
    name: str | None = None,
    seconds: float = DEFAULT_SECONDS,
    settings: type[BaseModel] | None = None,
) -> Callable[[Callable[..., Any]], NodePlugin]:
    """Declare a function as a step of the graph: `@node("after_tools")`.

    In a run the function, asynchronous or not, gets a copy of the state (`AgentState`) and returns
    its changes, or None; slots.py says what each slot may return. Parameters annotated as `Corpus`,
    `Graph`, `RunContext` or as the `settings` class are filled in. `name`: of the node, by default
    the function's. `seconds`: a call that takes longer is stopped. Raises InputError for an unknown
    slot, a missing docstring, an invalid name, a signature that cannot be called, or an invalid
    limit.
    """
    if callable(slot):
        raise InputError(
            f"the node {getattr(slot, '__name__', '')!r} names no slot",
            where=place_of(slot),
            remedy=f'write @node("{SLOTS[1]}"); slots are {", ".join(SLOTS)}',
        )

    def read(declaration: Declaration) -> Mapping[str, Any]:
        if slot not in SLOTS:
            what = f"the node {declaration.name} has the slot {str(slot)[:80]!r}"
            raise declaration.refused(what, f"slots are {', '.join(SLOTS)}")
        return {"slot": slot, "state": _state_of(declaration)}

    return lambda function: NodePlugin.declared(
        function, read, name=name, seconds=seconds, settings=settings
    )


def _state_of(declaration: Declaration) -> str:
    """The first parameter that is not injected; those after it have defaults."""
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    others = list(declaration.others.values())
    right = bool(others) and all(one.kind in by_name for one in others)
    if not right or any(one.default is inspect.Parameter.empty for one in others[1:]):
        raise declaration.refused(
            f"the node {declaration.name} cannot be called with a state alone",
            "write `async def name(state: AgentState)`, and annotate what is to be filled in "
            "(Corpus, Graph, RunContext, the settings)",
        )
    return others[0].name
