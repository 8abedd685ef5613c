"""What a system spends on a question, in the unit that all systems of a report have."""

from dataclasses import dataclass

from branchwise.eval.costs.usage import Costs
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.ui.html.tables import count, usd


@dataclass(frozen=True)
class Spending:
    """A unit of spending: `key` (cost, tokens or calls), and what it is called."""

    key: str
    words: str
    axis: str

    def of(self, system: SystemReport) -> float | None:
        """Mean for an item of a system; None is unknown."""
        per_item = system.run.costs.per_item
        if self.key != "tokens":
            return per_item[self.key]
        return _tokens(system.run.costs)

    def cell(self, value: float | None) -> str:
        """As it stands in a table."""
        return (usd(value) if self.key == "cost" else count(value)).text


COST = Spending("cost", "cost", "US dollars a question")
TOKENS = Spending("tokens", "tokens", "tokens a question")
CALLS = Spending("calls", "model calls", "model calls a question")


def spending(report: StudyReport) -> Spending | None:
    """Money where every system's is known and some is paid; else tokens, else model calls."""
    for unit in (COST, TOKENS, CALLS):
        values = [unit.of(system) for system in report.systems]
        if None not in values and any(values):
            return unit
    return None


def ratio_words(report: StudyReport, system: SystemReport) -> str | None:
    """ "cost ×2.1"; None as for `ratio`."""
    unit, found = spending(report), ratio(report, system)
    return f"{unit.words} {found}" if unit and found else None


def ratio(report: StudyReport, system: SystemReport) -> str | None:
    """ "×2.1" of the base; None where either is unknown or the base spends nothing."""
    unit = spending(report)
    base = unit.of(report.base) if unit else None
    other = unit.of(system) if unit else None
    if not base or other is None:
        return None
    times = other / base
    return f"×{times:,.0f}" if times >= 99.95 else f"×{times:.1f}"


def _tokens(costs: Costs) -> float | None:
    read, written = costs.per_item["input"], costs.per_item["output"]
    return None if read is None or written is None else read + written
