"""MDCR: what can be had of several documents, and what else must be true.

Format: our own JSON, or the folder that the authors publish (docs/benchmarks/mdcr.md). A scenario
becomes a question of each kind; the solver works out its gold answer.
Gold is never read beside what it follows from, with which it could disagree.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError, Refuse
from branchwise.corpora.conditions.authors_groups import authors_answer
from branchwise.corpora.conditions.conditions_file import read_conditions
from branchwise.corpora.conditions.documents import (
    ConditionsAnswer,
    ConditionsProblem,
    ConditionsSet,
    QuestionKind,
    Scenario,
)
from branchwise.corpora.conditions.minimal_groups import TooManyGroupsError
from branchwise.corpora.conditions.question import as_question
from branchwise.corpora.conditions.solver import Solution, relations_decide, solve
from branchwise.corpora.conditions.spreading import ContradictionError
from branchwise.corpora.loaders.forms import form_of
from branchwise.corpora.loaders.source import RowPlace
from branchwise.corpora.questions import Question
from branchwise.corpora.rows import DataRow, read_rows


def mdcr_rows(path: Path, refuse: Refuse) -> Iterator[DataRow]:
    """A row for each question, scenario by scenario."""
    with suppress(InputError):  # a set that was converted
        row = next(read_rows(path, "json"), None)
        if row is not None and "mdcr" not in row.fields and form_of(row.fields) is not None:
            yield row
            return
    conditions = read_conditions(path)
    for scenario in conditions.scenarios:
        for kind in scenario.kinds:
            fields = {"mdcr": conditions, "scenarios": (scenario, kind)}
            yield DataRow(f"{conditions.place(scenario)}, {kind}", fields)


def mdcr_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    conditions = record.get("mdcr")
    if not isinstance(conditions, ConditionsSet):
        at.refuse("form", "is not of a file with documents", "name a file: mdcr:PATH")
        return None
    scenario, kind = record["scenarios"]
    return at.attempt(lambda: _question(conditions, scenario, kind, at.where))


def questions_of(conditions: ConditionsSet) -> list[Question]:
    return [
        _question(conditions, scenario, kind, f"{conditions.place(scenario)}, {kind}")
        for scenario in conditions.scenarios
        for kind in scenario.kinds
    ]


def solved(problem: ConditionsProblem, where: str) -> Solution:
    with _refusing(where):
        return solve(problem)


def authors_gold(problem: ConditionsProblem, where: str) -> ConditionsAnswer:
    with _refusing(where):
        return authors_answer(problem)


@contextmanager
def _refusing(where: str) -> Iterator[None]:
    try:
        yield
    except ContradictionError as error:
        raise InputError(str(error), where=where, remedy="correct one of them") from None
    except TooManyGroupsError as error:
        raise InputError(str(error), where=where, remedy="make its documents smaller") from None


def _question(
    conditions: ConditionsSet, scenario: Scenario, kind: QuestionKind, where: str
) -> Question:
    problem, lacks = conditions.problem(scenario, kind), conditions.lacks(scenario)
    if lacks:
        answer, decide = scenario.gold[kind], None
    else:
        answer = solved(problem, where).answer
        decide = relations_decide(problem, answer)
    return as_question(
        scenario,
        problem,
        answer,
        relations_decide=decide,
        lacks=lacks,
        generated=conditions.about.get("generated") is True,
    )
