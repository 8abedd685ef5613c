"""What is wrong with a conditional answer, from the answer and its gold (MDCR, error analysis).

An item may have several errors. Those of the short answer say why it may be too small or too
large; those of the groups are looked at where groups count, which is not with "no" and 0. What
needs values or relations that a file does not give is unknown.
"""

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
    """A question and an answer that could be read: its short answer, and its groups as they count.
    `gold` are the gold groups."""

    question: ConditionsQuestion
    short: str
    said: IdGroups
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
        return self.said - self.gold

    @cached_property
    def named(self) -> IdGroup:
        return frozenset[str]().union(*self.said)

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
        """The conditions that each sentence states, by its id."""
        found: dict[str, list[StatedCondition]] = {}
        for one in self.question.problem.conditions.values():
            for id in one.sentence_ids:
                found.setdefault(id, []).append(one)
        return found

    @cached_property
    def relations(self) -> RelationNetwork:
        """What conditions imply of each other."""
        return RelationNetwork(self.question.problem)


@dataclass(frozen=True)
class ConditionalItem:
    """An item, and what it answers; `case` is None where it failed (`error`) or could not be
    read."""

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
    """The short answer is too large, and a conflict stands against it: it could be had if no
    conditions conflicted."""
    if case.difference <= 0:
        return False
    if case.question.lacks:
        return None
    problem = case.question.problem
    others = tuple(one for one in problem.relations if one.kind != "conflicting")
    without = solve(replace(problem, relations=others)).answer
    return _size(case.short) <= _size(str(without.short))


@_error("incomplete", "a condition or group is missing", of_groups=True)
def is_incomplete(case: ConditionalCase) -> bool:
    """A gold id is in no predicted group, or a predicted group is a part of a gold one that the
    predicted parts together do not make up."""
    if case.wanted - case.named:
        return True
    return any(
        group < gold and _parts(gold, case.said) != gold
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
    """A predicted group names a condition of a document that is in none of the combinations which
    the gold answer speaks of."""
    if not case.wrong_groups:
        return False
    if case.question.lacks:
        return None
    reached = {id for documents in case.solution.sets for id in documents}
    documents = {one[0].document for id in case.named if (one := case.stated.get(id))}
    return bool(documents - reached)


@_error("merged", "several groups in one", of_groups=True)
def is_merged(case: ConditionalCase) -> bool:
    """A predicted group holds all of two gold groups or more."""
    return any(sum(gold < group for gold in case.gold) > 1 for group in case.wrong_groups)


@_error("split", "one group in several", of_groups=True)
def is_split(case: ConditionalCase) -> bool:
    """A gold group is missing, and two predicted groups or more are parts of it that make it up."""
    return any(_parts(gold, case.said) == gold for gold in case.gold - case.said)


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
    """Whether all conditions that a sentence states are, but for those that are ruled out: they
    are true, or hold where those that the rest of the group states do."""
    values, network = case.standing.values, case.relations
    others = (one for other in group - {id} for one in case.stated.get(other, ()))
    implied = {
        name for one in others for name in network.named(network.spread({one.id: True}).true)
    }
    possible = [one.id for one in case.stated.get(id, ()) if values[one.id] is not False]
    return bool(possible) and all(values[name] or name in implied for name in possible)


CONDITIONAL_ERRORS = ErrorClasses(
    (
        ErrorClass("short_answer", "short answer", tuple(_OF_SHORT)),
        ErrorClass("groups", "conditional answer", tuple(_OF_GROUPS)),
        ErrorClass(
            "other",
            "other",
            (
                ErrorType(
                    Label.FORMAT_ERROR.value,
                    Label.FORMAT_ERROR.words,
                    "the answer could not be read",
                    lambda item: item.case is None and item.error is None,
                ),
                ErrorType(
                    "failed", "failed", "the item failed", lambda item: item.error is not None
                ),
            ),
        ),
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
