"""What is wrong with a conditional answer, from the answer and its gold (MDCR, error analysis).

An item may have several errors. Those of the short answer say why it may be too small or too
large; those of the groups are looked at where groups count, which is not with "no" and 0. What
needs values or relations that a file does not give is unknown.
"""

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property

from branchwise.corpora.conditions.documents import StatedCondition
from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.corpora.conditions.solver import Solution, Standing, solve, standing
from branchwise.corpora.conditions.spreading import RelationNetwork
from branchwise.eval.errors.labels import ErrorClass, ErrorClasses, ErrorType, Label
from branchwise.eval.tasks.mdcr.group_scores import WITHOUT_GROUPS, IdGroup, IdGroups

_SIZES = {"no": 0, "yes": 1}


@dataclass(frozen=True)
class ConditionalCase:
    """A question, an answer that could be read, its groups as they count, and the gold groups."""

    question: ConditionsQuestion
    short: str
    predicted: IdGroups
    gold: IdGroups

    @property
    def difference(self) -> int:
        """By how much the short answer is larger than gold's: yes is more than no. 0 where one is
        a word and the other a number: that is wrong, but neither too large nor too small."""
        gold = str(self.question.gold.short)
        if (self.short in _SIZES) != (gold in _SIZES):
            return 0
        return _size(self.short) - _size(gold)

    @property
    def has_groups(self) -> bool:
        return self.short not in WITHOUT_GROUPS

    @property
    def values(self) -> Collection[bool]:
        return self.question.problem.values.values()

    @property
    def wrong_groups(self) -> IdGroups:
        return self.predicted - self.gold

    @cached_property
    def named(self) -> IdGroup:
        return frozenset[str]().union(*self.predicted)

    @cached_property
    def wanted(self) -> IdGroup:
        return frozenset[str]().union(*self.gold)

    @cached_property
    def solution(self) -> Solution:
        """The gold answer with what it is made of."""
        return solve(self.question.problem)

    @cached_property
    def standing(self) -> Standing:
        return standing(self.question.problem)

    @cached_property
    def stated(self) -> dict[str, list[StatedCondition]]:
        stated: dict[str, list[StatedCondition]] = defaultdict(list)
        for condition in self.question.problem.conditions.values():
            for id in condition.sentence_ids:
                stated[id].append(condition)
        return dict(stated)

    @cached_property
    def relations(self) -> RelationNetwork:
        return RelationNetwork(self.question.problem)


@dataclass(frozen=True)
class ConditionalItem:
    """What an item answers; `case` is None where it failed (`error`) or could not be read."""

    case: ConditionalCase | None
    error: str | None = None


_Holds = Callable[[ConditionalCase], bool | None]
_OF_SHORT: list[ErrorType[ConditionalItem]] = []
_OF_GROUPS: list[ErrorType[ConditionalItem]] = []


def _error(title: str, words: str, *, of_groups: bool = False) -> Callable[[_Holds], _Holds]:
    """Add a rule to the errors of the short answer, or of the groups, where these count."""

    def declared(holds: _Holds) -> _Holds:
        def is_so(item: ConditionalItem) -> bool | None:
            if item.case is None or (of_groups and not item.case.has_groups):
                return False
            return holds(item.case)

        key = title.replace("-", "_").replace(" ", "_")
        (_OF_GROUPS if of_groups else _OF_SHORT).append(ErrorType(key, title, words, is_so))
        return holds

    return declared


@_error("over-reaction", "too small an answer, with a false condition in the scenario")
def is_over_reaction(case: ConditionalCase) -> bool | None:
    """The short answer is too small, and the scenario says of some condition that it is false."""
    if case.difference >= 0:
        return False
    return None if "values" in case.question.lacks else not all(case.values)


@_error("wrong association", "too small an answer, though all that the scenario mentions is true")
def is_wrong_association(case: ConditionalCase) -> bool | None:
    """The short answer is too small, though all conditions that the scenario mentions are true."""
    if case.difference >= 0:
        return False
    return None if "values" in case.question.lacks else all(case.values)


@_error("missed conflict", "too large an answer, against a conflict")
def is_missed_conflict(case: ConditionalCase) -> bool | None:
    """The short answer is too large, and could be had if no conditions conflicted."""
    if case.difference <= 0:
        return False
    if case.question.lacks:
        return None
    problem = case.question.problem
    others = tuple(relation for relation in problem.relations if relation.kind != "conflicting")
    without = solve(replace(problem, relations=others)).answer
    return _size(case.short) <= _size(str(without.short))


@_error("incomplete", "a condition or group is missing", of_groups=True)
def is_incomplete(case: ConditionalCase) -> bool:
    """A gold id is in no predicted group, or a predicted group is a part of a gold one that the
    predicted parts together do not make up."""
    if case.wanted - case.named:
        return True
    return any(
        group < gold and _parts(gold, case.predicted) != gold
        for group in case.wrong_groups
        for gold in case.gold
    )


@_error("redundant", "names a satisfied condition", of_groups=True)
def is_redundant(case: ConditionalCase) -> bool | None:
    """A predicted group names a satisfied condition: one that the scenario makes true, or that
    another condition of its group implies, while no gold group has its sentence."""
    if not case.wrong_groups:
        return False
    if case.question.lacks:
        return None
    return any(
        id not in case.wanted and _is_satisfied(id, group, case)
        for group in case.wrong_groups
        for id in group
    )


@_error("out of reach", "names a condition of a document that is out of reach", of_groups=True)
def is_out_of_reach(case: ConditionalCase) -> bool | None:
    """A predicted group names a condition of a document in no combination of the gold answer."""
    if not case.wrong_groups:
        return False
    if case.question.lacks:
        return None
    reached = {id for documents in case.solution.sets for id in documents}
    return any(case.stated[id][0].document not in reached for id in case.named & case.stated.keys())


@_error("merged", "several groups in one", of_groups=True)
def is_merged(case: ConditionalCase) -> bool:
    """A predicted group holds all of two gold groups or more."""
    return any(sum(gold < group for gold in case.gold) > 1 for group in case.wrong_groups)


@_error("split", "one group in several", of_groups=True)
def is_split(case: ConditionalCase) -> bool:
    """A gold group is missing, and two predicted groups or more are parts of it that make it up."""
    return any(_parts(gold, case.predicted) == gold for gold in case.gold - case.predicted)


@_error("irrelevant", "names a sentence that states no condition", of_groups=True)
def is_irrelevant(case: ConditionalCase) -> bool:
    """A predicted group names what states no condition: another sentence, or no sentence at all."""
    return any(id not in case.stated for id in case.named)


def _size(short: str) -> int:
    return _SIZES[short] if short in _SIZES else int(short)


def _parts(whole: IdGroup, groups: IdGroups) -> IdGroup:
    """The union of the groups that are proper parts of a group."""
    return frozenset[str]().union(*(group for group in groups if group < whole))


def _is_satisfied(id: str, group: IdGroup, case: ConditionalCase) -> bool:
    """Whether all conditions that a sentence states, but for those that are ruled out, are true or
    hold where those that the rest of the group states do."""
    values, network = case.standing.values, case.relations
    implied = set[str]()
    for other in group - {id}:
        for condition in case.stated.get(other, ()):
            implied |= {*network.named(network.spread({condition.id: True}).true)}
    possible = [own.id for own in case.stated.get(id, ()) if values[own.id] is not False]
    return bool(possible) and all(values[name] or name in implied for name in possible)


_UNREADABLE = ErrorType[ConditionalItem](
    Label.FORMAT_ERROR.value,
    Label.FORMAT_ERROR.words,
    "the answer could not be read",
    lambda item: item.case is None and item.error is None,
)
_FAILED = ErrorType[ConditionalItem](
    "failed", "failed", "the item failed", lambda item: item.error is not None
)
CONDITIONAL_ERRORS = ErrorClasses(
    (
        ErrorClass("short_answer", "short answer", tuple(_OF_SHORT)),
        ErrorClass("groups", "conditional answer", tuple(_OF_GROUPS)),
        ErrorClass("other", "other", (_UNREADABLE, _FAILED)),
    ),
    (
        "Over-reaction, wrong association: the short answer is too small, with and without a false "
        "condition in the scenario; missed conflict: too large, though a conflict rules it out.",
        "Redundant: the scenario or the rest of its group makes a named condition true; out of "
        "reach: it is of a document that no combination of the gold answer has.",
        "The types are those of MDCR's error analysis, whose way is not told; here they "
        "follow from answer and gold.",
    ),
)
"""The types of MDCR's error analysis (its Table 3), then what it does not cover."""
