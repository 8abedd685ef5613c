"""The running totals of a study's system: scores by names, tokens, money, failures."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem, Evidence, by_best_gold_set
from branchwise.eval.tasks import Column, Metrics, Task, get_task
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.usage import run_costs
from branchwise.runs.store import RunReader
from branchwise.runs.studies.systems import NamedSystem


@dataclass
class Tally:
    """One system's items so far; `before` ended before this process; `cost` in USD, if known."""

    name: str
    task: Task
    total: int
    settings: Mapping[str, Any]
    prices: Prices
    ended_items: int = 0
    before: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    _sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @classmethod
    def of(
        cls, system: NamedSystem, run: RunReader, prices: Prices, *, retry_failed: bool = False
    ) -> "Tally":
        total, settings = run.progress()["total"], system.system.model_dump()
        tally = cls(system.name, get_task(run.task), total, settings, prices)
        again = frozenset(run.cut_items() if retry_failed else ())
        for row in run.items():
            is_again = retry_failed and (row.status == "failed" or row.item in again)
            if row.outcome is not None and not is_again:
                tally.ended(row.question, row.outcome)
        tally.before = tally.ended_items
        return tally

    @property
    def columns(self) -> Sequence[Column]:
        return self.task.shown

    @property
    def means(self) -> list[float | None]:
        """Their scores over the items that ended; a failed one counts 0."""
        return [self._score(column) for column in self.columns]

    def _score(self, column: Column) -> float | None:
        if column.total:
            sums = [self._sums[name] for name in column.total.sums]
            return column.total.of(*sums) if self._counts[column.total.sums[0]] else None
        count = self._counts[column.key]
        return self._sums[column.key] / count if count else None

    @property
    def here(self) -> int:
        return self.ended_items - self.before

    def ended(self, question: Question, record: Mapping[str, Any]) -> None:
        """Count an item that ended."""
        self.ended_items += 1
        self.failed += record["error"] is not None
        for key, value in self._metrics(question, record).items():
            if value is not None:
                self._sums[key] += value
                self._counts[key] += 1
        costs = run_costs([record], self.settings, self.prices)
        self.tokens += costs.usage.input + costs.usage.output
        known = self.cost is not None and costs.cost is not None
        self.cost = (self.cost or 0.0) + (costs.cost or 0.0) if known else None

    def _metrics(self, question: Question, record: Mapping[str, Any]) -> Metrics:
        failed = record["error"] is not None
        prediction = Prediction() if failed else Prediction.model_validate(record["prediction"])
        item = AnsweredItem(question, prediction, evidence=Evidence(tuple(record["evidence"])))
        return self.task.score(by_best_gold_set(self.task, item))
