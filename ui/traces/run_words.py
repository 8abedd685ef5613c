"""A run in few words: its system, how far it is, its means."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from branchwise.corpora.open import is_plugin_retriever
from branchwise.corpora.plugins.specs import short_spec
from branchwise.eval.tasks import Column
from branchwise.ui.traces.lines import ItemLine, RunLine, Values
from branchwise.ui.traces.records import one_line


def heads(columns: Sequence[Column]) -> tuple[str, ...]:
    """Headings of the metrics that rows show, on one line each."""
    return tuple(column.short or column.title for column in columns)


def system_words(system: Mapping[str, Any]) -> str:
    """What was set for a system: its model, tools, and what differs from the defaults."""
    parts = [str(system.get("model", ""))]
    parts += [f"{role} {spec}" for role, spec in (system.get("roles") or {}).items() if spec]
    parts += [", ".join(short_spec(str(tool)) for tool in system.get("tools") or ())]
    parts += [f"node {short_spec(str(node))}" for node in system.get("nodes") or ()]
    parts += [name for name in ("expand", "extract") if system.get(name)]
    parts += [f"k={system['k']}"] if system.get("k") else []
    parts += [_retriever(str(system["retriever"]))] if system.get("retriever") else []
    parts += [f"prompts {Path(str(system['prompts'])).name}"] if system.get("prompts") else []
    return one_line(" · ".join(part for part in parts if part))


def _retriever(text: str) -> str:
    """An address stays; of a plug-in it is its name."""
    return short_spec(text) if is_plugin_retriever(text) else text


def run_line(
    name: str,
    meta: Mapping[str, Any],
    progress: Mapping[str, int],
    means: Values,
) -> RunLine:
    """The line; `progress` as `RunReader.progress` counts items."""
    fork = meta.get("fork") or {}
    return RunLine(
        name=name,
        system=system_words(meta["system"]),
        total=progress["total"],
        done=progress["done"],
        failed=progress["failed"],
        means=means,
        parent=fork.get("run"),
    )


def means_of(rows: Iterable[ItemLine], columns: Sequence[Column]) -> Values:
    """Means of the metrics over questions, the epochs of a question averaged first, as scores are;
    None where no row has a value, and of a score that is not a mean: rows do not have its sums."""
    scored = [(row.id, row.scores) for row in rows if row.scores]
    return tuple(
        None if column.total else _mean((id, values[k]) for id, values in scored)
        for k, column in enumerate(columns)
    )


def _mean(values: Iterable[tuple[str, float | None]]) -> float | None:
    by_question: dict[str, list[float]] = defaultdict(list)
    for id, value in values:
        if value is not None:
            by_question[id].append(value)
    if not by_question:
        return None
    return sum(sum(one) / len(one) for one in by_question.values()) / len(by_question)
