"""How a question flows: the LangGraph state, nodes and builders."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from branchwise.graphs.compiled import build, build_clarify

__all__ = ["build", "build_clarify"]


def __getattr__(name: str) -> Any:
    # Lazy: code that needs only a part of this package must not pay for langgraph.
    if name not in __all__:
        raise AttributeError(f"module 'branchwise.graphs' has no attribute {name!r}")
    from branchwise.graphs import compiled

    return getattr(compiled, name)
