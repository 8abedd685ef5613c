"""What a judge of free text may take over a study's answers at most, before there are any."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from branchwise.corpora.questions import Question, QuestionSet
from branchwise.eval.judging.grading import NUMBER_ALONE, Demand, samples_at
from branchwise.eval.properties import gold_properties
from branchwise.eval.property_grades import ASKS_FOR_CONDITIONS
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.tasks import is_graded
from branchwise.graphs.asking import PROTOCOL
from branchwise.graphs.ledger import RoleUsage
from branchwise.graphs.system import System
from branchwise.runs.costs.prices import Prices
from branchwise.runs.studies.systems import NamedSystem

JUDGE = "judge"
PREDICTED = 10
"""Properties that an answer is taken to have at most, where nothing bounds them."""
GRADE_INPUT = 4_000
"""Tokens that a request is taken to have at most: a judge's prompt and the three texts."""


@dataclass(frozen=True)
class GradingPlan:
    """The most that grading one system's answers takes.

    `cost`: in USD of one reply to each request, which is enough where the server gives
    probabilities; `cost_at_most`: of all samples. None where the price is unknown.
    """

    system: str
    demand: Demand
    cost: float | None
    cost_at_most: float | None

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable; an unknown cost is null."""
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
    """A plan for each system; none where no judge grades the task's answers."""
    if not (choice.judge_entities and is_graded(questions.task)):
        return ()
    found = []
    for named in systems:
        calls = epochs * sum(_requests(choice, named.system, one) for one in questions.questions)
        demand = _demand(choice, named.system, calls)
        costs = [prices.cost(demand.spec, usage) for usage in (demand.once, demand.most)]
        found.append(GradingPlan(named.name, demand, *costs))
    return tuple(found)


def _demand(choice: ScoringChoice, system: System, calls: int) -> Demand:
    own = system.role_decoding.get(JUDGE, {})
    limit = own.get("max_tokens")
    reply = limit if isinstance(limit, int) else NUMBER_ALONE
    spec = choice.resolved(system.model_dump()).judge
    assert spec is not None, "the choice has a judge"
    once = RoleUsage(calls, calls * GRADE_INPUT, calls * reply)
    return Demand(spec, JUDGE, once, samples_at(own), limit is not None)


def _requests(choice: ScoringChoice, system: System, question: Question) -> int:
    """Each pair takes a request for the answer, and one for the condition if both have one."""
    gold = gold_properties(question)
    graded = len(gold)
    protocol = system.asked(PROTOCOL)
    if protocol not in _WITHOUT_CONDITIONS:
        graded += sum(bool(one.condition) for one in gold)
    # Of aligned pairs each gold property is in one at most.
    if choice.judge_pairs == "aligned":
        return graded
    return graded * _predicted(protocol, system.asked("at_most"), len(gold))


_WITHOUT_CONDITIONS: frozenset[str] = frozenset({"standard", "closed"})


def _predicted(protocol: str, at_most: int | None, gold: int) -> int:
    if protocol == "guided":
        return gold
    if protocol in ASKS_FOR_CONDITIONS and at_most is not None:
        return at_most
    return PREDICTED
