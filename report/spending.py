"""What a system spends on an item, in the unit that all systems of a report have."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from branchwise.base import numbers
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.runs.costs.usage import Costs


@dataclass(frozen=True)
class SpendingUnit:
    """A unit of spending: what it is called, the title of its axis, the unit of its numbers.

    `of`: the mean for an item; None is unknown.
    """

    words: str
    axis: str
    unit: numbers.Unit
    of: Callable[[Costs], float | None]


def _tokens(costs: Costs) -> float | None:
    """None where a server did not count them: no answered model call has none."""
    read, written = costs.per_item["input"], costs.per_item["output"]
    return None if read is None or written is None else read + written or None


COST = SpendingUnit("cost", "USD an item", "usd", lambda costs: costs.per_item["cost"])
TOKENS = SpendingUnit("tokens", "tokens an item", "tokens", _tokens)
CALLS = SpendingUnit(
    "model calls", "model calls an item", "count", lambda costs: costs.per_item["calls"]
)


def spending(report: StudyReport) -> SpendingUnit | None:
    """Money where every system's cost is known and something is paid; else tokens, else model
    calls; None where none of them is known of every system."""
    for unit in (COST, TOKENS, CALLS):
        values = [unit.of(system.run.costs) for system in report.systems]
        if None not in values and any(values):
            return unit
    return None


def ratio(report: StudyReport, system: SystemReport) -> float | None:
    """What a system spends as a multiple of its base's; None where that spends nothing."""
    unit = spending(report)
    base = unit.of(report.base_of(system).run.costs) if unit else None
    other = unit.of(system.run.costs) if unit else None
    return None if other is None or not base else other / base


def ratio_words(report: StudyReport, system: SystemReport) -> str | None:
    """ "cost ×2.1"; None as for `ratio`."""
    unit, found = spending(report), ratio(report, system)
    return f"{unit.words} {numbers.times(found)}" if unit and found is not None else None


def unpriced_notes(report: StudyReport) -> Iterator[str]:
    """A line for each model that was called and has no known price."""
    named = (model for system in report.systems for model in system.run.costs.unpriced)
    for model in dict.fromkeys(named):
        yield f"No price is known for {model}: what it costs is unknown, not nothing."
