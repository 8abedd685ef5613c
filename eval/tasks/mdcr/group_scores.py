"""Groups of conditions against gold ones, as sets of ids (MDCR, section on metrics).

An answer holds if all conditions of one of its groups do. With C the predicted and G the gold
groups, each a set of ids, and f the one-to-one mapping between them that maximises the sum of
F1(c, f(c)) = 2 |c & f(c)| / (|c| + |f(c)|):

    exact:    P = |C & G| / |C|,                         R = |C & G| / |G|
    relaxed:  P = sum over c of |c & f(c)| / |c| / |C|,  R = sum over c of |c & f(c)| / |f(c)| / |G|

F1 is the harmonic mean of P and R. All three are 1 where C and G are empty, 0 where one is. A group
without a partner adds 0. Both kinds are made of four sums, which is all that one question adds to
scores of many.

Relaxed F1 is at least exact F1 where there are as many predicted as gold groups, but not always:
the mapping may pair a group with another than its equal, which costs precision for recall.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from branchwise.eval.properties import greatest_sum

IdGroup = frozenset[str]
IdGroups = frozenset[IdGroup]

NO_GROUPS: IdGroups = frozenset()
WITHOUT_GROUPS = ("no", "0")
"""Short answers that hold under no condition, whatever groups are given with them."""


class GroupSums(NamedTuple):
    """What a question adds: right shares of predicted groups, these, found shares of gold ones, and
    these."""

    right: float
    said: float
    found: float
    gold: float


class GroupPair(NamedTuple):
    """A predicted and a gold group that are mapped to each other; they share an id."""

    predicted: IdGroup
    gold: IdGroup

    @property
    def precision(self) -> float:
        return len(self.predicted & self.gold) / len(self.predicted)

    @property
    def recall(self) -> float:
        return len(self.predicted & self.gold) / len(self.gold)

    @property
    def f1(self) -> float:
        return 2 * len(self.predicted & self.gold) / (len(self.predicted) + len(self.gold))


def groups_of(answer: str, groups: Iterable[Iterable[str]]) -> IdGroups:
    """The groups of an answer as sets: none with "no" and 0, and none that is empty."""
    if answer in WITHOUT_GROUPS:
        return NO_GROUPS
    return frozenset(group for ids in groups if (group := frozenset(ids)))


def as_one(groups: IdGroups, of: Mapping[str, str]) -> IdGroups:
    """The groups with each id replaced by what stands for it and its equivalents."""
    return frozenset(frozenset(of.get(id, id) for id in group) for group in groups)


def exact_sums(predicted: IdGroups, gold: IdGroups) -> GroupSums:
    """Addends where a group is right as a whole or not at all."""
    right = float(len(predicted & gold))
    return GroupSums(right, float(len(predicted)), right, float(len(gold)))


def relaxed_sums(predicted: IdGroups, gold: IdGroups) -> GroupSums:
    """Addends where a group is right in part, by the mapping with the greatest sum of F1."""
    pairs = mapped_groups(predicted, gold)
    right, covered = sum(pair.precision for pair in pairs), sum(pair.recall for pair in pairs)
    return GroupSums(float(right), float(len(predicted)), float(covered), float(len(gold)))


def mapped_groups(predicted: IdGroups, gold: IdGroups) -> list[GroupPair]:
    """The one-to-one mapping with the greatest sum of F1, without pairs that share nothing: of the
    groups that share an id with the other side, sorted by text, so that nothing else in a
    prediction changes a pair."""
    rows, columns = _touching(predicted, gold), _touching(gold, predicted)
    pairs = [[GroupPair(row, column) for column in columns] for row in rows]
    chosen = greatest_sum([[pair.f1 for pair in row] for row in pairs])
    mapped = (pairs[i][j] for i, j in chosen)
    return [pair for pair in mapped if pair.predicted & pair.gold]


def precision(right: float, predicted: float, gold: float) -> float:
    """Of sums over one question, or over many."""
    return right / predicted if predicted else float(not gold)


def recall(covered: float, predicted: float, gold: float) -> float:
    return covered / gold if gold else float(not predicted)


def f1(right: float, predicted: float, covered: float, gold: float) -> float:
    """The harmonic mean of precision and recall of such sums."""
    p, r = precision(right, predicted, gold), recall(covered, predicted, gold)
    return 2 * p * r / (p + r) if p + r else 0.0


def pair_f1(predicted: IdGroups, gold: IdGroups) -> float:
    """The mean of mapped pairs' own F1, a group without a partner counting as a pair with 0."""
    most = max(len(predicted), len(gold))
    return sum(pair.f1 for pair in mapped_groups(predicted, gold)) / most if most else 1.0


def _touching(groups: IdGroups, others: IdGroups) -> list[IdGroup]:
    """Those that share an id with one of the others, sorted by text."""
    ids = frozenset[str]().union(*others)
    return sorted((group for group in groups if group & ids), key=sorted)
