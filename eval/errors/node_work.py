"""What plug-ins' nodes did, counted from a trace's own records."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from branchwise.trace.events import Node

MAX_NAME_CHARS, MAX_ERROR_CHARS = 64, 500
"""As the decorator and the graph's step bound them; a record may be anyone's."""


@dataclass(frozen=True)
class NodeWork:
    """`changed`: calls that changed something of what the agent goes on with; `failed`: calls that
    raised, took too long or returned what their slot does not take; the rest changed nothing.
    `first_error`: of the first that failed, in the order of the items, in one line."""

    calls: int = 0
    changed: int = 0
    failed: int = 0
    first_error: str | None = None

    def __add__(self, other: "NodeWork") -> "NodeWork":
        return NodeWork(
            self.calls + other.calls,
            self.changed + other.changed,
            self.failed + other.failed,
            other.first_error if self.first_error is None else self.first_error,
        )

    @classmethod
    def of(cls, node: Node) -> "NodeWork":
        """What one call did."""
        if node.error is None:
            return cls(1, changed=int(not node.update.is_empty))
        # The graph puts the node's name before it, which is said already.
        said = " ".join(node.error.split()).removeprefix(f"{node.name}: ")
        return cls(1, failed=1, first_error=said[:MAX_ERROR_CHARS])


NodesWork = Mapping[str, NodeWork]
"""By the node's name."""


def nodes_work(nodes: Iterable[Node]) -> NodesWork:
    """Count what nodes did; what has no name is passed over."""
    found: dict[str, NodeWork] = {}
    for node in nodes:
        if "name" not in node.problems:
            own = node.name[:MAX_NAME_CHARS]
            found[own] = found.get(own, NodeWork()) + NodeWork.of(node)
    return found


def nodes_sum(one: NodesWork, other: NodesWork) -> NodesWork:
    """Both together, in the order in which they are met."""
    return {
        name: one.get(name, NodeWork()) + other.get(name, NodeWork()) for name in (*one, *other)
    }


def node_names(identity: object) -> tuple[str, ...]:
    """The nodes of a run's system, from what it keeps as its identity; none in older runs."""
    listed = identity.get("nodes") if isinstance(identity, Mapping) else None
    records = listed if isinstance(listed, list) else []
    names = [one.get("name") for one in records if isinstance(one, Mapping)]
    return tuple(name for name in names if isinstance(name, str))
