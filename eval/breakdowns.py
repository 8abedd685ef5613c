"""Breakdowns: scores and ceilings by a property of the question, or by what was spent on it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from branchwise.base.errors import InputError, did_you_mean
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.ceilings import CeilingScores, TracedItem, ceiling_metrics
from branchwise.eval.errors.gold_evidence import GoldEvidence
from branchwise.eval.grouping import (
    MAX_LABELS,
    META,
    OTHERS_PLACE,
    UNKNOWN_PLACE,
    BinPlace,
    Bins,
    Grouping,
    ScoredItem,
    binned,
    by_meta,
    labels,
)
from branchwise.eval.scores import ItemScore, aggregates_of
from branchwise.eval.tasks import TASKS, Column, Task, totals_of


@dataclass(frozen=True)
class Bin:
    """The items with a value: how many, of how many questions, and their scores by metric."""

    label: str
    questions: int
    items: int
    aggregates: Mapping[str, Aggregate]

    def to_json(self) -> dict[str, Any]:
        values = {metric: value.to_json() for metric, value in self.aggregates.items()}
        return {**vars(self), "aggregates": values}


@dataclass(frozen=True)
class Breakdown:
    """The bins of a grouping that hold anything, in order, `UNKNOWN` last."""

    name: str
    words: str
    bins: tuple[Bin, ...]

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "bins": [own.to_json() for own in self.bins]}


Places = Mapping[tuple[str, int], Sequence[BinPlace]]
"""The bins of items, by question id and epoch; none where the property is unknown."""


def places_of(grouping: Grouping, items: Iterable[ScoredItem]) -> Places:
    # Few are different: each is held once.
    held: dict[tuple[BinPlace, ...], tuple[BinPlace, ...]] = {}
    own = ((item.key, tuple(grouping.bins(item) or ())) for item in items)
    return {key: held.setdefault(bins, bins) for key, bins in own}


def breakdown(
    grouping: Grouping,
    rows: Iterable[ItemScore],
    places: Places,
    columns: Sequence[Column],
    scores: CeilingScores | None = None,
) -> Breakdown:
    """Scores in the bins of a grouping: of the task's `columns`, and of the same items' ceilings.
    Epochs of a question are averaged within a bin. Questions without the property are in `UNKNOWN`;
    where none has it there are no bins."""
    if not any(places.values()):
        return Breakdown(grouping.name, grouping.words, ())
    kept = _most_common(places.values())
    known = {(row.id, row.epoch): row.metrics for row in scores.items} if scores else {}
    totals = totals_of(columns)
    own = [column.key for column in columns if not scores or column.key != scores.recall]
    added = [*own, *(name for total in totals.values() for name in total.sums)]
    binned_rows: dict[BinPlace, list[ItemScore]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.id, row.epoch)):
        key = row.id, row.epoch
        metrics = {m: row.metrics.get(m) for m in added} | dict(known.get(key, {}))
        shown_row = ItemScore(*key, row.ambiguous, metrics)
        for place in {p if p in kept else OTHERS_PLACE for p in places[key] or [UNKNOWN_PLACE]}:
            binned_rows[place].append(shown_row)
    shown = (*own, *(ceiling_metrics(scores.recall) if scores else ()))
    bins = []
    for (_, label), own_rows in sorted(binned_rows.items()):
        questions = len({row.id for row in own_rows})
        bins.append(Bin(label, questions, len(own_rows), aggregates_of(own_rows, shown, totals)))
    return Breakdown(grouping.name, grouping.words, tuple(bins))


def bins_of(places: Places) -> dict[str, set[str]]:
    """The ids of the questions in each bin, by its label, in order; without the property, none."""
    ids: dict[BinPlace, set[str]] = defaultdict(set)
    kept = _most_common(places.values())
    for (id, _), own in places.items():
        for place in own:
            ids[place if place in kept else OTHERS_PLACE].add(id)
    return {place[1]: ids[place] for place in sorted(ids)}


def groupings_of(task: Task) -> Mapping[str, Grouping]:
    """What a task's items can be broken down by, by name; and by `meta.KEY` (`grouping_of`)."""
    own = {grouping.name: grouping for grouping in task.groupings}
    return {**GROUPINGS, **own} if task.is_attributable else own


def grouping_of(task: Task, name: str) -> Grouping:
    """One of these, or by the values of a key of questions' `meta`. KeyError for another name."""
    return by_meta(name) if name.startswith(META) else groupings_of(task)[name]


def check_grouping(name: str, tasks: Iterable[Task] = tuple(TASKS.values())) -> None:
    """Raise InputError, which says what there is, for a name by which no task is broken down."""
    known = {name: None for task in tasks for name in groupings_of(task)}
    if name not in known and not (name.startswith(META) and name != META):
        near = did_you_mean(name, known, cutoff=0.5)
        remedy = f"a key of the questions' meta is written meta.{name[:80]}; {near}"
        raise InputError(f"unknown breakdown {name[:80]!r}", remedy=remedy)


def _most_common(places: Iterable[Sequence[BinPlace] | None]) -> set[BinPlace]:
    counts = Counter(place for own in places for place in set(own or ()))
    ranked = sorted(counts, key=lambda place: (-counts[place], place))
    return {*ranked[:MAX_LABELS], UNKNOWN_PLACE}


def _branches(item: ScoredItem) -> int | None:
    """Gold branches that have answers."""
    pairs = item.pairs if isinstance(item, TracedItem) else ()
    return len({pair.branch for pair in pairs}) or None


def _answers(item: ScoredItem) -> int | None:
    return (len(item.pairs) or None) if isinstance(item, TracedItem) else None


def _steps(item: ScoredItem) -> int | None:
    return len(item.item.question.plan) or None


def _evidence(item: ScoredItem) -> GoldEvidence | None:
    return item.evidence if isinstance(item, TracedItem) else None


def _calls(item: ScoredItem) -> int | None:
    return len(evidence.calls) if (evidence := _evidence(item)) else None


def _tokens(item: ScoredItem) -> int | None:
    return evidence.tokens if (evidence := _evidence(item)) else None


def _operations(item: ScoredItem) -> Sequence[BinPlace] | None:
    """The kinds of step in the plan, each once."""
    steps = item.item.question.plan
    return labels(step.get("op") for step in steps if isinstance(step, Mapping))


_SIZES = Bins((0, 1, 2, 3, 6, 11, 21))

_TOKENS = Bins((0, *(1000 * k for k in (1, 2, 5, 10, 20, 50, 100, 200))))

GROUPINGS: Mapping[str, Grouping] = {
    grouping.name: grouping
    for grouping in (
        Grouping("branches", "gold branches", binned(Bins((0, 1, 2, 3, 6, 10)), _branches)),
        Grouping("steps", "steps of the plan", binned(Bins((0, 1, 2, 3, 4, 5, 7)), _steps)),
        Grouping("operations", "operations in the plan (each of them)", _operations),
        Grouping("domain", "domain", lambda item: labels([item.item.question.meta.get("domain")])),
        Grouping("answers", "gold answers, all branches together", binned(_SIZES, _answers)),
        Grouping("calls", "tool calls made", binned(Bins((0, 1, 2, 3, 5, 9, 17)), _calls), True),
        Grouping("tokens", "tokens spent, input and output", binned(_TOKENS, _tokens), True),
    )
}
"""What answers that are entities can be broken down by, by name."""
