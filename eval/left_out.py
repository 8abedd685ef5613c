"""Optional fields that a run's requests lacked because a server refuses them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from branchwise.agents.refusals import INSTEAD
from branchwise.eval.judging.settle import Settled


@dataclass(frozen=True)
class OmittedField:
    """A field that requests of a role lacked. `items`: how many ended with such a request; None for
    matcher and judge, whose requests belong to no item."""

    role: str
    field: str
    items: int | None = None

    @property
    def words(self) -> str:
        """One line: whose requests, how many, and what that means."""
        items = "" if self.items is None else f" in {self.items:,} item{'s' * (self.items != 1)}"
        instead = INSTEAD.get(self.field)
        meaning = f" ({instead})" if instead else ""
        return f"{self.role}: asked without {self.field}{items}{meaning}: the server refuses it"

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return dict(vars(self))


def run_left_out(
    outcomes: Iterable[Mapping[str, Any]], settled: Settled
) -> tuple[OmittedField, ...]:
    """What requests of a run lacked, by role and field: of its ended items by their final records
    (`eval/runner.py`), then of matcher and judge."""
    counts = Counter(
        (str(role), str(field))
        for outcome in outcomes
        for role, usage in (outcome.get("usage") or {}).items()
        for field in usage.get("left_out", ())
    )
    of_items = [OmittedField(role, field, items) for (role, field), items in counts.items()]
    reports = {"matcher": settled.matcher, "judge": settled.judge or settled.grades}
    asked = {role: report.consulted.left_out for role, report in reports.items() if report}
    return (*of_items, *(OmittedField(role, field) for role in asked for field in asked[role]))
