"""All minimal groups of conditions that make documents' expressions true, by a SAT solver.

A group is a set of open conditions, as bits, no two of which exclude each other. Expressions are
monotone, and part of a group is a group: whatever model the solver finds, leaving out conditions
one by one leads to a minimal group, and forbidding that one as a whole leads to the next.
Documents share no conditions: minimal groups of several are unions of one of each, if consistent.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from pysat.solvers import Minisat22

from branchwise.corpora.conditions.documents import AnyOf, Atom, Expression
from branchwise.corpora.conditions.spreading import places

MAX_GROUPS = 10_000
"""Of one question. A bound, not a time limit: every machine refuses the same questions."""
MAX_CONFLICTS = 100_000
"""Of one call of the SAT solver: a second or two. Documents as people write them need a few."""


class TooManyGroupsError(ValueError):
    """A question with more than `MAX_GROUPS` minimal groups, or groups too hard to find."""


class Formula(NamedTuple):
    """An expression in which what the scenario decides is worked out. Without parts it is one
    condition, or decided: `bits` is then 0, and `is_any` the opposite of the value (any of nothing
    is false). `bits`: its conditions; `repeats`: whether one may stand in it twice."""

    is_any: bool
    parts: "tuple[Formula, ...]" = ()
    bits: int = 0
    repeats: bool = False

    def holds(self, true: int) -> bool:
        if not self.parts:
            return bool(self.bits & true) if self.bits else not self.is_any
        if self.is_any:
            return any(part.holds(true) for part in self.parts)
        return all(part.holds(true) for part in self.parts)

    def reason(self, true: int) -> int | None:
        """Open conditions that make it true, minimal unless some repeat; None if all do not."""
        if not self.parts:
            is_true = not self.bits and not self.is_any
            return self.bits & true if is_true or self.bits & true else None
        together = 0
        for part in self.parts:
            reason = part.reason(true)
            if self.is_any and reason is not None:
                return reason
            if not self.is_any:
                if reason is None:
                    return None
                together |= reason
        return None if self.is_any else together


TRUE, FALSE = Formula(is_any=False), Formula(is_any=True)


def simplified(expression: Expression, bit: Mapping[str, int], true: int, false: int) -> Formula:
    """An expression where the conditions in `true` and `false` are; `bit` is each name's."""
    if isinstance(expression, Atom):
        own = bit[expression.name]
        if own & true:
            return TRUE
        return FALSE if own & false else Formula(is_any=False, bits=own)
    is_any = isinstance(expression, AnyOf)
    neutral, decisive = (FALSE, TRUE) if is_any else (TRUE, FALSE)
    parts, bits, repeats = [], 0, False
    for part in expression.parts:
        formula = simplified(part, bit, true, false)
        if formula == decisive:
            return decisive
        if formula != neutral:
            parts.append(formula)
            repeats = repeats or formula.repeats or bool(formula.bits & bits)
            bits |= formula.bits
    if len(parts) < 2:
        return parts[0] if parts else neutral
    return Formula(is_any, tuple(parts), bits, repeats)


class GroupSearch:
    """The groups of a problem's documents, by index. To be closed. `formulas`: one a document;
    `excluded`: what each condition makes false. Methods raise TooManyGroupsError."""

    def __init__(self, formulas: Sequence[Formula], excluded: Sequence[int]) -> None:
        self._formulas, self._excluded = formulas, excluded
        self._variables = len(excluded)  # condition i is variable i + 1
        self._solver = Minisat22()
        self._wanted = [self._encode(formula) for formula in formulas]
        used = 0
        for formula in formulas:
            used |= formula.bits
        for place in places(used):
            for other in places(excluded[place] & used & ((1 << place) - 1)):
                self._solver.add_clause([-place - 1, -other - 1])
        self._own: dict[int, list[int]] = {}

    def is_feasible(self, documents: Sequence[int], group: int = 0) -> bool:
        """Whether all of the documents can be had together, with the conditions of `group`."""
        fixed = [place + 1 for place in places(group)]
        return self._solve([*fixed, *(self._wanted[document] for document in documents)])

    def groups(self, documents: Sequence[int], most: int = MAX_GROUPS) -> list[int]:
        """All minimal groups by which the documents can be had together, at most `most`."""
        for document in documents:
            if document not in self._own:
                own = islice(self._enumerated([document]), MAX_GROUPS + 1)
                self._own[document] = list(own)
        each = [self._own[document] for document in documents]
        # One of them alone may have too many; together they may have few.
        has_many = len(documents) > 1 and max(map(len, each)) > MAX_GROUPS
        every = self._enumerated(documents) if has_many else self._unions(documents, each, 0, 0)
        groups = list(islice(every, most + 1))
        if len(groups) > most:
            raise TooManyGroupsError(f"has more than {MAX_GROUPS:,} minimal groups")
        return groups

    def close(self) -> None:
        self._solver.delete()

    def _unions(
        self, documents: Sequence[int], each: Sequence[Sequence[int]], group: int, excluded: int
    ) -> Iterator[int]:
        """Unions of `group` and one group of each document, without those that exclude another."""
        if not documents:
            yield group
            return
        for more in each[0]:
            if more & excluded:
                continue
            if len(documents) > 1 and not self.is_feasible(documents[1:], group | more):
                continue
            out = excluded
            for place in places(more):
                out |= self._excluded[place]
            yield from self._unions(documents[1:], each[1:], group | more, out)

    def _enumerated(self, documents: Sequence[int]) -> Iterator[int]:
        formulas = [self._formulas[document] for document in documents]
        used = [place for formula in formulas for place in places(formula.bits)]
        guard = self._variable()  # forbids only while this enumeration goes on
        wanted = [guard, *(self._wanted[document] for document in documents)]
        while self._solve(wanted):
            model = self._solver.get_model()
            true = sum(1 << place for place in used if model[place] > 0)
            group = 0
            for formula in formulas:
                own = formula.reason(true)
                assert own is not None, "the solver's model is one of the formula"
                if formula.repeats:
                    for place in places(own):
                        if formula.holds(own & ~(1 << place)):
                            own &= ~(1 << place)
                group |= own
            yield group
            self._solver.add_clause([-guard, *(-place - 1 for place in places(group))])

    def _encode(self, formula: Formula) -> int:
        """A variable that is true only where the formula is (Plaisted and Greenbaum 1986)."""
        if not formula.parts and formula.bits:
            return formula.bits.bit_length()
        own = self._variable()
        parts = [self._encode(part) for part in formula.parts]
        if formula.is_any:
            self._solver.add_clause([-own, *parts])
        else:
            for part in parts:
                self._solver.add_clause([-own, part])
        return own

    def _variable(self) -> int:
        self._variables += 1
        return self._variables

    def _solve(self, assumptions: Sequence[int]) -> bool:
        self._solver.conf_budget(MAX_CONFLICTS)
        solvable = self._solver.solve_limited(assumptions=assumptions)
        if solvable is None:
            raise TooManyGroupsError("is too hard: its documents' expressions are too tangled")
        return bool(solvable)
