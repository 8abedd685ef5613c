"""What a study or run may cost, before it is asked: calls, tokens and money of each system.

At most: an upper bound from the budgets, far above what most questions take. Expected: from a
pilot or an earlier run (`runs/estimates.py`)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from branchwise.corpora.questions import Question, QuestionSet
from branchwise.corpora.retrieval import MAX_K
from branchwise.eval.judging.grading import NUMBER_ALONE, Demand, samples_at
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.selection import CONCURRENCY
from branchwise.eval.tasks import Task, get_task, is_graded
from branchwise.eval.tasks.registry import flow_of
from branchwise.graphs.designs import designed
from branchwise.graphs.ledger import AGENT, CHECKER, EXPANDER, EXTRACTOR, RoleUsage
from branchwise.graphs.sources import tools_of
from branchwise.graphs.system import System
from branchwise.runs.costs.prices import Prices
from branchwise.runs.estimates import Estimate, Sample, together
from branchwise.runs.studies.schema import LoadedStudy
from branchwise.runs.studies.sets import StudyPart, StudySet, parts_of
from branchwise.runs.studies.systems import NamedSystem
from branchwise.tools.registry import OPENING_TOOL, SEARCH_TOOL
from branchwise.tools.result_text import MAX_MORE_QUERIES, MAX_OPENED

JUDGE = "judge"
PREDICTED = 10
"""Properties that an answer is taken to have at most, where nothing bounds them."""
GRADE_INPUT = 4_000
"""Tokens that a request is taken to have at most: a judge's prompt and the three texts."""


@dataclass(frozen=True)
class GradingPlan:
    """The most that grading one system's answers takes, in USD once and with all samples."""

    system: str
    demand: Demand
    cost: float | None
    cost_at_most: float | None

    def to_json(self) -> dict[str, Any]:
        once, most = self.demand.once, self.demand.most
        return {
            "system": self.system,
            "model": self.demand.spec,
            "calls": once.calls,
            "calls_at_most": most.calls,
            "tokens": once.input + once.output,
            "tokens_at_most": most.input + most.output,
            "cost": self.cost,
            "cost_at_most": self.cost_at_most,
        }


def grading_plans(
    choice: ScoringChoice,
    systems: Iterable[NamedSystem],
    questions: QuestionSet,
    epochs: int,
    prices: Prices,
) -> tuple[GradingPlan, ...]:
    if not (choice.judge_entities and is_graded(questions.task)):
        return ()
    task, plans = get_task(questions.task), []
    for named in systems:
        own = named.system.role_decoding.get(JUDGE, {})
        limit = own.get("max_tokens")
        spec = choice.resolved(named.system.model_dump()).judge
        assert spec is not None, "the choice has a judge"
        each = (_requests(choice, task, named.system, asked) for asked in questions.questions)
        calls = epochs * sum(each)
        reply = limit if isinstance(limit, int) else NUMBER_ALONE
        once = RoleUsage(calls, calls * GRADE_INPUT, calls * reply)
        demand = Demand(spec, JUDGE, once, samples_at(own), limit is not None)
        costs = [prices.cost(demand.spec, usage) for usage in (demand.once, demand.most)]
        plans.append(GradingPlan(named.name, demand, *costs))
    return tuple(plans)


def _requests(choice: ScoringChoice, task: Task, system: System, question: Question) -> int:
    """Each pair takes a request for the answer, and one for the condition if both have one."""
    texts, predicted = task.grading(question, system)
    pairs = choice.pairs_of(task.name)
    # Of aligned pairs each gold property is in one at most.
    if pairs == "aligned":
        return texts
    most = PREDICTED if predicted is None else predicted
    if pairs == "placed":
        return most * (2 if texts > len(question.branches) else 1)
    return texts * most


AGENT_INPUT, MODULE_INPUT, REPLY = 128_000, 4_000, 16_000
"""Tokens that one request is taken to have at most: a conversation, a module's prompt with its
passage, a reply where the study sets no `max_tokens`."""


@dataclass(frozen=True)
class Bound:
    """Tokens of all model calls, and what they cost in USD (None: a price is unknown)."""

    tokens: int
    cost: float | None


@dataclass(frozen=True)
class SystemPlan:
    """The most that a system may take: model `calls` by role, without retries; `within` what the
    budget's `max_tokens_total` allows, `at_most` with what goes beyond it, since it is looked at
    before each turn alone; `expected` None where nothing is known."""

    name: str
    model: str
    items: int
    calls: Mapping[str, int]
    tool_calls: int
    within: Bound
    at_most: Bound
    unpriced: tuple[str, ...]
    expected: Estimate | None = None
    set: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "calls": dict(self.calls),
            "within": vars(self.within),
            "at_most": vars(self.at_most),
            "unpriced": list(self.unpriced),
            "expected": self.expected.to_json() if self.expected else None,
        }


@dataclass(frozen=True)
class PlanTotal:
    name: str
    calls: Mapping[str, int]
    within: Bound
    at_most: Bound
    expected: Estimate | None = None

    @classmethod
    def of(cls, name: str, systems: Sequence[SystemPlan]) -> "PlanTotal":
        calls = Counter[str]()
        for system in systems:
            calls.update(system.calls)
        within = _sum(system.within for system in systems)
        at_most = _sum(system.at_most for system in systems)
        return cls(name, calls, within, at_most, together(system.expected for system in systems))


@dataclass(frozen=True)
class StudyPlan:
    """The plan of a study, or of a run, whose `design` is empty. `grading`: of a judge of free
    text, apart from the sums; `scored_by`: the models that score otherwise; `models`: those with a
    base of their own; `sets`: of several, their names, `epochs` being the most of any."""

    name: str
    design: str
    questions: int
    epochs: int
    models: tuple[str, ...]
    systems: tuple[SystemPlan, ...]
    within: Bound
    at_most: Bound
    max_cost: float | None
    scored_by: tuple[str, ...]
    as_of: str | None
    grading: tuple[GradingPlan, ...] = ()
    sets: tuple[str, ...] = ()

    @property
    def items(self) -> int:
        return sum(system.items for system in self.systems)

    @property
    def totals(self) -> tuple[PlanTotal, ...]:
        """What each model's and set's systems come to, then all; none of a single system."""
        groups = {
            f"all of {name}": [each for each in self.systems if name in (each.model, each.set)]
            for name in (*self.models, *self.sets)
        }
        groups = {name: systems for name, systems in groups.items() if len(systems) > 1}
        whole = {"all": self.systems} if len(self.systems) > 1 else {}
        return tuple(PlanTotal.of(*item) for item in (groups | whole).items())

    @property
    def expected(self) -> Estimate | None:
        """What all systems are expected to take; None where one of them is unknown."""
        return together(system.expected for system in self.systems)

    @property
    def unpriced(self) -> tuple[str, ...]:
        models = [model for system in self.systems for model in system.unpriced]
        models += [grading.demand.spec for grading in self.grading if grading.cost is None]
        return tuple(dict.fromkeys(models))

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "items": self.items,
            "systems": [system.to_json() for system in self.systems],
            "within": vars(self.within),
            "at_most": vars(self.at_most),
            "scored_by": list(self.scored_by),
            "unpriced": list(self.unpriced),
            "grading": [grading.to_json() for grading in self.grading],
            "expected": self.expected.to_json() if self.expected else None,
        }


@dataclass(frozen=True)
class PlanPace:
    """How what is planned is to be run, and what is known of it: `samples` by system."""

    concurrency: int = CONCURRENCY
    max_cost: float | None = None
    samples: Mapping[str, Sample] = field(default_factory=dict)


def plan_of(
    loaded: LoadedStudy,
    systems: Sequence[NamedSystem],
    sets: Sequence[StudySet],
    prices: Prices,
    pace: PlanPace | None = None,
) -> StudyPlan:
    """What a study's systems may take over these sets, by their budgets and `samples`."""
    study = loaded.study
    bases = (system.model for system in systems if system.base == system.name)
    pace = pace or PlanPace(study.concurrency, study.max_cost)
    plan = plan_parts(study.name, parts_of(sets, systems), loaded.scoring, prices, pace)
    return replace(plan, design=study.design, models=tuple(bases) if study.models else ())


def plan_parts(
    name: str,
    parts: Sequence[StudyPart],
    scoring: ScoringChoice,
    prices: Prices,
    pace: PlanPace,
) -> StudyPlan:
    """The same of runs over one set or several, `samples` by the runs' names."""
    plans: dict[str, StudyPlan] = {}
    for part in parts:
        if (asked := part.set).name not in plans:
            systems = [each.run for each in parts if each.set == asked]
            plan = plan_systems(name, systems, asked.questions, asked.epochs, scoring, prices, pace)
            of_set = tuple(replace(system, set=asked.name) for system in plan.systems)
            plans[asked.name] = replace(plan, systems=of_set)
    first, every = next(iter(plans.values())), [*plans.values()]
    if len(every) == 1:
        return first
    return replace(
        first,
        questions=sum(plan.questions for plan in every),
        epochs=max(plan.epochs for plan in every),
        systems=tuple(system for plan in every for system in plan.systems),
        within=_sum(plan.within for plan in every),
        at_most=_sum(plan.at_most for plan in every),
        scored_by=tuple(dict.fromkeys(model for plan in every for model in plan.scored_by)),
        grading=tuple(grading for plan in every for grading in plan.grading),
        sets=tuple(plans),
    )


def plan_systems(
    name: str,
    systems: Sequence[NamedSystem],
    questions: QuestionSet,
    epochs: int,
    scoring: ScoringChoice,
    prices: Prices,
    pace: PlanPace,
) -> StudyPlan:
    """The same of systems outside a study, such as a run's."""
    items = len(questions) * epochs
    task = get_task(questions.task)
    planned = tuple(
        _system_plan(
            named,
            items,
            designed(flow_of(task, named.system), named.system).conversations,
            prices,
            pace,
        )
        for named in systems
    )
    grading = grading_plans(scoring, systems, questions, epochs, prices)
    asked = (role.model for named in systems for role in _roles(named.system))
    used = any(prices.is_built_in(model) for model in asked)
    chosen = [scoring.resolved(named.system.model_dump()) for named in systems]
    scorers = [spec for choice in chosen for spec in (choice.model, choice.judge) if spec]
    return StudyPlan(
        name=name,
        design="",
        questions=len(questions),
        epochs=epochs,
        models=(),
        systems=planned,
        within=_sum(system.within for system in planned),
        at_most=_sum(system.at_most for system in planned),
        max_cost=pace.max_cost,
        scored_by=() if grading else tuple(dict.fromkeys(scorers)),
        as_of=prices.as_of.isoformat() if prices.as_of and used else None,
        grading=grading,
    )


@dataclass(frozen=True)
class _Role:
    """The most that a role takes for one item, and how much of it after the tokens are spent."""

    role: str
    model: str
    calls: int
    late: int
    input: int
    output: int


def _system_plan(
    named: NamedSystem, items: int, conversations: int, prices: Prices, pace: PlanPace
) -> SystemPlan:
    system, sample = named.system, pace.samples.get(named.name)
    tool_calls = conversations * _tool_calls(system)
    if system.fan_out:
        parts = range(1, conversations + 1)
        tool_calls = max(n * system.budget.part(n, 0).calls for n in parts) if tool_calls else 0
    roles = [
        # The readings of a fan-out are listed once.
        role
        if system.fan_out and role.role == EXPANDER
        else replace(role, calls=conversations * role.calls, late=conversations * role.late)
        for role in _roles(system)
    ]
    budget = system.budget.tokens
    everything = sum(role.calls * (role.input + role.output) for role in roles)
    late = sum(role.late * (role.input + role.output) for role in roles)
    # The budget is looked at where there are tools alone: without them nothing can be left out.
    within = min(everything, budget) if tools_of(system) else everything
    at_most = min(everything, within + late)
    missing = [role.model for role in roles if prices.price(role.model) is None]
    return SystemPlan(
        name=named.name,
        model=named.model,
        items=items,
        calls={role.role: items * role.calls for role in roles},
        tool_calls=items * tool_calls,
        within=_bound(roles, within, items, prices),
        at_most=_bound(roles, at_most, items, prices),
        unpriced=tuple(dict.fromkeys(missing)),
        expected=sample.estimate(items, prices, pace.concurrency) if sample else None,
    )


def _roles(system: System) -> list[_Role]:
    tool_calls = _tool_calls(system)
    # Who is sent back answers once more, with a repair of its own; the last turn is not checked.
    sent_back = min(system.check, max(0, system.budget.turns - 2))
    turns = 1 + min(system.budget.turns - 1, tool_calls + sent_back)
    # The turn that spends the last tokens, the answer, a repair.
    late, reply = min(3, turns + 1), _reply(system, AGENT)
    roles = [_Role(AGENT, system.model, turns + 1 + sent_back, late, AGENT_INPUT, reply)]
    if system.expand:
        model = system.roles.expander or system.model
        roles.append(_Role(EXPANDER, model, 1, 0, MODULE_INPUT, _reply(system, EXPANDER)))
    if system.extract:
        model = system.roles.extractor or system.model
        queries = 1 if system.prompt_set == "paper" else 1 + MAX_MORE_QUERIES
        brought = {SEARCH_TOOL: queries * (system.k or MAX_K), OPENING_TOOL: MAX_OPENED}
        most = max((brought.get(tool, 0) for tool in tools_of(system)), default=0)
        searched = tool_calls * most
        asked, read = searched, MODULE_INPUT
        if system.extract_by == "search":
            # Two together, of no use, and each alone; a passage is in three requests at most.
            asked, read = -(-3 * searched // 2), 2 * MODULE_INPUT
        roles.append(_Role(EXTRACTOR, model, asked, asked, read, _reply(system, EXTRACTOR)))
    if sent_back:
        model = system.roles.checker or system.model
        roles.append(_Role(CHECKER, model, sent_back, 0, 2 * MODULE_INPUT, _reply(system, CHECKER)))
    return [role for role in roles if role.calls]


def _reply(system: System, role: str) -> int:
    return system.decoding_of(role).max_tokens or REPLY


def _tool_calls(system: System) -> int:
    """The last turn is kept for the answer, so one turn alone calls no tool."""
    return system.budget.calls if tools_of(system) and system.budget.turns > 1 else 0


def _bound(roles: Iterable[_Role], tokens: int, items: int, prices: Prices) -> Bound:
    portions: list[tuple[float, int]] = []
    for role in roles:
        price = prices.price(role.model)
        if price is None:
            return Bound(tokens * items, None)
        portions.append((price.dearest_input, role.calls * role.input))
        portions.append((price.output, role.calls * role.output))
    left, cost = tokens, 0.0  # spent where they cost most
    for usd, most in sorted(portions, reverse=True):
        taken = min(left, most)
        left, cost = left - taken, cost + taken * usd
    return Bound(tokens * items, cost * items / 1e6)


def _sum(bounds: Iterable[Bound]) -> Bound:
    summed = list(bounds)
    costs = [bound.cost for bound in summed if bound.cost is not None]
    cost = sum(costs) if len(costs) == len(summed) else None
    return Bound(sum(bound.tokens for bound in summed), cost)
