"""Which step of the graph follows which: told to the graph, and read where a fork takes it up."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from branchwise.graphs.plugins.slots import SLOTS, Slot
from branchwise.trace.events import graph_name


@dataclass(frozen=True)
class Route:
    """The way through the graph: `[expand]? -> agent <-> (tools -> [extract]?) -> answer`.

    `nodes`: names of the plug-ins' nodes that stand in each slot, in their order.
    """

    expands: bool
    extracts: bool
    has_tools: bool
    nodes: Mapping[Slot, Sequence[str]] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """Where a question begins."""
        return "expand" if self.expands else self.into("before_agent")

    def after_turn(self, *, calls: bool) -> str:
        """Behind a model turn that makes calls, or says its last words."""
        return "tools" if calls and self.has_tools else self.into("before_answer")

    def into(self, slot: Slot, ran: Collection[str] = ()) -> str:
        """The first node of a slot that did not run yet, else the step behind the slot.

        Nodes that ran and that the system has not are passed over.
        """
        return next(name for name in self._chain(slot) if name not in map(graph_name, ran))

    def edges(self) -> Iterator[tuple[str, str]]:
        """Pairs of steps of which the second always follows the first."""
        for slot in SLOTS:
            yield from pairwise(self._chain(slot))
        if self.expands:
            yield "expand", self.into("before_agent")
        if self.has_tools:
            yield "tools", self.into("after_tools")
        if self.extracts:
            yield "extract", "agent"

    def _chain(self, slot: Slot) -> list[str]:
        """The nodes of a slot, and the step behind it."""
        behind = {
            "before_agent": "agent",
            "after_tools": "extract" if self.extracts else "agent",
            "before_answer": "answer",
        }
        return [*map(graph_name, self.nodes.get(slot, ())), behind[slot]]
