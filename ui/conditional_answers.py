"""Conditional answers for a terminal, and for programs."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from branchwise.corpora.conditions.documents import ConditionsProblem, QuestionKind, Scenario
from branchwise.corpora.conditions.explanation import (
    Cause,
    GroupExplanation,
    GroupOrigin,
    Obstacle,
    explained,
    obstacles,
)
from branchwise.corpora.conditions.solver import Solution
from branchwise.corpora.text import cut, one_line

_ASKS: Mapping[QuestionKind, str] = {
    "q1": "at least one",
    "q2": "all together",
    "q3": "maximum number",
}
_TAG = re.compile(r"<[^<>]*>")
_SHOWN = 100
"""Characters of a sentence."""
_MOST_GROUPS = 20


def scenario_lines(scenario: Scenario) -> Iterator[str]:
    """What a scenario's answers stand below."""
    yield f"{scenario.id} ({', '.join(scenario.documents)}): {scenario.text}"


def answer_lines(problem: ConditionsProblem, solution: Solution, *, explain: bool) -> Iterator[str]:
    """One answer; with `explain` also what led to it."""
    answer = solution.answer
    yield f"  {problem.kind}, {_ASKS[problem.kind]}: {answer.short}"
    if explain:
        yield from _explained_lines(problem, solution)
        return
    for line in _alternatives(answer.groups):
        yield f"    {line}"


def answer_record(
    scenario: Scenario, problem: ConditionsProblem, solution: Solution, *, explain: bool
) -> dict[str, Any]:
    """The same for a program."""
    record: dict[str, Any] = {
        "scenario": scenario.id,
        "kind": problem.kind,
        "documents": list(scenario.documents),
        "answer": solution.answer.short,
        "groups": [list(group) for group in solution.answer.groups],
    }
    if explain:
        record["explanations"] = [asdict(one) for one in explained(problem, solution)]
        record["obstacles"] = [asdict(one) for one in obstacles(problem, solution)]
    return record


def _alternatives(groups: Iterable[tuple[str, ...]]) -> Iterator[str]:
    listed = [" and ".join(group) for group in groups]
    for place, group in enumerate(listed[:_MOST_GROUPS]):
        yield f"or {group}" if place else group
    if len(listed) > _MOST_GROUPS:
        yield f"or one of {len(listed) - _MOST_GROUPS:,} further groups (--json has all of them)"


def _explained_lines(problem: ConditionsProblem, solution: Solution) -> Iterator[str]:
    found = explained(problem, solution)
    for one in found[:_MOST_GROUPS]:
        yield f"    {' and '.join(one.group) or 'nothing more is needed'}"
        for line in _group_lines(problem, one):
            yield f"      {line}"
    if len(found) > _MOST_GROUPS:
        yield f"    {len(found) - _MOST_GROUPS:,} further groups (--json has all of them)"
    for obstacle in obstacles(problem, solution):
        yield f"    {_told_obstacle(obstacle)}"


def _group_lines(problem: ConditionsProblem, found: GroupExplanation) -> Iterator[str]:
    texts = {
        document.sentence_id(number): text
        for document in problem.documents
        for number, text in document.sentences.items()
    }
    for id in found.group:
        yield f'{id} says "{cut(one_line(_TAG.sub(" ", texts[id])), _SHOWN)}"'
    for place, origin in enumerate(found.origins):
        if place:
            yield "or also:"
        yield from _origin_lines(problem, origin)
    if found.count > len(found.origins):
        yield f"and in {found.count - len(found.origins):,} other ways"


def _origin_lines(problem: ConditionsProblem, origin: GroupOrigin) -> Iterator[str]:
    for one in origin.requirements:
        by = f", here by {_listed(one.needed)}" if one.needed else ", which the scenario fulfils"
        yield f"{one.document} needs {one.expression}{by}"
        for cause in one.given:
            yield f"  {_told_value(cause)}"
    for cause in origin.left_out:
        yield f"{cause.condition} is left out, for {cause.source} stands for it: {_way(cause)}"
    for id in dict.fromkeys(id for one in origin.requirements for id in one.needed):
        condition = problem.conditions[id]
        if condition.sentence_id != id:
            yield f"{id} is stated by {condition.sentence_id}"


def _told_value(cause: Cause) -> str:
    value = str(cause.value).lower()
    if not cause.relations:
        return f"{cause.condition} is {value}: the scenario says so"
    source = f"{cause.source} is {str(cause.source_value).lower()}"
    return f"{cause.condition} is {value}: by the scenario {source}, and {_way(cause)}"


def _way(cause: Cause) -> str:
    return ", ".join(map(str, cause.relations))


def _told_obstacle(obstacle: Obstacle) -> str:
    wanted = [f"{id} needs {expression}" for id, expression in obstacle.documents]
    values = [f"{id} is {str(value).lower()}" for id, value in obstacle.values.items()]
    against = [*values, *map(str, obstacle.relations)]
    return f"not possible: {', '.join(wanted)}; but {_listed(against)}"


def _listed(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
