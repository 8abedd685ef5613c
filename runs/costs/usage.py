"""What a run cost: calls, tokens, seconds and money of each role."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from branchwise.eval.judging.settle import CHECK, Settled
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.graphs.ledger import RoleUsage
from branchwise.runs.costs.price_table import Price
from branchwise.runs.costs.prices import Prices, cost_at

COUNTS = ("calls", "input", "cached", "output", "reasoning", "seconds")
"""Fields of `RoleUsage`, as reports order them."""
KEPT_COUNTS = (*COUNTS, "written")
"""All fields of `RoleUsage`: what an item's outcome keeps of a role."""
SPENT = ("error", "usage")
"""What of an item's outcome says what it cost."""


@dataclass(frozen=True)
class RoleCost:
    """A role's model calls. `cost` in USD, None where it is unknown: the model has no known price,
    or its server counted no tokens in `uncounted` of the items (or, of matcher and judge, runs).
    """

    role: str
    model: str
    usage: RoleUsage
    cost: float | None
    uncounted: int = 0

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return {**vars(self), "usage": self.usage.record()}


@dataclass(frozen=True)
class Costs:
    """What a run cost, failed items included.

    `items` have ended, `failed` of them without an answer. `usage` and `cost` (USD) are sums over
    `roles`; `cost` is None where any part is unknown.
    `per_item`: means over the items whose usage was kept (matcher and judge: over all that ended),
    `cost` among them; all None where there are none. `unpriced`: models that were called and have
    no known price. `as_of`, `source`: the day the built-in prices held, and where they are
    published; None where none of them was used. `unused`: models of the user's prices that no
    model here is, and `models` those that there are.
    """

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
        """JSON-serialisable; unknown is null."""
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
"""Of what asked no model."""


@dataclass(frozen=True)
class RoleSpending:
    """Model calls that belong to no item: a matcher's or a judge's of a run."""

    model: str
    usage: RoleUsage


def spent_by(choice: ScoringChoice, settled: Settled) -> dict[str, RoleSpending]:
    """What matcher and judge cost, including replies kept from earlier, which were paid for
    once."""
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
            known = spent.get(role)
            spent[role] = RoleSpending(spec, _plus(known.usage, usage) if known else usage)
    return spent


def run_costs(
    outcomes: Iterable[Mapping[str, Any]],
    system: Mapping[str, Any],
    prices: Prices,
    scoring: Mapping[str, RoleSpending] | None = None,
) -> Costs:
    """What a run cost.

    `outcomes`: the final records of its ended items (`runs/runner.py`); `system`: its settings
    as the store keeps them, which name the roles' models; `scoring`: the calls of matcher and
    judge by role.
    """
    tallies: dict[str, _Tally] = {}
    items = failed = 0
    for outcome in outcomes:
        items += 1
        failed += outcome.get("error") is not None
        for role, usage in outcome["usage"].items():
            if role not in tallies:
                tallies[role] = _Tally.of(role_model(system, role), prices)
            tallies[role].add(_usage(usage))
    of_items = [tally.role_cost(role) for role, tally in tallies.items()]
    of_run = [_scored(role, spent, prices) for role, spent in (scoring or {}).items()]
    roles = [*of_items, *of_run]
    return _totals(items, failed, roles, _means(roles, items), prices)


def file_costs(
    items: int, failed: int, scoring: Mapping[str, RoleSpending], prices: Prices
) -> Costs:
    """What scoring a predictions file cost; what its `items` cost before is not known to anyone."""
    roles = [_scored(role, spent, prices) for role, spent in scoring.items()]
    return _totals(items, failed, roles, _means(roles, items), prices)


def role_model(system: Mapping[str, Any], role: str) -> str:
    """The model of a role by a run's settings: its own, or the agent's."""
    own = (system.get("roles") or {}).get(role)
    return str(own or system.get("model", ""))


@dataclass
class _Tally:
    """What a role has used so far, and the cost of each part of it."""

    model: str
    price: Price | None
    usage: RoleUsage = field(default_factory=RoleUsage)
    parts: list[float | None] = field(default_factory=list)
    uncounted: int = 0

    @classmethod
    def of(cls, model: str, prices: Prices) -> "_Tally":
        return cls(model, prices.price(model))

    def add(self, usage: RoleUsage) -> None:
        self.parts.append(cost_at(self.price, usage))
        self.uncounted += bool(usage.calls and not usage.input + usage.output)
        self.usage = _plus(self.usage, usage)

    def role_cost(self, role: str) -> RoleCost:
        return RoleCost(role, self.model, self.usage, _sum(self.parts), self.uncounted)


def _scored(role: str, spent: RoleSpending, prices: Prices) -> RoleCost:
    tally = _Tally.of(spent.model, prices)
    tally.add(spent.usage)
    return tally.role_cost(role)


def _totals(
    items: int,
    failed: int,
    roles: Sequence[RoleCost],
    per_item: Mapping[str, float | None],
    prices: Prices,
) -> Costs:
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


def _means(roles: Sequence[RoleCost], items: int) -> dict[str, float | None]:
    if not items:
        return dict.fromkeys((*COUNTS, "cost"))
    means: dict[str, float | None] = {
        name: sum(getattr(role.usage, name) / items for role in roles) for name in COUNTS
    }
    means["cost"] = _sum(None if role.cost is None else role.cost / items for role in roles)
    return means


def _usage(record: Mapping[str, Any]) -> RoleUsage:
    return RoleUsage(**{name: record.get(name, 0) for name in KEPT_COUNTS})


def _plus(a: RoleUsage, b: RoleUsage) -> RoleUsage:
    return RoleUsage(**{name: getattr(a, name) + getattr(b, name) for name in KEPT_COUNTS})


def _sum(costs: Iterable[float | None]) -> float | None:
    """The sum; None where a part is unknown."""
    known = list(costs)
    return None if None in known else math.fsum(cost for cost in known if cost is not None)
