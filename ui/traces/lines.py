"""The rows of the list of questions, their order, and the line that sums up a run."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.plugins.specs import short_spec
from branchwise.corpora.open import is_plugin_retriever
from branchwise.eval.tasks import Column
from branchwise.report.terminal.blocks import harmless

if TYPE_CHECKING:
    from branchwise.ui.traces.runs import RunView

MAX_TEXT = 1000
"""Characters of a question or an error that a row keeps: more than fit on a line of any screen."""
SUBSETS = ("all", "ambiguous", "unambiguous")
_STATUSES = ("running", "failed", "pending", "done")
"""In the order in which users look for them."""

Values = tuple[float | None, ...]
"""A value for each metric that a row shows, 0 to 1 for shares; empty while none are known."""


@dataclass(frozen=True, slots=True)
class ItemLine:
    """One item of a run as the list shows it, by its number in the store. `scores`: None where
    it has no gold; `labels`: sorted, None until known; `tokens`, `seconds`: None until it has
    ended."""

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
    """A run in the list of runs. `system`: its settings in a few words; `heads`: its task's
    metrics; `means`: over the items that ended, empty while they are not known."""

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


def system_words(system: Mapping[str, Any]) -> str:
    """A system's settings in words: its model, tools, and what differs from the defaults."""
    parts = [str(system.get("model", ""))]
    parts += [f"{role} {spec}" for role, spec in (system.get("roles") or {}).items() if spec]
    parts += [", ".join(short_spec(str(tool)) for tool in system.get("tools") or ())]
    parts += [f"node {short_spec(str(node))}" for node in system.get("nodes") or ()]
    parts += [name for name in ("expand", "fan_out", "extract") if system.get(name)]
    parts += [f"k={system['k']}"] if system.get("k") else []
    if retriever := str(system.get("retriever") or ""):
        # An address as it is; of a plug-in its name.
        parts += [short_spec(retriever) if is_plugin_retriever(retriever) else retriever]
    for setting in ("reranker", "prompts"):
        parts += [f"{setting} {Path(str(system[setting])).name}"] if system.get(setting) else []
    return one_line(" · ".join(part for part in parts if part))


def means_of(rows: Iterable[ItemLine], columns: Sequence[Column]) -> Values:
    """Means of the metrics over questions, the epochs of a question averaged first, as scores are;
    None where no row has a value, and of a score that is not a mean: rows do not have its sums."""
    scored = [row for row in rows if row.scores]
    means: list[float | None] = []
    for index, column in enumerate(columns):
        by_question: dict[str, list[float]] = defaultdict(list)
        for row in scored if not column.total else ():
            if (value := row.scores[index]) is not None:
                by_question[row.id].append(value)
        values = [sum(epochs) / len(epochs) for epochs in by_question.values()]
        means.append(sum(values) / len(values) if values else None)
    return tuple(means)


@dataclass(frozen=True)
class Arrangement:
    """How rows are arranged. `sort`: one of `sorts`; only those of a `subset`, with a `label`,
    of a `status`, in whose id or question all words of `text` occur, that ended differently in
    the other run (`differs`). Raises InputError for an unknown subset."""

    sort: str = "order"
    descending: bool = False
    subset: str = "all"
    label: str | None = None
    status: str | None = None
    text: str = ""
    differs: bool = False

    def __post_init__(self) -> None:
        _check(self.subset, SUBSETS)


def sorts(heads: Sequence[str]) -> tuple[str, ...]:
    """What rows are sorted by: `order` is the store's, `heads` are the run's metrics."""
    return ("order", "id", "question", "status", *heads, "labels", "tokens", "seconds")


def _check(value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(f"unknown: {value!r}", remedy=f"known are {', '.join(known)}")


def arranged(run: "RunView", how: Arrangement, other: "RunView | None" = None) -> list[int]:
    """Numbers of the rows that are shown, in order, those without a value last, equal ones as
    stored. `differs` without another run shows all. Raises InputError for an unknown sort."""
    _check(how.sort, sorts(run.heads))
    lines = run.lines()
    rows = [row for row, line in enumerate(lines) if _is_shown(line, how)]
    if how.differs and other is not None:
        others = {(line.id, line.epoch): line for line in other.lines()}
        rows = [n for n in rows if differs(lines[n], others.get((lines[n].id, lines[n].epoch)))]
    if how.sort == "order":
        return rows[::-1] if how.descending else rows
    values: dict[int, Any]
    if how.sort in _VALUES:
        values = {row: _VALUES[how.sort](lines[row]) for row in rows}
    else:
        index = run.heads.index(how.sort)
        values = {row: lines[row].scores[index] if lines[row].scores else None for row in rows}
    # A sort in reverse keeps equal ones in their order.
    known = [row for row in rows if values[row] is not None]
    known.sort(key=lambda row: values[row], reverse=how.descending)
    return known + [row for row in rows if values[row] is None]


def differs(a: ItemLine, b: ItemLine | None) -> bool:
    """Whether an item is missing from another run or ended with another status or metric there."""
    return b is None or _ending(a) != _ending(b)


def _ending(line: ItemLine) -> tuple[Any, ...]:
    # Scores are kept with all their digits and worked out with the same arithmetic; rounding only
    # keeps two ways of adding apart from a difference.
    return line.status, *(None if score is None else round(score, 8) for score in line.scores)


def _is_shown(line: ItemLine, how: Arrangement) -> bool:
    id, question = line.id.casefold(), line.question.casefold()
    return (
        (how.subset == "all" or line.ambiguous is (how.subset == "ambiguous"))
        and how.status in (None, line.status)
        and (how.label is None or how.label in (line.labels or ()))
        and all(word in id or word in question for word in how.text.casefold().split())
    )


def _natural(id: str) -> tuple[tuple[int, int | str], ...]:
    """An id in pieces, so that q9 comes before q10."""
    # Digits beyond Python's limit for integers are compared as text.
    return tuple(
        (0, int(piece)) if piece[0] in "0123456789" and len(piece) < 1000 else (1, piece)
        for piece in re.findall("[0-9]+|[^0-9]+", id.casefold())
    )


_VALUES: dict[str, Callable[[ItemLine], Any]] = {
    "id": lambda line: _natural(line.id),
    "question": lambda line: line.question.casefold(),
    "status": lambda line: (*_STATUSES, line.status).index(line.status),
    # By how many there are, then by their names.
    "labels": lambda line: None if line.labels is None else (len(line.labels), line.labels),
    "tokens": lambda line: line.tokens,
    "seconds": lambda line: line.seconds,
}


def named_row(run: "RunView", question: str, epoch: int = 0) -> int:
    """The row of a question. Raises InputError, suggesting similar ids, if there is no such row."""
    row = run.find(question, epoch)
    if row is not None:
        return row
    problem = f"no item has the id {question[:80]!r} in epoch {epoch}"
    ids = [line.id for line in run.lines() if line.epoch == epoch]
    hint = did_you_mean(question, ids, else_=f"the first ids are {', '.join(ids[:3])}", most=3)
    remedy = hint if ids else "epochs are counted from 0"
    raise InputError(problem, where=str(run.path), remedy=remedy)
