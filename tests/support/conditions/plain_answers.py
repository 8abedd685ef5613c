"""Conditional answers by brute force over all assignments, without any code of the product."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np


class Plain(NamedTuple):
    """A problem."""

    kind: str
    documents: Sequence[Any]
    sentences: Sequence[int]
    relations: Sequence[tuple[str, int, int]]
    values: Mapping[int, bool]


class ContradictsError(Exception):
    """Relations (or values with them) that cannot all hold."""

    def __init__(self, *, by_relations: bool) -> None:
        self.by_relations = by_relations


def can_hold(count: int, parts: Sequence[tuple[int, bool] | tuple[str, int, int]]) -> bool:
    """Whether values and relations of so many conditions can all hold."""
    rows = np.arange(2**count)
    true = [(rows >> i & 1).astype(bool) for i in range(count)]
    good = np.ones(len(rows), bool)
    for part in parts:
        if len(part) == 2:
            good &= true[part[0]] == part[1]
        else:
            good &= _related(part[0], true[part[1]], true[part[2]])
    return bool(good.any())


def _related(kind: str, one: Any, other: Any) -> Any:
    """The rows in which a relation holds."""
    if kind == "conflicting":
        return ~(one & other)
    return one == other if kind == "equivalent" else ~one | other


class Table:
    """The truth table of a problem."""

    def __init__(self, plain: Plain) -> None:
        self.plain = plain
        self.count = len(plain.sentences)
        rows = np.arange(2**self.count)
        self.true = [(rows >> i & 1).astype(bool) for i in range(self.count)]
        related = np.ones(len(rows), bool)
        for kind, first, second in plain.relations:
            related &= _related(kind, self.true[first], self.true[second])
        if not all((related & column).any() for column in self.true):
            raise ContradictsError(by_relations=True)
        self.implies = [
            [bool((~related | ~one | other).all()) for other in self.true] for one in self.true
        ]
        said = related.copy()
        for condition, value in plain.values.items():
            said &= self.true[condition] == value
        if not said.any():
            raise ContradictsError(by_relations=False)
        self.value = [
            True if column[said].all() else False if not column[said].any() else None
            for column in self.true
        ]
        # Rows that have only fixed conditions right, and open ones in any way.
        self.read = np.ones(len(rows), bool)
        for condition, value in enumerate(self.value):
            if value is not None:
                self.read &= self.true[condition] == value
        # Rows of which some consistent row has all true conditions.
        self.possible = said
        for i in range(self.count):
            self.possible |= self.possible[rows | 1 << i] & ~self.true[i]

    def of(self, expression: Any) -> Any:
        if isinstance(expression, int):
            return self.true[expression]
        operator, *parts = expression
        columns = [self.of(part) for part in parts]
        return (
            np.logical_and.reduce(columns) if operator == "and" else np.logical_or.reduce(columns)
        )

    def groups(self, documents: Sequence[int]) -> list[frozenset[int]]:
        """The minimal rows that make all documents' expressions true, by their open conditions."""
        good = self.read & self.possible
        for document in documents:
            good = good & self.of(self.plain.documents[document])
        rows = np.arange(2**self.count)
        below = np.zeros(len(rows), bool)  # a proper part is good
        for i in range(self.count):
            without = rows & ~(1 << i)
            below |= self.true[i] & (good[without] | below[without])
        opened = [i for i, value in enumerate(self.value) if value is None]
        return [
            frozenset(i for i in opened if row >> i & 1) for row in map(int, rows[good & ~below])
        ]

    def kept(self, group: frozenset[int]) -> frozenset[int]:
        """The sentences of a group without what others in it stand for."""
        stay = set()
        for one in group:
            by = [other for other in group if other != one and self.implies[other][one]]
            if not any(not self.implies[one][other] or other > one for other in by):
                stay.add(self.plain.sentences[one])
        return frozenset(stay)

    def answer(self) -> tuple[str | int, set[frozenset[int]]]:
        everyone = range(len(self.plain.documents))
        if self.plain.kind == "q1":
            sets = [(one,) for one in everyone if self.groups([one])]
            short: str | int = "yes" if sets else "no"
        elif self.plain.kind == "q2":
            sets = [tuple(everyone)] if self.groups(list(everyone)) else []
            short = "yes" if sets else "no"
        else:
            possible = [
                chosen
                for size in range(1, len(everyone) + 1)
                for chosen in combinations(everyone, size)
                if self.groups(chosen)
            ]
            short = max(map(len, possible), default=0)
            sets = [one for one in possible if len(one) == short]
        found = {self.kept(group) for one in sets for group in self.groups(one)}
        least = {one for one in found if not any(other < one for other in found)}
        return short, least - {frozenset()}

    def reach(self, document: int) -> str:
        """What becomes of a document alone."""
        groups = self.groups([document])
        return (
            "out of reach" if not groups else "open" if frozenset() not in groups else "satisfied"
        )

    def classes(self) -> set[frozenset[int]]:
        """Sentences that state conditions which imply each other, joined as far as they go."""
        classes = {frozenset({one}) for one in self.plain.sentences}
        for one in range(self.count):
            for other in range(self.count):
                if self.implies[one][other] and self.implies[other][one]:
                    ends = {self.plain.sentences[one], self.plain.sentences[other]}
                    touched = {some for some in classes if some & ends}
                    classes = (classes - touched) | {frozenset().union(*touched)}
        return classes
