"""`--max-cost`: no request is sent that could make it cost more."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from math import isfinite
from typing import Any

from branchwise.agents.outages import Outages
from branchwise.agents.reply import ModelError
from branchwise.agents.restraints import AllowanceSpentError, Limits, Payment, Restraints
from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import FLAGS, InputError, SettingNames
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.graphs.ledger import AGENT, CHECKER, EXPANDER, EXTRACTOR, RoleUsage
from branchwise.graphs.own_settings import RoleDecoding
from branchwise.graphs.system import System
from branchwise.runs.costs.prices import Price, Prices, cost_at
from branchwise.runs.costs.usage import role_model
from branchwise.runs.store import RunReader
from branchwise.trace.parts import Usage

OPTION = "--max-cost"
_PERHAPS_PAID = frozenset({"timeout", "cut", "invalid_response"})
"""Failures of requests that the server may have answered, and counts, all the same."""


class Spending:
    """An allowance (`agents.restraints.Allowance`) in USD, for one event loop at a time. What is
    spent, what requests on their way can cost and what the next can cost come to at most `most`, by
    the bytes of its text as input tokens and max_tokens of output. It waits for those on their way,
    or ends the pass. A request that failed on its way back counts in full."""

    def __init__(self, most: float, prices: Prices) -> None:
        # `spent > nan` is never true: such a limit would hold nothing back.
        if not isfinite(most) or most < 0:
            raise InputError(f"{most} is not an amount in USD", where=OPTION)
        self.most, self.prices = most, prices
        self.spent = self.reserved = 0.0
        self.has_refused = False
        self._on_their_way = 0
        self._uncounted: ModelSpec | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def request(self, spec: ModelSpec, most: Usage) -> AsyncIterator[Payment]:
        price = self.prices.price(str(spec))
        assert price is not None, "as `check_bounded` has made sure"
        bound = (most.input * price.dearest_input + most.output * price.output) / 1e6
        if not bound:
            yield Payment()
            return
        await self._set_aside(bound)
        payment, cost = Payment(), bound
        try:
            yield payment
            cost = self._cost(spec, price, payment, bound)
        except ModelError as error:
            cost = bound if error.kind in _PERHAPS_PAID else 0.0
            raise
        finally:
            self._on_their_way -= 1
            # Adding and subtracting floats leaves rounding errors.
            self.reserved = self.reserved - bound if self._on_their_way else 0.0
            self.spent += cost
            self._changed.set()

    async def _set_aside(self, bound: float) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # In another event loop no request of an ended one is on its way.
            self._loop, self._changed = loop, asyncio.Event()
            self._on_their_way, self.reserved = 0, 0.0
        # After one refusal the pass ends: a smaller call that still fits would be cut off.
        while self.has_refused or self.spent + self.reserved + bound > self.most or self._uncounted:
            if self._uncounted:
                reason = f"{self._uncounted} counts no tokens, so its cost is unknown"
                raise AllowanceSpentError(f"{reason}: {OPTION} cannot be enforced")
            if not self._on_their_way or self.has_refused:
                self.has_refused = True
                spent = f"${self.spent:.4f} of {OPTION} {self.most:g} are spent"
                raise AllowanceSpentError(f"the next call can cost up to ${bound:.4f}, and {spent}")
            self._changed.clear()
            await self._changed.wait()
        self._on_their_way += 1
        self.reserved += bound

    def _cost(self, spec: ModelSpec, price: Price | None, payment: Payment, bound: float) -> float:
        if payment.usage is None:
            return bound
        cost = cost_at(price, RoleUsage().plus(payment.usage, 0.0))
        if cost is None:
            self._uncounted = spec
        return bound if cost is None else cost


def restraints_of(
    max_cost: float | None, prices: Prices | None, outages: Outages, limits: Limits | None = None
) -> Restraints:
    """What holds requests back; that costs have a bound must have been checked."""
    allowance = None if max_cost is None else Spending(max_cost, prices or Prices.load())
    return Restraints(limits, allowance, outages)


def recorded_cost(system: System, run: RunReader, prices: Prices, name: str = "") -> float:
    """USD of all replies recorded in a run; refuses a run whose server counted no tokens."""
    settings, total = system.model_dump(), 0.0
    by_role: dict[str, Price | None] = {}
    for role, usage in run.model_usage():
        if role not in by_role:
            by_role[role] = prices.price(role_model(settings, role))
        cost = cost_at(by_role[role], RoleUsage().plus(Usage(**usage), 0.0))
        if cost is None:
            whose = f"system {name!r}" if name else "the run"
            problem = f"{whose} has replies without a count of tokens: their cost is unknown"
            raise InputError(problem, where=OPTION, remedy=f"leave out {OPTION}")
        total += cost
    return total


def check_bounded(
    system: System, prices: Prices, name: str = "", words: SettingNames = FLAGS
) -> None:
    """Raise InputError if the cost of a call has no upper bound that is known in advance."""
    remedy = f"set {words.name('max_tokens')}"
    for role, model in models_of(system):
        limit = system.decoding_of(role).max_tokens
        _check_call(model, limit, prices, f" (system {name!r})" if name else "", remedy)


def check_bounded_scoring(
    choice: ScoringChoice,
    system: Mapping[str, Any] | None,
    roles: RoleDecoding,
    prices: Prices,
    words: SettingNames = FLAGS,
    beside: str | None = None,
) -> None:
    """The same of the calls of matcher and judge, and of a model that judges `beside` it."""
    chosen = choice.resolved(system)
    for role, model in (("matcher", chosen.model), ("judge", chosen.judge), ("judge", beside)):
        if model is not None:
            limit = roles.get(role, {}).get("max_tokens")
            remedy = f"set {words.name('role_decoding')} {role}.max_tokens"
            _check_call(model, limit, prices, f" (the {role})", remedy)


def check_affordable(system: System, scoring: ScoringChoice | None, prices: Prices) -> None:
    """Raise InputError where what a call of a system, or of who scores it, costs has no bound."""
    check_bounded(system, prices)
    if scoring is not None:
        check_bounded_scoring(scoring, system.model_dump(), system.role_decoding, prices)


def check_begun(begun: Mapping[str, Any], prices: Prices) -> None:
    """The same of a run that was begun, by its settings; matcher and judge included."""
    system = System.model_validate(begun["system"])
    check_bounded(system, prices)
    choice = ScoringChoice(**begun.get("scoring", {}))
    check_bounded_scoring(choice, begun["system"], system.role_decoding, prices)


def _check_call(model: str, limit: object, prices: Prices, whose: str, remedy: str) -> None:
    price = prices.price(model)
    if price is None:
        form = f'models: {{"{model}": {{input: 0.25, output: 2}}}}'
        remedy = f"name it in --prices FILE (USD per million tokens), {form}, or leave out {OPTION}"
        raise InputError(f"no price is known for {model}{whose}", where=OPTION, remedy=remedy)
    if price.output and limit is None:
        problem = f"a call of {model} has no limit of output tokens{whose}"
        raise InputError(problem, where=OPTION, remedy=f"{remedy}, or leave out {OPTION}")


def models_of(system: System) -> Iterator[tuple[str, str]]:
    settings = system.model_dump()
    roles = {AGENT: True, EXPANDER: system.expand, EXTRACTOR: system.extract, CHECKER: system.check}
    yield from ((role, role_model(settings, role)) for role, asked in roles.items() if asked)
