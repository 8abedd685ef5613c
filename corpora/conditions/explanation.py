"""Why an answer is what it is: the expressions, values and relations behind each of its groups."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from branchwise.corpora.conditions.documents import (
    ConditionRelation,
    ConditionsDocument,
    ConditionsProblem,
    document_of,
    names,
)
from branchwise.corpora.conditions.solver import Derivation, Solution, are_feasible, standing

MAX_ORIGINS = 3
"""Of one group; there may be thousands where conditions stand for each other."""
_Literal = tuple[str, bool]
_Step = tuple[_Literal, ConditionRelation]


@dataclass(frozen=True)
class Cause:
    """Why a condition has a value: it follows from one by relations, or is its own."""

    condition: str
    value: bool
    source: str
    source_value: bool
    relations: tuple[ConditionRelation, ...]


@dataclass(frozen=True)
class Requirement:
    """What a document asks for, as it says it, and why conditions that are decided are so."""

    document: str
    expression: str
    decided: tuple[Cause, ...]


@dataclass(frozen=True)
class GroupOrigin:
    """One way in which a group comes about. `needed`: by document, the conditions that make its
    expression true beside the scenario's. `left_out`: those that another one stands for."""

    needed: Mapping[str, tuple[str, ...]]
    left_out: tuple[Cause, ...]


@dataclass(frozen=True)
class GroupExplanation:
    """A group (empty: nothing more is needed) with its origins, of which there are `count`."""

    group: tuple[str, ...]
    origins: tuple[GroupOrigin, ...]
    count: int


@dataclass(frozen=True)
class Obstacle:
    """A smallest part of a problem that already keeps documents from being had together."""

    documents: tuple[tuple[str, str], ...]
    values: Mapping[str, bool]
    relations: tuple[ConditionRelation, ...]


def requirements(problem: ConditionsProblem) -> tuple[Requirement, ...]:
    """What each document asks for, and what the scenario says to it."""
    values = standing(problem).values
    causes = _Causes(problem.relations, problem.values)
    return tuple(
        Requirement(
            document.id,
            str(document.expression),
            tuple(
                causes.of(id, value)
                for id in dict.fromkeys(f"{document.id}-{n}" for n in names(document.expression))
                if (value := values[id]) is not None
            ),
        )
        for document in problem.documents
    )


def explained(problem: ConditionsProblem, solution: Solution) -> tuple[GroupExplanation, ...]:
    return tuple(
        GroupExplanation(
            group,
            tuple(_origin(problem, way) for way in derivations[:MAX_ORIGINS]),
            len(derivations),
        )
        for group, derivations in solution.derivations.items()
    )


def obstacles(problem: ConditionsProblem, solution: Solution) -> tuple[Obstacle, ...]:
    """Why the answer is "no" or 0: of each document for itself, or (q2) of all together."""
    if solution.sets:
        return ()
    if problem.kind == "q2":
        return (_obstacle(problem, problem.documents),)
    return tuple(_obstacle(problem, (document,)) for document in problem.documents)


def _origin(problem: ConditionsProblem, derivation: Derivation) -> GroupOrigin:
    kept = _Causes(problem.relations, dict.fromkeys(derivation.kept, True))
    return GroupOrigin(
        {
            document: tuple(id for id in derivation.conditions if document_of(id) == document)
            for document in derivation.documents
        },
        tuple(kept.of(id, True) for id in derivation.conditions if id not in derivation.kept),
    )


class _Causes:
    def __init__(self, relations: Sequence[ConditionRelation], values: Mapping[str, bool]) -> None:
        steps: dict[_Literal, list[_Step]] = {}
        for relation in relations:
            for start, end in _steps(relation):
                steps.setdefault(start, []).append((end, relation))
        self._from: dict[_Literal, tuple[_Literal, ConditionRelation] | None] = dict.fromkeys(
            values.items()
        )
        waiting = deque(self._from)
        while waiting:
            at = waiting.popleft()
            for end, relation in steps.get(at, ()):
                if end not in self._from:
                    self._from[end] = (at, relation)
                    waiting.append(end)

    def of(self, condition: str, value: bool) -> Cause:
        at: _Literal = (condition, value)
        way: list[ConditionRelation] = []
        while (step := self._from[at]) is not None:
            at, relation = step
            way.append(relation)
        return Cause(condition, value, *at, tuple(way[::-1]))


def _steps(relation: ConditionRelation) -> Iterator[tuple[_Literal, _Literal]]:
    first, second = relation.first, relation.second
    if relation.kind == "conflicting":
        yield (first, True), (second, False)
        yield (second, True), (first, False)
        return
    yield (first, True), (second, True)
    yield (second, False), (first, False)
    if relation.kind == "equivalent":
        yield (second, True), (first, True)
        yield (first, False), (second, False)


def _obstacle(problem: ConditionsProblem, documents: tuple[ConditionsDocument, ...]) -> Obstacle:
    """Leave out documents, values and relations, the last first, while it stays infeasible."""
    for document in documents[::-1]:
        fewer = tuple(other for other in documents if other is not document)
        if fewer and not are_feasible(problem, fewer):
            documents = fewer
    for id in list(problem.values)[::-1]:
        values = {other: value for other, value in problem.values.items() if other != id}
        if not are_feasible(less := replace(problem, values=values), documents):
            problem = less
    for relation in problem.relations[::-1]:
        others = tuple(other for other in problem.relations if other != relation)
        if not are_feasible(less := replace(problem, relations=others), documents):
            problem = less
    wanted = tuple((document.id, str(document.expression)) for document in documents)
    return Obstacle(wanted, dict(problem.values), problem.relations)
