"""The conditional answer to a question, from its documents, relations and scenario.

Let T and F be the conditions that scenario and relations make true and false together. Every other
condition is *open* (the papers say unmentioned). Expressions are read with T true, F false.

A **group** of a set of documents is a set G of open conditions such that

1. the expression of each of the documents is true where T and G are true, and nothing else is
   (relations do not help here: what a condition of G implies is in G where it is needed);
2. T, G, F and the relations can all hold (the conditions outside of G may be true or false: no
   expression is hurt if they are true, none of them is needed);
3. no part of G does the same.

A set of documents is *feasible* if it has a group. Of a group's conditions one stands for others:
one that is implied by another one in the group is left out (the narrower stays), and of several
that imply each other the last in document order stays. What stays is written as ids of the
sentences that state it. Of all groups of an answer, equal ones are then one, and those that contain
another are left out.

* q1: "yes" if a document is feasible alone; the groups of each of them, together.
* q2: "yes" if all documents are feasible together; their groups.
* q3: the size of the largest feasible sets of documents; the groups of all sets of that size.

Where a group is empty (the scenario is enough), it is the only one that stays: nothing more is
needed, and the answer has no groups. "no" and 0 have none either.

If relations helped in 1, every group would come again with a narrower condition in place of a
wider one, and a document's answer would name other documents.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Literal, NamedTuple

from branchwise.corpora.conditions.documents import (
    ConditionsAnswer,
    ConditionsDocument,
    ConditionsProblem,
)
from branchwise.corpora.conditions.minimal_groups import (
    MAX_GROUPS,
    GroupSearch,
    TooManyGroupsError,
    simplified,
)
from branchwise.corpora.conditions.spreading import RelationNetwork, places

DocumentReach = Literal["satisfied", "open", "out of reach"]
"""Of a document alone: the scenario is enough / with further conditions / in no way."""


class Derivation(NamedTuple):
    """A group's documents, the conditions that make them true, and those that stay, by ids."""

    documents: tuple[str, ...]
    conditions: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True)
class Solution:
    """An answer with where it comes from. `sets`: ids of the documents of each set."""

    answer: ConditionsAnswer
    sets: tuple[tuple[str, ...], ...]
    _groups: "_Groups" = field(repr=False, compare=False)

    @cached_property
    def derivations(self) -> Mapping[tuple[str, ...], tuple[Derivation, ...]]:
        """Those of each group of the answer; of the empty group where nothing more is needed."""
        return self._groups.derivations()


@dataclass(frozen=True)
class Standing:
    """What a scenario means for each condition and each document by itself. `values` are by
    condition id, once they have spread through relations; None: not mentioned."""

    values: Mapping[str, bool | None]
    reach: Mapping[str, DocumentReach]


def solve(problem: ConditionsProblem) -> Solution:
    """Raises ContradictionError and TooManyGroupsError."""
    situation = _Situation(problem)
    count = len(problem.documents)
    sizes = {"q1": [1], "q2": [count], "q3": range(count, 0, -1)}[problem.kind]
    sets: list[tuple[int, ...]] = []
    with closing(situation.search()) as search:
        for size in sizes:
            sets = [some for some in combinations(range(count), size) if search.is_feasible(some)]
            if sets:
                break
        groups = _Groups(situation)
        # Beside a set that needs nothing, the groups of others would be left out.
        for documents in [some for some in sets if situation.satisfies(some)] or sets:
            groups.add(documents, search.groups(documents, MAX_GROUPS - groups.count))
    named_groups = tuple(group for group in groups.groups() if group)
    named = tuple(tuple(problem.documents[n].id for n in documents) for documents in sets)
    short: str | int = "yes" if sets else "no"
    if problem.kind == "q3":
        short = len(sets[0]) if sets else 0
    return Solution(ConditionsAnswer(short, named_groups), named, groups)


def standing(problem: ConditionsProblem) -> Standing:
    """Raises as `solve` does."""
    situation = _Situation(problem)
    network, spread = situation.network, situation.spread
    values = {
        id: True if bit & spread.true else False if bit & spread.false else None
        for id, bit in network.bit.items()
    }
    reach: dict[str, DocumentReach] = {}
    with closing(situation.search()) as search:
        for index, document in enumerate(problem.documents):
            if situation.satisfies([index]):
                reach[document.id] = "satisfied"
            else:
                reach[document.id] = "open" if search.is_feasible([index]) else "out of reach"
    return Standing(values, reach)


def are_feasible(problem: ConditionsProblem, documents: Sequence[ConditionsDocument]) -> bool:
    """Whether these documents of the problem can be had together. Raises as `solve` does."""
    situation = _Situation(problem)
    with closing(situation.search()) as search:
        return search.is_feasible([problem.documents.index(document) for document in documents])


def relations_decide(problem: ConditionsProblem, answer: ConditionsAnswer) -> bool:
    """Whether the answer would be another one without the relations."""
    try:
        return solve(replace(problem, relations=())).answer != answer
    except TooManyGroupsError:
        return True


def equivalent_sentences(problem: ConditionsProblem) -> Mapping[str, str]:
    """For each sentence that states a condition, by its id, the last in document order of those
    that state an equivalent one (or one that is equivalent to another condition of such a one)."""
    network = RelationNetwork(problem)
    conditions = list(problem.conditions.values())
    own = (1 << len(conditions)) - 1
    order = {c.sentence_id: problem.places[c.sentence_id] for c in conditions}
    stands_for = {id: id for id in order}

    def last(id: str) -> str:
        while stands_for[id] != id:
            id = stands_for[id]
        return id

    for index, condition in enumerate(conditions):
        for other in places(network.equivalent[index] & own):
            pair = (last(condition.sentence_id), last(conditions[other].sentence_id))
            earlier, later = sorted(pair, key=order.__getitem__)
            stands_for[earlier] = later
    return {id: last(id) for id in order}


class _Situation:
    """A problem as bits: its relations, what its values spread to, what its documents need."""

    def __init__(self, problem: ConditionsProblem) -> None:
        self.problem = problem
        self.network = RelationNetwork(problem)
        self.spread = self.network.spread(problem.values)
        self.formulas = []
        for document in problem.documents:
            bit = {c.name: self.network.bit[c.id] for c in document.conditions}
            true, false = self.spread
            self.formulas.append(simplified(document.expression, bit, true, false))

    def search(self) -> GroupSearch:
        return GroupSearch(self.formulas, self.network.excluded)

    def satisfies(self, documents: Iterable[int]) -> bool:
        return all(self.formulas[index].holds(0) for index in documents)


class _Groups:
    """Groups as they are found, by what stays of them: sets of sentences, as bits."""

    def __init__(self, situation: _Situation) -> None:
        problem, self._network = situation.problem, situation.network
        self._documents = problem.documents
        conditions = problem.conditions.values()
        stating = {id for condition in conditions for id in condition.sentence_ids}
        self._sentences = sorted(stating, key=problem.places.__getitem__)
        bit = {id: 1 << place for place, id in enumerate(self._sentences)}
        self._stating = [sum(bit[id] for id in c.sentence_ids) for c in conditions]
        self._derived: dict[int, list[tuple[Sequence[int], int, int]]] = {}
        self.count = 0

    def add(self, documents: Sequence[int], groups: Iterable[int]) -> None:
        for group in groups:
            kept = sentences = 0
            for place in places(group):
                if not self._network.subsumed_by[place] & group:
                    kept |= 1 << place
                    sentences |= self._stating[place]
            self._derived.setdefault(sentences, []).append((documents, group, kept))
            self.count += 1

    def groups(self) -> list[tuple[str, ...]]:
        return [self._named(group) for group in self._least]

    def derivations(self) -> dict[tuple[str, ...], tuple[Derivation, ...]]:
        return {
            self._named(group): tuple(
                Derivation(
                    tuple(self._documents[index].id for index in documents),
                    self._network.named(conditions),
                    self._network.named(kept),
                )
                for documents, conditions, kept in self._derived[group]
            )
            for group in self._least
        }

    @cached_property
    def _least(self) -> list[int]:
        return sorted(_without_supersets(list(self._derived)), key=places)

    def _named(self, group: int) -> tuple[str, ...]:
        return tuple(self._sentences[place] for place in places(group))


def _without_supersets(groups: Sequence[int]) -> list[int]:
    having: dict[int, int] = {}  # for each member, the groups that have it
    for number, group in enumerate(groups):
        for place in places(group):
            having[place] = having.get(place, 0) | 1 << number
    containing = 0
    everything = (1 << len(groups)) - 1
    for number, group in enumerate(groups):
        supersets = everything ^ (1 << number)
        for place in places(group):
            supersets &= having[place]
        containing |= supersets
    return [group for number, group in enumerate(groups) if not containing >> number & 1]
