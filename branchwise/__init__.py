"""Branchwise: a harness for search agents on questions with several readings and many answers.

>>> import branchwise
>>> run = branchwise.run("questions.jsonl", branchwise.System(model="offline", corpus="C"))
>>> print(branchwise.score(run).aggregates["all"]["strict_recall"].mean)
"""

from typing import TYPE_CHECKING, Any

from branchwise.base.registry import FILLED_BY

if TYPE_CHECKING:
    from branchwise.api import ask, compare, merge, resume, run, score
    from branchwise.base.plugins.call import RunContext
    from branchwise.corpora.folder import Corpus
    from branchwise.corpora.loaders import load_questions
    from branchwise.corpora.plugin_retriever import retriever
    from branchwise.eval.plugin_metrics import metric
    from branchwise.eval.scores import Scores
    from branchwise.graphs.plugin_nodes import node
    from branchwise.graphs.state import AgentState
    from branchwise.graphs.system import Budget, System
    from branchwise.kg.answers import Graph
    from branchwise.runs.experiment import Run
    from branchwise.runs.options import (
        CostOptions,
        JudgingOptions,
        PaceOptions,
        RunOptions,
        ScoreOptions,
    )
    from branchwise.tools.plugin_tools import tool
    from branchwise.tools.tool_results import ToolError, ToolResult

    __version__: str

__all__ = [
    "AgentState",
    "Budget",
    "Corpus",
    "CostOptions",
    "Graph",
    "JudgingOptions",
    "PaceOptions",
    "Run",
    "RunContext",
    "RunOptions",
    "ScoreOptions",
    "Scores",
    "System",
    "ToolError",
    "ToolResult",
    "__version__",
    "ask",
    "compare",
    "load_questions",
    "merge",
    "metric",
    "node",
    "resume",
    "retriever",
    "run",
    "score",
    "tool",
]

FILLED_BY.append("branchwise.eval.tasks")

_HOMES = {
    "AgentState": "branchwise.graphs.state",
    "Budget": "branchwise.graphs.system",
    "Corpus": "branchwise.corpora.folder",
    "CostOptions": "branchwise.runs.options",
    "Graph": "branchwise.kg.answers",
    "JudgingOptions": "branchwise.runs.options",
    "PaceOptions": "branchwise.runs.options",
    "Run": "branchwise.runs.experiment",
    "RunContext": "branchwise.base.plugins.call",
    "RunOptions": "branchwise.runs.options",
    "ScoreOptions": "branchwise.runs.options",
    "Scores": "branchwise.eval.scores",
    "System": "branchwise.graphs.system",
    "ToolError": "branchwise.tools.tool_results",
    "ToolResult": "branchwise.tools.tool_results",
    "ask": "branchwise.api",
    "compare": "branchwise.api",
    "load_questions": "branchwise.corpora.loaders",
    "merge": "branchwise.api",
    "metric": "branchwise.eval.plugin_metrics",
    "node": "branchwise.graphs.plugin_nodes",
    "resume": "branchwise.api",
    "retriever": "branchwise.corpora.plugin_retriever",
    "run": "branchwise.api",
    "score": "branchwise.api",
    "tool": "branchwise.tools.plugin_tools",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # Lazy: `branchwise --help` must not pay for langgraph and openai.
    if name == "__version__":
        from importlib.metadata import version

        return version("branchwise")
    if name not in _HOMES:
        raise AttributeError(f"module 'branchwise' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
