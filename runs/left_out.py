"""What a run tells of its model calls: fields that requests lacked, replies that ended oddly."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from branchwise.agents.refusals import INSTEAD
from branchwise.agents.reply import BY_RESPONSES
from branchwise.base.text import counted
from branchwise.eval.judging.consultant import Consulted
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


@dataclass(frozen=True)
class RemarkedReplies:
    """Replies of a role of which something is to be told. `items`: how many have such a reply; None
    for matcher and judge."""

    role: str
    remark: str
    replies: int
    items: int | None = None

    @property
    def words(self) -> str:
        """One line: whose replies, how many, and what."""
        items = "" if self.items is None else f" in {counted(self.items, 'item')}"
        return f"{self.role}: {counted(self.replies, 'reply', 'replies')}{items} {self.remark}"

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return dict(vars(self))


def run_remarks(
    outcomes: Iterable[Mapping[str, Any]], settled: Settled
) -> tuple[RemarkedReplies, ...]:
    """What is to be told of the replies in a run, by role and remark: those of ended items, then
    of matcher and judge. That replies came by the Responses API is where others did not."""
    replies, items = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    calls = Counter[str]()
    for outcome in outcomes:
        for role, usage in (outcome.get("usage") or {}).items():
            calls[role] += usage["calls"]
            for remark, count in usage.get("remarks", {}).items():
                replies[role, remark] += count
                items[role, remark] += 1
    of_items = [
        RemarkedReplies(role, remark, count, items[role, remark])
        for (role, remark), count in replies.items()
        if remark != BY_RESPONSES or count < calls[role]
    ]
    return (
        *of_items,
        *(
            RemarkedReplies(role, remark, count)
            for role, consulted in _consulted(settled)
            for remark, count in consulted.remarks.items()
            if remark != BY_RESPONSES or count < consulted.fresh.calls + consulted.cached.calls
        ),
    )


def _consulted(settled: Settled) -> list[tuple[str, Consulted]]:
    reports = {"matcher": settled.matcher, "judge": settled.judge or settled.grades}
    return [(role, report.consulted) for role, report in reports.items() if report]


def run_left_out(
    outcomes: Iterable[Mapping[str, Any]], settled: Settled
) -> tuple[OmittedField, ...]:
    """What requests of a run lacked, by role and field: of its ended items by their final records
    (`runs/runner.py`), then of matcher and judge."""
    counts = Counter(
        (str(role), str(field))
        for outcome in outcomes
        for role, usage in (outcome.get("usage") or {}).items()
        for field in usage.get("left_out", ())
    )
    of_items = [OmittedField(role, field, items) for (role, field), items in counts.items()]
    lacked = [(role, field) for role, one in _consulted(settled) for field in one.left_out]
    return (*of_items, *(OmittedField(role, field) for role, field in lacked))
