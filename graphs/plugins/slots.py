"""Where in the graph a plug-in's step runs."""

from typing import Literal, get_args

NodeSlot = Literal["before_agent", "after_tools", "before_answer"]
"""`before_agent`: once, after query expansion. `after_tools`: after the tools of a turn, before
evidence extraction. `before_answer`: after the agent's last message, before it is read."""

SLOTS: tuple[NodeSlot, ...] = get_args(NodeSlot)

RETURNS: dict[NodeSlot, tuple[str, ...]] = {
    "before_agent": ("pending", "readings"),
    "after_tools": ("pending",),
    "before_answer": ("messages",),
}
"""The parts of the state that a node of a slot may return."""
