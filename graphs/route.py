"""Which step of the graph follows which: the graph is built from it, and a fork enters by it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from branchwise.trace.events import graph_name

NodeSlot = Literal["before_agent", "after_tools", "before_answer"]
"""Where a plug-in's step runs. `before_agent`: once, after query expansion. `after_tools`: after
the tools of a turn, before evidence extraction. `before_answer`: after the agent's last message,
before it is read."""
SLOTS: tuple[NodeSlot, ...] = get_args(NodeSlot)


@dataclass(frozen=True)
class Route:
    """The way through the graph: `[expand]? -> agent <-> (tools -> [extract]?) -> answer`.

    `nodes`: names of the plug-ins' nodes in each slot, in order. `last_words`: the step that gets
    the agent's last message, if it is not the answer.
    """

    expands: bool
    extracts: bool
    has_tools: bool
    nodes: Mapping[NodeSlot, Sequence[str]] = field(default_factory=dict)
    last_words: str = ""

    @property
    def first(self) -> str:
        """Where a question starts."""
        return self.along("before_agent")[0]

    def after_turn(self, *, calls: bool) -> str:
        """After a model turn that makes calls, or after the last one."""
        if calls and self.has_tools:
            return "tools"
        return self.last_words or self.into("before_answer")

    def into(self, slot: NodeSlot, ran: Collection[str] = ()) -> str:
        """The first node of a slot that has not run yet, else the step after the slot.

        Nodes that ran but that the system lacks are ignored.
        """
        left = (name for name in self.nodes.get(slot, ()) if name not in ran)
        return next(map(graph_name, left), self._behind(slot)[0])

    def along(self, slot: NodeSlot) -> list[str]:
        """The steps around a slot: each is always followed by the next."""
        before = {
            "before_agent": ["expand"] if self.expands else [],
            "after_tools": ["tools"],
            "before_answer": [],
        }
        return [*before[slot], *map(graph_name, self.nodes.get(slot, ())), *self._behind(slot)]

    def _behind(self, slot: NodeSlot) -> list[str]:
        behind = {
            "before_agent": ["agent"],
            "after_tools": ["extract", "agent"] if self.extracts else ["agent"],
            "before_answer": ["answer"],
        }
        return behind[slot]
