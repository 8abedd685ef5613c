"""What happened in a run, item by item: where answers were lost, and what could have been found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from branchwise.eval.branch_matches import GoldPair
from branchwise.eval.ceilings.breakdowns import (
    Breakdown,
    Places,
    breakdown,
    grouping_of,
    groupings_of,
    places_of,
)
from branchwise.eval.ceilings.ceilings import CeilingScores, ceilings, found_in_any_epoch
from branchwise.eval.ceilings.curves import Curve, Effort, recall_curve
from branchwise.eval.ceilings.epochs import EpochSpread, epoch_spread
from branchwise.eval.ceilings.reach import Reach
from branchwise.eval.ceilings.traced import TracedItem
from branchwise.eval.errors.attribution import with_reach
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.errors.labels import Label
from branchwise.eval.errors.module_work import ModuleWork, total_work
from branchwise.eval.errors.totals import ErrorTotals, totals
from branchwise.eval.items import AnsweredItem
from branchwise.eval.question_scores import SUBSETS, ItemScore
from branchwise.eval.scores import Scores
from branchwise.eval.tasks import Task, get_task
from branchwise.runs.scoring.examination import examine_items


class TracedRun(NamedTuple):
    """The items of a run, and what went wrong in each."""

    items: tuple[TracedItem, ...]
    errors: tuple[ItemErrors, ...]


@dataclass(frozen=True)
class Analysis:
    """Errors of every item of a run, and from them, when asked for: ceilings, curves, breakdowns.

    `task`: what the items were scored as. `read`: reads the items, when something asks for them:
    what was saved of them may be enough (`eval.saved_scores`). `reach`: what the tools could have
    given, None where it was not looked up. `modules`: what tools, query expansion, extraction and
    plug-ins' nodes did. `rows`: the items' metrics. `read_errors` and `read_answered`: read what
    went wrong in each item, and what was answered, without its trace; where that is not to be had,
    they give none.
    """

    read: Callable[[], "TracedRun"]
    task: Task
    rows: tuple[ItemScore, ...]
    reach: Reach | None = None
    modules: ModuleWork = field(default_factory=ModuleWork)
    read_errors: Callable[[], tuple[ItemErrors, ...]] = tuple
    read_answered: Callable[[], Sequence[AnsweredItem]] = tuple

    @cached_property
    def _traced(self) -> "TracedRun":
        return self.read()

    @property
    def items(self) -> tuple[TracedItem, ...]:
        """The items, as they were scored."""
        return self._traced.items

    @cached_property
    def answered(self) -> Sequence[AnsweredItem]:
        """The items as they were scored, without what their traces say."""
        return self.read_answered() or [traced.item for traced in self.items]

    @cached_property
    def item_errors(self) -> tuple[ItemErrors, ...]:
        """What went wrong in each of them."""
        return self.read_errors() or self._traced.errors

    @cached_property
    def errors(self) -> ErrorTotals:
        """How often each label and place of loss came up."""
        return totals(self.item_errors)

    @property
    def absent(self) -> float | None:
        """The share of a question's gold answers that is nowhere in the corpus, a mean over the
        questions of which that is known; None where there are none of them, or it is unknown."""
        reach = self.ceilings.aggregates["all"]["ceiling_reach"].mean
        lost = self.errors.subsets["all"].labels[Label.NOT_IN_CORPUS].missing
        return 1 - reach if lost and reach is not None else None

    @cached_property
    def right(self) -> Mapping[str, int]:
        """By subset, how many gold answers the items have, branch by branch.

        With the subset's `missing` ones these are all its gold answers, over all items.
        """
        rows = [(one.item.question.ambiguous, len(one.right)) for one in self.items]
        every, ambiguous, unambiguous = SUBSETS
        told = {ambiguous: [True], unambiguous: [False], every: [True, False]}
        return {name: sum(n for kind, n in rows if kind in told[name]) for name in SUBSETS}

    @cached_property
    def ceilings(self) -> CeilingScores:
        """What a perfect reader would have found at each place on the way."""
        return ceilings(self.items, self.reach, recall=self.task.main.key)

    def curve(self, by: Effort) -> Curve:
        """Recall of a perfect reader against tool calls or tokens."""
        if by not in self._curves:
            self._curves[by] = recall_curve(self.items, by)
        return self._curves[by]

    def breakdown(self, by: str) -> Breakdown:
        """Scores and ceilings by a property of the question."""
        if by not in self._breakdowns:
            grouping, columns = grouping_of(self.task, by), self.task.headline
            found = breakdown(grouping, self.rows, self.places(by), columns, self.ceilings)
            self._breakdowns[by] = found
        return self._breakdowns[by]

    def places(self, by: str) -> Places:
        """The items' bins by a property of the question."""
        if by not in self._places:
            self._places[by] = places_of(grouping_of(self.task, by), self.items)
        return self._places[by]

    @cached_property
    def _places(self) -> dict[str, Places]:
        return {}

    # Page, tables and figures of one report ask for the same ones, which take seconds each.
    @cached_property
    def _curves(self) -> dict[Effort, Curve]:
        return {}

    @cached_property
    def _breakdowns(self) -> dict[str, Breakdown]:
        return {}

    @cached_property
    def epochs(self) -> EpochSpread | None:
        """Spread over epochs; None where there is one."""
        return epoch_spread(self.items, self.task.headline)

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable: all of it, each item's errors included."""
        return {
            "errors": self.errors.to_json(),
            "absent": self.absent,
            "ceilings": self.ceilings.to_json(),
            "curves": {by: self.curve(by).to_json() for by in ("calls", "tokens")},
            "breakdowns": {by: self.breakdown(by).to_json() for by in groupings_of(self.task)},
            "epochs": self.epochs.to_json() if self.epochs else None,
            "items": [found.to_json() for found in self.item_errors],
        }


def _absent(
    item: TracedItem, reach: Reach, brought: AbstractSet[GoldPair]
) -> AbstractSet[GoldPair]:
    """The missing pairs of an item that nothing has which is searched, and that came from nowhere:
    not in another epoch either."""
    known = {pair: reach.of(item.item.gold_key, pair) for pair in item.matches.missing}
    return {pair for pair, within in known.items() if within is False and pair not in brought}


def analyse(
    path: Path, items: Iterable[AnsweredItem], scores: Scores, reach: Reach | None = None
) -> Analysis:
    """Read the trace of every item of the run at `path`, as it was scored; in any order.

    Time and memory are linear in the traces; the passages of a few items are held at a time.
    """
    metrics: Mapping[tuple[str, int], Any] = {
        (row.id, row.epoch): row.metrics for row in scores.items
    }
    listed = list(items)
    found = examine_items(path, listed)
    traced = tuple(
        TracedItem(
            item,
            one.matches,
            one.evidence,
            metrics=metrics[item.question.id, item.epoch],
        )
        for item, one in zip(listed, found, strict=True)
    )
    modules = total_work(one.modules for one in found)
    task = get_task(scores.scorer.task)
    errors = tuple(one.errors for one in found)
    if reach and reach.of_corpus:
        brought = found_in_any_epoch(traced)
        errors = tuple(
            with_reach(
                one,
                _absent(item, reach, brought[item.item.gold_key]),
                reach.passages.get(item.item.gold_key, {}),
            )
            for one, item in zip(found, traced, strict=True)
        )
    run = TracedRun(traced, errors)
    return Analysis(lambda: run, task, scores.items, reach, modules)
