"""How a question flows: the LangGraph state, nodes and builders."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from branchwise.graphs.compiled import build

__all__ = ["build"]


def __getattr__(name: str) -> Any:
    # Lazy: code that needs only a part of this package must not pay for langgraph.
    if name != "build":
        raise AttributeError(f"module 'branchwise.graphs' has no attribute {name!r}")
    from branchwise.graphs.compiled import build

    return build
