"""MDCR: what can be had of several documents, and what else must be true.

Format: our own JSON (docs/benchmarks/mdcr.md); the published form will be read when a published
file is at hand. A scenario becomes a question of each kind; the solver works out its gold answer.
"""

from collections.abc import Iterator
from pathlib import Path

from branchwise.corpora.conditions.conditions_file import read_conditions
from branchwise.corpora.conditions.conditions_set import ConditionsSet
from branchwise.corpora.conditions.documents import ConditionsProblem, Scenario
from branchwise.corpora.conditions.minimal_groups import TooManyGroupsError
from branchwise.corpora.conditions.question import as_question
from branchwise.corpora.conditions.solver import Solution, relations_decide, solve
from branchwise.corpora.conditions.spreading import ContradictionError
from branchwise.corpora.errors import InputError
from branchwise.corpora.loaders.placed import PlacedQuestion

TASK = "mdcr"
"""What its questions are asked and scored as."""


def load(path: Path) -> list[PlacedQuestion]:
    """Questions in file order. Raises InputError, with file and place, for what is not one."""
    return questions_of(read_conditions(path))


def questions_of(found: ConditionsSet) -> list[PlacedQuestion]:
    """The set's questions, scenario by scenario. Raises InputError for one without an answer."""
    return [placed for scenario in found.scenarios for placed in _questions(found, scenario)]


def solved(problem: ConditionsProblem, where: str) -> Solution:
    """The solution. Raises InputError for a problem that has none."""
    try:
        return solve(problem)
    except ContradictionError as error:
        raise InputError(str(error), where=where, remedy="correct one of them") from None
    except TooManyGroupsError as error:
        raise InputError(str(error), where=where, remedy="make its documents smaller") from None


def _questions(found: ConditionsSet, scenario: Scenario) -> Iterator[PlacedQuestion]:
    place = found.place(scenario)
    generated = found.about.get("generated") is True
    lacks = found.lacks(scenario)
    for kind in scenario.kinds:
        problem = found.problem(scenario, kind)
        if lacks:
            answer, decide = scenario.gold[kind], None
        else:
            answer = solved(problem, f"{place}, {kind}").answer
            decide = relations_decide(problem, answer)
        question = as_question(
            scenario,
            problem,
            answer,
            relations_decide=decide,
            lacks=lacks,
            generated=generated,
        )
        yield PlacedQuestion(place, question)
