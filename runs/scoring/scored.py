"""Scores of a run or a predictions file, and what is behind them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from branchwise.eval.breakdowns import (
    Breakdown,
    Places,
    breakdown,
    grouping_of,
    groupings_of,
    places_of,
)
from branchwise.eval.ceilings import (
    CeilingScores,
    Curve,
    Effort,
    TracedItem,
    ceilings,
    recall_curve,
)
from branchwise.eval.epochs import EpochSpread, epoch_spread
from branchwise.eval.errors.item_errors import ErrorTotals, ItemErrors, totals
from branchwise.eval.errors.labels import (
    ANSWER_ERRORS,
    ErrorClasses,
    FoundErrors,
    Label,
    found_errors,
)
from branchwise.eval.errors.module_work import Inert, ModuleWork, inert_parts
from branchwise.eval.grouping import META, ScoredItem
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.settle import Settled
from branchwise.eval.reach import Reach
from branchwise.eval.scores import SUBSETS, ItemScore, Scores
from branchwise.eval.tasks import Task
from branchwise.graphs.own_settings import PROTOCOL
from branchwise.graphs.system import DEFAULT_SYSTEM, System
from branchwise.runs.costs.usage import (
    NO_COSTS,
    Costs,
    OmittedField,
    RemarkedReplies,
    resent_words,
)
from branchwise.tools.registry import OPENING_TOOL


class TracedRun(NamedTuple):
    items: tuple[TracedItem, ...]
    errors: tuple[ItemErrors, ...]


@dataclass(frozen=True)
class Analysis:
    """Errors of every item, and what is made of them: ceilings, curves, breakdowns. `read` reads
    items with traces; `read_errors`, `read_answered` less, and give nothing where they cannot."""

    read: Callable[[], "TracedRun"]
    task: Task
    rows: tuple[ItemScore, ...]
    reach: Reach | None = None
    modules: ModuleWork = field(default_factory=ModuleWork)
    read_errors: Callable[[], tuple[ItemErrors, ...]] = tuple
    read_answered: Callable[[], Sequence[AnsweredItem]] = tuple
    # Page, tables and figures of one report ask for the same ones, which take seconds each.
    _places: dict[str, Places] = field(default_factory=dict, init=False)
    _curves: dict[Effort, Curve] = field(default_factory=dict, init=False)
    _breakdowns: dict[str, Breakdown] = field(default_factory=dict, init=False)

    @cached_property
    def _traced(self) -> "TracedRun":
        return self.read()

    @property
    def items(self) -> tuple[TracedItem, ...]:
        return self._traced.items

    @cached_property
    def answered(self) -> Sequence[AnsweredItem]:
        return self.read_answered() or [traced.item for traced in self.items]

    @cached_property
    def item_errors(self) -> tuple[ItemErrors, ...]:
        return self.read_errors() or self._traced.errors

    @cached_property
    def errors(self) -> ErrorTotals:
        return totals(self.item_errors)

    @property
    def absent(self) -> float | None:
        """The mean share of a question's gold answers that is nowhere in the corpus."""
        reach = self.ceilings.aggregates["all"]["ceiling_reach"].mean
        lost = self.errors.subsets["all"].labels[Label.NOT_IN_CORPUS].missing
        return 1 - reach if lost and reach is not None else None

    @cached_property
    def right(self) -> Mapping[str, int]:
        """By subset, how many gold answers the items have, branch by branch."""
        rows = [(item.item.question.ambiguous, len(item.right)) for item in self.items]
        every, ambiguous, unambiguous = SUBSETS
        states = {ambiguous: [True], unambiguous: [False], every: [True, False]}
        return {name: sum(n for state, n in rows if state in states[name]) for name in SUBSETS}

    @cached_property
    def ceilings(self) -> CeilingScores:
        """What a perfect reader would have found at each place on the way."""
        return ceilings(self.items, self.reach, recall=self.task.main.key)

    def curve(self, by: Effort) -> Curve:
        if by not in self._curves:
            self._curves[by] = recall_curve(self.items, by)
        return self._curves[by]

    def breakdown(self, by: str) -> Breakdown:
        if by not in self._breakdowns:
            grouping, columns = grouping_of(self.task, by), self.task.headline
            table = breakdown(grouping, self.rows, self.places(by), columns, self.ceilings)
            self._breakdowns[by] = table
        return self._breakdowns[by]

    def places(self, by: str) -> Places:
        if by not in self._places:
            self._places[by] = places_of(grouping_of(self.task, by), self.items)
        return self._places[by]

    @cached_property
    def epochs(self) -> EpochSpread | None:
        """Spread over epochs; None where there is one."""
        return epoch_spread(self.items, self.task.headline)

    def to_json(self) -> dict[str, Any]:
        return {
            "errors": self.errors.to_json(),
            "absent": self.absent,
            "ceilings": self.ceilings.to_json(),
            "curves": {by: self.curve(by).to_json() for by in ("calls", "tokens")},
            "breakdowns": {by: self.breakdown(by).to_json() for by in groupings_of(self.task)},
            "epochs": self.epochs.to_json() if self.epochs else None,
            "items": [errors.to_json() for errors in self.item_errors],
        }


@dataclass(frozen=True)
class ScoredAnswers:
    """Scores of a run or of a predictions file, and what they are based on.

    `lexical`: the scores by names alone, where both matchers were asked for. `analysis` is None
    for files, and for tasks whose answers are sentences. `modules`: what tools, query expansion,
    evidence extraction and plug-ins' nodes did, for every task. `left_out`: what requests lacked
    since a server refuses it; `remarks`: what is to be told of replies.
    `system`: what answered, as it was recorded. `evidence`: what was searched, in words, for tasks
    whose questions bring no passages; None for others, and where it is not known.
    Of a file alone: `missing`, the ids of questions that it does not answer (None for a run), and
    `untraced_errors`, what can be known without a trace (docs/errors.md).
    """

    path: Path
    scores: Scores
    costs: Costs
    settled: Settled
    lexical: Scores | None = None
    analysis: Analysis | None = None
    modules: ModuleWork = field(default_factory=ModuleWork)
    left_out: tuple[OmittedField, ...] = ()
    remarks: tuple[RemarkedReplies, ...] = ()
    system: System = DEFAULT_SYSTEM
    evidence: str | None = None
    missing: tuple[str, ...] | None = None
    untraced_errors: tuple[ItemErrors, ...] | None = None

    @cached_property
    def inert(self) -> Inert:
        """What of the system, and of what scored it, did nothing. Titles that nobody opened are no
        news where nobody asked for the tool: it is there by default."""
        unasked = {f"tool {OPENING_TOOL}"} if self.system.tools is None else ()
        parts = inert_parts(self.modules, self.settled)
        return {key: part for key, part in parts.items() if key not in unasked}

    @property
    def notes_on_calls(self) -> list[str]:
        """A line for requests that were sent again, for each field that they lacked, and for
        replies that ended oddly."""
        replies = {role.role: role.usage.calls for role in self.costs.roles}
        lines = resent_words(self.modules.resent, replies)
        lines += [field.words for field in self.left_out]
        return [*lines, *(remark.words for remark in self.remarks)]

    @property
    def protocol(self) -> str:
        protocol: str = self.system.asked(PROTOCOL)
        return protocol

    @property
    def task(self) -> Task:
        return self.scores.scorer.scored_task

    @property
    def answered(self) -> Sequence[AnsweredItem]:
        return self.analysis.answered if self.analysis else self.settled.items

    @property
    def tokens_per_right(self) -> float | None:
        """Tokens of all roles for each gold answer that is right, over all items. None where none
        is, where answers are not compared one by one, or where no tokens were counted."""
        right = self.analysis.right["all"] if self.analysis else 0
        usage = self.costs.usage
        return (usage.input + usage.output) / right or None if right else None

    @cached_property
    def items(self) -> tuple[ScoredItem, ...]:
        """Its items with their metrics; with traces where answers are entities."""
        if self.analysis:
            return self.analysis.items
        metrics = {(row.id, row.epoch): row.metrics for row in self.scores.items}
        return tuple(
            ScoredItem(item, metrics=metrics[item.question.id, item.epoch])
            for item in self.settled.items
        )

    @property
    def error_classes(self) -> ErrorClasses[Any] | None:
        """The classes of `errors`; None where the task's answers are not examined for any."""
        return ANSWER_ERRORS if self.analysis else self.task.error_classes

    @cached_property
    def errors(self) -> tuple[FoundErrors, ...]:
        classes, task = self.error_classes, self.task
        if classes is None:
            return ()
        if self.analysis:
            return tuple(
                found_errors(error.id, error.epoch, error.ambiguous, classes, error)
                for error in self.analysis.item_errors
            )
        return tuple(
            found_errors(*item.key, item.item.question.ambiguous, classes, task.examined(item.item))
            for item in self.items
        )

    def breakdown(self, by: str) -> Breakdown | None:
        """Scores by a property of the question; None where its task is not broken down by it."""
        task = self.task
        if by not in groupings_of(task) and not by.startswith(META):
            return None
        if self.analysis:
            return self.analysis.breakdown(by)
        return breakdown(grouping_of(task, by), self.scores.items, self.places(by), task.headline)

    def places(self, by: str) -> Places:
        if self.analysis:
            return self.analysis.places(by)
        return places_of(grouping_of(self.task, by), self.items)

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable; a file has `without_prediction`, a run what its modules did."""
        lexical = self.lexical.to_json() if self.lexical else None
        if self.missing is not None:
            analysis = None
            if (errors := self.untraced_errors) is not None:
                items = [error.to_json() for error in errors]
                analysis = {"errors": totals(errors).to_json(), "items": items}
            return {
                **self.scores.to_json(),
                "without_prediction": list(self.missing),
                "costs": None if self.costs == NO_COSTS else self.costs.to_json(),
                "models": self.settled.to_json(),
                "analysis": analysis,
                "lexical": lexical,
            }
        return {
            **self.scores.to_json(),
            "costs": self.costs.to_json() | {"tokens_per_right": self.tokens_per_right},
            "models": self.settled.to_json(),
            "modules": self.modules.to_json(),
            "did_nothing": [part.words for part in self.inert.values()],
            "left_out": [field.to_json() for field in self.left_out],
            "remarks": [remark.to_json() for remark in self.remarks],
            "analysis": self.analysis.to_json() if self.analysis else None,
            "lexical": lexical,
            **({} if self.evidence is None else {"evidence": self.evidence}),
        }
