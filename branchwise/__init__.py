"""Branchwise: a harness for search agents on questions with several readings and many answers.

>>> import branchwise
>>> run = branchwise.run("questions.jsonl", branchwise.System(model="offline", corpus="C"))
>>> print(branchwise.score(run).aggregates["all"]["strict_recall"].mean)
"""

import functools
from typing import TYPE_CHECKING, Any

from branchwise.base.python_words import told_in_python
from branchwise.base.registry import FILLED_BY

if TYPE_CHECKING:
    from branchwise.api import (
        ablate,
        ask,
        compare,
        merge,
        open_run,
        resume,
        run,
        score,
    )
    from branchwise.base.plugins.call import RunContext
    from branchwise.corpora.build import build_corpus, build_index
    from branchwise.corpora.folder import Corpus
    from branchwise.corpora.loaders import load_questions
    from branchwise.corpora.plugin_retriever import retriever
    from branchwise.eval.plugin_metrics import metric
    from branchwise.eval.scores import Scores
    from branchwise.graphs.budget import Budget
    from branchwise.graphs.plugin_nodes import node
    from branchwise.graphs.state import AgentState
    from branchwise.graphs.system import System
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
    "ablate",
    "ask",
    "build_corpus",
    "build_index",
    "compare",
    "load_questions",
    "merge",
    "metric",
    "node",
    "open_run",
    "resume",
    "retriever",
    "run",
    "score",
    "tool",
]

FILLED_BY.append("branchwise.eval.tasks")

_HOMES = {
    "api": ("ablate", "ask", "compare", "merge", "open_run", "resume", "run", "score"),
    "base.plugins.call": ("RunContext",),
    "corpora.build": ("build_corpus", "build_index"),
    "corpora.folder": ("Corpus",),
    "corpora.loaders": ("load_questions",),
    "corpora.plugin_retriever": ("retriever",),
    "eval.plugin_metrics": ("metric",),
    "eval.scores": ("Scores",),
    "graphs.plugin_nodes": ("node",),
    "graphs.state": ("AgentState",),
    "graphs.system": ("Budget", "System"),
    "kg.answers": ("Graph",),
    "runs.experiment": ("Run",),
    "runs.options": ("CostOptions", "JudgingOptions", "PaceOptions", "RunOptions", "ScoreOptions"),
    "tools.plugin_tools": ("tool",),
    "tools.tool_results": ("ToolError", "ToolResult"),
}


_TOLD = ("api", "corpora.build", "corpora.loaders")
"""What commands call, too: here its errors name parameters, not options."""


_told = functools.cache(told_in_python)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # Lazy: `branchwise --help` must not pay for langgraph and openai.
    if name == "__version__":
        from importlib.metadata import version

        return version("branchwise")
    for home, names in _HOMES.items():
        if name in names:
            import importlib

            value = getattr(importlib.import_module(f"branchwise.{home}"), name)
            return _told(value) if home in _TOLD else value
    raise AttributeError(f"module 'branchwise' has no attribute {name!r}")
