"""The rows of the list of questions, and the line that sums up a run."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise.base.plugins.specs import short_spec
from branchwise.corpora.open import is_plugin_retriever
from branchwise.eval.tasks import Column
from branchwise.report.terminal.blocks import harmless

MAX_TEXT = 1000
"""Characters of a question or an error that a row keeps: more than fit on a line of any screen."""

Values = tuple[float | None, ...]
"""A value for each metric that a row shows, 0 to 1 for shares; empty while none are known."""


@dataclass(frozen=True, slots=True)
class ItemLine:
    """One item of a run as the list shows it.

    `number` is its number in the store, `status` pending, running, done or failed. `scores`
    are the metrics that its task shows, as reports have them; None where the item has not ended or
    has no gold. `labels` are error labels, sorted; None until they are known. `tokens` and
    `seconds` are None until the item has ended.
    """

    number: int
    id: str
    epoch: int
    question: str
    ambiguous: bool
    status: str
    scores: Values = ()
    labels: tuple[str, ...] | None = None
    tokens: int | None = None
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in the list of runs. `system`: its settings in a few words.

    `heads` name the metrics of its task, which are not those of another run's. The means are over
    the items that ended; None where none has, and none at all while they are not known.
    """

    name: str
    system: str
    total: int
    done: int
    failed: int
    heads: tuple[str, ...] = ()
    means: Values = ()
    parent: str | None = None


def named(heads: Sequence[str], scores: Values) -> list[tuple[str, float | None]]:
    """Each metric's heading with its value; None while no values are known."""
    return list(zip(heads, scores or (None,) * len(heads), strict=True))


def one_line(text: str) -> str:
    """Text from outside as part of a line: white space collapsed, bounded, harmless."""
    return harmless(" ".join(text[: 4 * MAX_TEXT].split()))[:MAX_TEXT]


def heads(columns: Sequence[Column]) -> tuple[str, ...]:
    """Headings of the metrics that rows show, on one line each."""
    return tuple(column.short or column.title for column in columns)


def system_words(system: Mapping[str, Any]) -> str:
    """A system's settings in words: its model, tools, and what differs from the defaults."""
    parts = [str(system.get("model", ""))]
    parts += [f"{role} {spec}" for role, spec in (system.get("roles") or {}).items() if spec]
    parts += [", ".join(short_spec(str(tool)) for tool in system.get("tools") or ())]
    parts += [f"node {short_spec(str(node))}" for node in system.get("nodes") or ()]
    parts += [name for name in ("expand", "extract") if system.get(name)]
    parts += [f"k={system['k']}"] if system.get("k") else []
    parts += [_retriever(str(system["retriever"]))] if system.get("retriever") else []
    reranker = system.get("reranker")
    parts += [f"reranker {Path(str(reranker)).name}"] if reranker else []
    parts += [f"prompts {Path(str(system['prompts'])).name}"] if system.get("prompts") else []
    return one_line(" · ".join(part for part in parts if part))


def _retriever(text: str) -> str:
    """An address as it is; for a plug-in, its name."""
    return short_spec(text) if is_plugin_retriever(text) else text


def run_line(
    name: str,
    meta: Mapping[str, Any],
    progress: Mapping[str, int],
    heads: tuple[str, ...],
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
        heads=heads,
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
