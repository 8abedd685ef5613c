"""Gold as the program of MDCR's authors gives it, to compare with the solver's.

What differs from `solver.py`:

* values spread one step: from what the scenario mentions, along one relation;
* a group is a solution's true conditions, whether or not each of them is needed. Of a conjunction
  of conditions and alternatives of conditions every assignment is a solution; of another expression
  each branch of a search that sets one condition after the other, false first, until it is true;
* a group may not hold both conditions of a conflict; what its conditions imply is not looked at;
* of an inclusive pair in a group the wider is left out; equivalent conditions both stay;
* groups that contain others stay.

Their search takes conditions in the order in which its process first met them. Here it is document
order, so that an answer does not depend on the questions before it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from branchwise.corpora.conditions.documents import (
    Atom,
    ConditionsAnswer,
    ConditionsDocument,
    ConditionsProblem,
    Expression,
    all_of,
)
from branchwise.corpora.conditions.minimal_groups import (
    FALSE,
    MAX_GROUPS,
    Formula,
    TooManyGroupsError,
    simplified,
)


def authors_answer(problem: ConditionsProblem) -> ConditionsAnswer:
    """Groups are of sentences' ids, as of all answers, and each stands once. Raises
    TooManyGroupsError for more than `MAX_GROUPS` solutions."""
    count = len(problem.documents)
    sizes = {"q1": [1], "q2": [count], "q3": range(count, 0, -1)}[problem.kind]
    for size in sizes:
        chosen = combinations(problem.documents, size)
        sets = [groups for some in chosen if (groups := _groups(problem, some)) is not None]
        if sets:
            short = size if problem.kind == "q3" else "yes"
            each = dict.fromkeys(group for groups in sets for group in groups if group)
            ordered = (tuple(sorted(group, key=problem.places.__getitem__)) for group in each)
            return ConditionsAnswer(short, tuple(ordered))
    return ConditionsAnswer(0 if problem.kind == "q3" else "no")


def spread_one_step(problem: ConditionsProblem) -> Mapping[str, bool]:
    """What the scenario says, and what follows from that by a single relation."""
    given = problem.values
    values = dict(given)
    for relation in problem.relations:
        ends = ((relation.first, relation.second), (relation.second, relation.first))
        for this, other in ends:
            if relation.kind == "conflicting" and given.get(this):
                values.setdefault(other, False)
            if relation.kind == "equivalent" and this in given:
                values.setdefault(other, given[this])
        if relation.kind == "inclusive" and given.get(relation.first):
            values.setdefault(relation.second, True)
        if relation.kind == "inclusive" and given.get(relation.second) is False:
            values.setdefault(relation.first, False)
    return values


def _groups(
    problem: ConditionsProblem, documents: Sequence[ConditionsDocument]
) -> list[frozenset[str]] | None:
    """The groups, as sentences, by which documents can be had together; None where they cannot."""
    joint = all_of(*(_by_id(document.expression, document.id) for document in documents))
    values = spread_one_step(problem)
    groups = []
    for number, solution in enumerate(_solutions(joint, list(problem.conditions), values)):
        if number == MAX_GROUPS:
            raise TooManyGroupsError(f"has more than {MAX_GROUPS:,} solutions")
        group = dict.fromkeys(solution)
        related = [r for r in problem.relations if r.first in group and r.second in group]
        if any(relation.kind == "conflicting" for relation in related):
            continue
        for relation in related:
            if relation.kind == "inclusive" and relation.first in group:
                group.pop(relation.second, None)
        stated = (problem.conditions[id].sentence_ids for id in group)
        groups.append(frozenset(id for ids in stated for id in ids))
    return groups or None


def _by_id(expression: Expression, document: str) -> Expression:
    if isinstance(expression, Atom):
        return Atom(f"{document}-{expression.name}")
    return expression.of(*(_by_id(part, document) for part in expression.parts))


def _solutions(
    expression: Expression, ids: Sequence[str], values: Mapping[str, bool]
) -> Iterator[list[str]]:
    bit = {id: 1 << place for place, id in enumerate(ids)}
    is_true = sum(bit[id] for id in ids if values.get(id) is True)
    is_false = sum(bit[id] for id in ids if values.get(id) is False)
    open = simplified(expression, bit, is_true, is_false)
    takes_all = _is_clauses(open)
    waiting = [(0, 0)]
    while waiting:
        true, false = waiting.pop()
        left = simplified(expression, bit, is_true | true, is_false | false)
        if left == FALSE:
            continue
        undecided = (open.bits if takes_all else left.bits) & ~(true | false)
        if not undecided:
            yield [id for id in ids if bit[id] & true]
            continue
        first = undecided & -undecided
        waiting += [(true | first, false), (true, false | first)]


def _is_clauses(formula: Formula) -> bool:

    def is_clause(part: Formula) -> bool:
        return not part.parts or (part.is_any and all(map(is_clause, part.parts)))

    return is_clause(formula) or (
        not formula.is_any and all(_is_clauses(part) for part in formula.parts)
    )
