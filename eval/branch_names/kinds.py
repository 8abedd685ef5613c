"""What kind of thing a name says that it is: a work or a person of some occupation."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from branchwise.eval.branch_names.words import singular
from branchwise.eval.errors.name_words import OCCUPATIONS, WORK_KINDS

_NO_KINDS = frozenset(["play", "season"])
"""Words of `WORK_KINDS` that questions use otherwise: as a verb, of a year."""


class Kinds(NamedTuple):
    """Numbers of the groups in `WORK_KINDS` and in `OCCUPATIONS` that a name has words of."""

    works: frozenset[int]
    occupations: frozenset[int]

    def contradict(self, other: "Kinds") -> bool:
        """Whether both say what kind of thing they mean, and it cannot be the same.

        A "film director" is not a film, so works are compared only if neither names a person.
        """
        if self.occupations and other.occupations:
            return self.occupations.isdisjoint(other.occupations)
        if self.occupations or other.occupations:
            return False
        return bool(self.works and other.works and self.works.isdisjoint(other.works))


def _groups(sets: Sequence[AbstractSet[str]]) -> dict[str, frozenset[int]]:
    words = frozenset(singular(word) for group in sets for word in group) - _NO_KINDS
    return {
        word: frozenset(n for n, group in enumerate(sets) if word in {singular(w) for w in group})
        for word in words
    }


_WORKS, _OCCUPATIONS = _groups(WORK_KINDS), _groups(OCCUPATIONS)
_NONE = Kinds(frozenset(), frozenset())


def kinds_of(words: Iterable[str]) -> Kinds:
    """The kinds that singular words of a name say."""
    works = [_WORKS[word] for word in words if word in _WORKS]
    occupations = [_OCCUPATIONS[word] for word in words if word in _OCCUPATIONS]
    if not works and not occupations:
        return _NONE
    return Kinds(frozenset[int]().union(*works), frozenset[int]().union(*occupations))
