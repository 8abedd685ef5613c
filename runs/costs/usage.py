"""What a run's model calls come to by role: calls, tokens, seconds, money, and remarks."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from branchwise.agents.refusals import INSTEAD
from branchwise.agents.reply import BY_RESPONSES
from branchwise.base.text import counted
from branchwise.eval.judging.consultant import Consulted
from branchwise.eval.judging.settle import CHECK, Settled
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.graphs.ledger import RoleUsage
from branchwise.runs.costs.prices import Price, Prices, cost_at

COUNTS = ("calls", "input", "cached", "output", "reasoning", "seconds")
KEPT_COUNTS = (*COUNTS, "written")
"""All fields of `RoleUsage`: what an item's outcome keeps of a role."""
SPENT = ("error", "usage")
"""What of an item's outcome says what it cost."""


@dataclass(frozen=True)
class RoleCost:
    """A role's model calls. `cost` in USD, None where the model has no known price, or its server
    counted no tokens in `uncounted` items (of matcher and judge: runs)."""

    role: str
    model: str
    usage: RoleUsage
    cost: float | None
    uncounted: int = 0

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "usage": self.usage.record()}


@dataclass(frozen=True)
class Costs:
    """What a run cost, failed items included. `usage` and `cost` (USD, None where any part is
    unknown) are sums over `roles`; `per_item` means. `unpriced`: models called without a known
    price; `unused`: models of the user's prices that were not called, `models` those that were."""

    items: int
    failed: int
    roles: tuple[RoleCost, ...]
    usage: RoleUsage
    cost: float | None
    per_item: Mapping[str, float | None]
    unpriced: tuple[str, ...]
    as_of: str | None = None
    source: str | None = None
    unused: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "roles": [role.to_json() for role in self.roles],
            "usage": self.usage.record(),
            "per_item": dict(self.per_item),
            "unpriced": list(self.unpriced),
            "unused": list(self.unused),
            "models": list(self.models),
        }


NO_COSTS = Costs(0, 0, (), RoleUsage(), 0.0, dict.fromkeys((*COUNTS, "cost")), unpriced=())


class RoleSpending(NamedTuple):
    model: str
    usage: RoleUsage


def spent_by(choice: ScoringChoice, settled: Settled) -> dict[str, RoleSpending]:
    """What matcher and judge cost, with replies kept from earlier, which were paid for once."""
    reports = (
        ("matcher", choice.model, settled.matcher),
        ("judge", choice.judge, settled.judge or settled.grades),
        ("judge", choice.judge, settled.lexical_judge),
        (CHECK, settled.check.spec if settled.check else None, settled.check),
    )
    spent: dict[str, RoleSpending] = {}
    for role, spec, report in reports:
        if spec and report:
            usage = _plus(report.consulted.fresh, report.consulted.cached)
            known = spent[role].usage if role in spent else RoleUsage()
            spent[role] = RoleSpending(spec, _plus(known, usage))
    return spent


def run_costs(
    outcomes: Iterable[Mapping[str, Any]],
    system: Mapping[str, Any],
    prices: Prices,
    scoring: Mapping[str, RoleSpending] | None = None,
) -> Costs:
    """What a run cost by its items' records and settings, and the scoring's calls by role."""
    tallies: dict[str, _Tally] = {}
    items = failed = 0
    for outcome in outcomes:
        items += 1
        failed += outcome.get("error") is not None
        for role, usage in outcome["usage"].items():
            if role not in tallies:
                model = role_model(system, role)
                tallies[role] = _Tally(model, prices.price(model))
            tallies[role].add(RoleUsage(**{name: usage.get(name, 0) for name in KEPT_COUNTS}))
    of_items = [tally.role_cost(role) for role, tally in tallies.items()]
    return _totals(items, failed, [*of_items, *_scored(scoring or {}, prices)], prices)


def file_costs(
    items: int, failed: int, scoring: Mapping[str, RoleSpending], prices: Prices
) -> Costs:
    """What scoring a predictions file cost; what its items cost is not known."""
    return _totals(items, failed, _scored(scoring, prices), prices)


def role_model(system: Mapping[str, Any], role: str) -> str:
    """The model of a role by a run's settings: its own, or the agent's."""
    return str((system.get("roles") or {}).get(role) or system.get("model", ""))


@dataclass
class _Tally:
    model: str
    price: Price | None
    usage: RoleUsage = field(default_factory=RoleUsage)
    parts: list[float | None] = field(default_factory=list)
    uncounted: int = 0

    def add(self, usage: RoleUsage) -> None:
        self.parts.append(cost_at(self.price, usage))
        self.uncounted += bool(usage.calls and not usage.input + usage.output)
        self.usage = _plus(self.usage, usage)

    def role_cost(self, role: str) -> RoleCost:
        return RoleCost(role, self.model, self.usage, _sum(self.parts), self.uncounted)


def _scored(scoring: Mapping[str, RoleSpending], prices: Prices) -> list[RoleCost]:
    tallies = {role: _Tally(model, prices.price(model)) for role, (model, _) in scoring.items()}
    for role, tally in tallies.items():
        tally.add(scoring[role].usage)
    return [tally.role_cost(role) for role, tally in tallies.items()]


def _totals(items: int, failed: int, roles: Sequence[RoleCost], prices: Prices) -> Costs:
    per_item: dict[str, float | None] = dict.fromkeys((*COUNTS, "cost"))
    if items:
        for name in COUNTS:
            per_item[name] = sum(getattr(role.usage, name) / items for role in roles)
        per_item["cost"] = _sum(None if role.cost is None else role.cost / items for role in roles)
    usage = RoleUsage()
    for role in roles:
        usage = _plus(usage, role.usage)
    called = {role.model: None for role in roles if role.usage.calls}
    shipped = any(prices.is_built_in(model) for model in called)
    return Costs(
        items=items,
        failed=failed,
        roles=tuple(roles),
        usage=usage,
        cost=_sum(role.cost for role in roles),
        per_item=per_item,
        unpriced=tuple(model for model in called if prices.price(model) is None),
        as_of=prices.as_of.isoformat() if prices.as_of and shipped else None,
        source=prices.source if shipped else None,
        unused=prices.unused(called),
        models=tuple(called),
    )


def _plus(a: RoleUsage, b: RoleUsage) -> RoleUsage:
    return RoleUsage(**{name: getattr(a, name) + getattr(b, name) for name in KEPT_COUNTS})


def _sum(costs: Iterable[float | None]) -> float | None:
    known = list(costs)
    return None if None in known else math.fsum(cost for cost in known if cost is not None)


@dataclass(frozen=True)
class OmittedField:
    """A field that requests of a role lacked, in `items` of the run (None: matcher and judge)."""

    role: str
    field: str
    items: int | None = None

    @property
    def words(self) -> str:
        items = "" if self.items is None else f" in {counted(self.items, 'item')}"
        instead = INSTEAD.get(self.field)
        meaning = f" ({instead})" if instead else ""
        return f"{self.role}: asked without {self.field}{items}{meaning}: the server refuses it"

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class RemarkedReplies:
    """Replies of a role with a remark, in `items` of the run (None: matcher and judge)."""

    role: str
    remark: str
    replies: int
    items: int | None = None

    @property
    def words(self) -> str:
        items = "" if self.items is None else f" in {counted(self.items, 'item')}"
        return f"{self.role}: {counted(self.replies, 'reply', 'replies')}{items} {self.remark}"

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


_FAILED_AS = {
    "rate_limit": "refused for the rate (429)",
    "server": "failed in the server (5xx)",
    "timeout": "without an answer in time",
    "connection": "without a connection",
    "cut": "broken off on the way",
    "interrupted": "broken off on the way",
    "invalid_response": "answered unreadably",
    "bad_request": "refused as they were",
}


def resent_words(resent: Mapping[str, Counter[str]], replies: Mapping[str, int]) -> list[str]:
    """A line a role of how many requests were sent again, why, and for how many replies."""
    lines = []
    for role, kinds in resent.items():
        why = Counter[str]()
        for kind, count in kinds.items():
            why[_FAILED_AS.get(kind, kind.replace("_", " "))] += count
        reasons = ", ".join(f"{count:,} {words}" for words, count in why.most_common())
        sent = f"{counted(kinds.total(), 'request')} sent again"
        got = counted(replies.get(role, 0), "reply", "replies")
        lines.append(f"{role}: {sent} for {got}: {reasons}")
    return lines


def run_remarks(
    outcomes: Iterable[Mapping[str, Any]], settled: Settled
) -> tuple[RemarkedReplies, ...]:
    """What is told of replies by role; that they came by the Responses API, where not all did."""
    replies, items = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    calls = Counter[str]()
    for role, usage in _usages(outcomes):
        calls[role] += usage["calls"]
        for remark, count in usage.get("remarks", {}).items():
            replies[role, remark] += count
            items[role, remark] += 1
    remarks = [
        RemarkedReplies(role, remark, count, items[role, remark])
        for (role, remark), count in replies.items()
        if remark != BY_RESPONSES or count < calls[role]
    ]
    for role, consulted in _consulted(settled):
        every = consulted.fresh.calls + consulted.cached.calls
        remarks += [
            RemarkedReplies(role, remark, count)
            for remark, count in consulted.remarks.items()
            if remark != BY_RESPONSES or count < every
        ]
    return tuple(remarks)


def run_left_out(
    outcomes: Iterable[Mapping[str, Any]], settled: Settled
) -> tuple[OmittedField, ...]:
    """What requests lacked, by role and field: of ended items, then of matcher and judge."""
    counts = Counter(
        (str(role), str(field))
        for role, usage in _usages(outcomes)
        for field in usage.get("left_out", ())
    )
    of_items = [OmittedField(role, field, items) for (role, field), items in counts.items()]
    for role, consulted in _consulted(settled):
        of_items += [OmittedField(role, field) for field in consulted.left_out]
    return tuple(of_items)


def _usages(outcomes: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for outcome in outcomes:
        yield from (outcome.get("usage") or {}).items()


def _consulted(settled: Settled) -> list[tuple[str, Consulted]]:
    reports = {"matcher": settled.matcher, "judge": settled.judge or settled.grades}
    return [(role, report.consulted) for role, report in reports.items() if report]
