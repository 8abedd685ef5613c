"""What a judge of free text may take over a study's answers at most, before there are any."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from branchwise.corpora.questions import Question, QuestionSet
from branchwise.eval.judging.grading import NUMBER_ALONE, Demand, samples_at
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.tasks import Task, get_task, is_graded
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
    task, found = get_task(questions.task), []
    for named in systems:
        requests = sum(_requests(choice, task, named.system, one) for one in questions.questions)
        demand = _demand(choice, named.system, epochs * requests)
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


def _requests(choice: ScoringChoice, task: Task, system: System, question: Question) -> int:
    """Each pair takes a request for the answer, and one for the condition if both have one."""
    texts, predicted = task.grading(question, system)
    # Of aligned pairs each gold property is in one at most.
    if choice.judge_pairs == "aligned":
        return texts
    return texts * (PREDICTED if predicted is None else predicted)
