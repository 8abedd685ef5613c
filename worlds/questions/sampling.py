"""Plans sampled forward on the facts: relations and entities that lead to something."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from branchwise.worlds.questions.conditions import conditions, satisfying
from branchwise.worlds.questions.drafts import (
    Draft,
    Focus,
    PlanLimits,
    Reached,
    RejectedError,
    Sets,
    changed,
    counts,
    joined,
    kept,
    sizes,
)
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.moves import Move, Moves
from branchwise.worlds.questions.operands import Operands
from branchwise.worlds.questions.plans import (
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Intersection,
    Join,
    Union,
)
from branchwise.worlds.questions.templates import Template

_Choice = TypeVar("_Choice")
_MOVES_TRIED = 6
_WIDE = 0.8
"""How often the widest of the moves is taken where later steps narrow the set."""

_FILTERS_TRIED = 4
_OPERANDS_TRIED = 4
_SWAMPS = 1.5
"""A set so many times larger, added to the readings' own, would make them all alike."""

_AWARDS_FIRST = 0.2
"""How often an award is tried before other filters, which divide more sets."""

_SET_STEPS = {"U": Union, "I": Intersection, "D": Difference}


class Sampler:
    """Fills templates in. All readings of the focus go the way together."""

    def __init__(self, facts: Facts, moves: Moves, limits: PlanLimits, rng: Random) -> None:
        self._facts = facts
        self._moves = moves
        self._limits = limits
        self._rng = rng
        self._operands = Operands(facts, moves, limits, rng)

    def draft(self, template: Template, focus: Focus) -> Draft:
        """A plan of this shape. Raises RejectedError where the facts lead nowhere."""
        move = focus.move
        first = Atomic(relation=move.relation, inverse=move.inverse, entity=focus.entities[0])
        at = Reached(move.results, focus.sets, move)
        draft = Draft([first], at, 2 if focus.ambiguous else 1, named=set(focus.entities))
        parts = list(template.parts())
        for place, (letter, operand) in enumerate(parts):
            narrowed = any(other in "FGID" for other, _ in parts[place + 1 :])
            if letter == "J":
                self._join(draft, narrowed=narrowed)
            elif letter == "G":
                self._group(draft)
            elif letter == "F":
                self._filter(draft)
            else:
                self._combine(draft, letter, operand)
        if sum(sizes(draft.at.sets)) > self._limits.answers:
            raise RejectedError("too many answers")
        return draft

    def _join(self, draft: Draft, *, narrowed: bool) -> None:
        """The first move that leads on; rather a wide one where later steps narrow it."""
        most = self._limits.members if narrowed else self._limits.answers
        widest = narrowed and self._rng.random() < _WIDE
        found: list[tuple[int, Move, Sets]] = []
        for move in self._onward(draft):
            sets = joined(draft.at.sets, draft.at.links(self._facts, move))
            if draft.enough(sets) and (size := max(sizes(sets))) <= most:
                found.append((size, move, sets))
                if not widest:
                    break
        if not found:
            raise RejectedError("no relation leads on")
        _, move, sets = max(found, key=lambda one: one[0])
        step = Join(relation=move.relation, inverse=move.inverse, of=draft.top)
        draft.add(step, sets, move.results, move)

    def _group(self, draft: Draft) -> None:
        for move in self._onward(draft):
            tallies = counts(draft.at.sets, draft.at.links(self._facts, move))
            most = sorted((max(tally.values(), default=0) for tally in tallies), reverse=True)
            highest = most[draft.needed - 1] if len(most) >= draft.needed else 0
            for least in sorted({2, self._rng.randint(2, max(2, min(highest, 6)))}, reverse=True):
                sets = tuple(frozenset(v for v, n in t.items() if n >= least) for t in tallies)
                every = tuple(frozenset(tally) for tally in tallies)
                if draft.enough(sets, 0.3) and changed(every, sets):
                    step = GroupBy(
                        relation=move.relation,
                        inverse=move.inverse,
                        of=draft.top,
                        at_least=least,
                    )
                    draft.add(step, sets, move.results, move)
                    return
        raise RejectedError("no relation comes several times")

    def _filter(self, draft: Draft) -> None:
        names = [n for n in self._moves.filters_of(draft.at.types) if n not in draft.filtered]
        relations = self._moves.schema.relations
        if self._rng.random() < _AWARDS_FIRST:
            names.sort(key=lambda name: "award" not in relations[name].predicates)
        else:
            names = self._shuffled(names)
        for name in names[:_FILTERS_TRIED]:
            relation = relations[name]
            values = self._facts.related(name, False, draft.at.everything)
            for condition in conditions(relation, values, self._rng):
                fits = satisfying(condition, values)
                sets = kept(draft.at.sets, fits.__contains__)
                if draft.enough(sets) and changed(draft.at.sets, sets):
                    draft.add(Filter(relation=name, condition=condition, of=draft.top), sets)
                    draft.filtered.add(name)
                    return
        raise RejectedError("no filter divides the set")

    def _combine(self, draft: Draft, letter: str, operand: str) -> None:
        first = draft.top
        # Few sets share members with two readings.
        tries = _OPERANDS_TRIED * (3 if letter == "I" and draft.needed > 1 else 1)
        for _ in range(tries):
            other = self._operands.draw(draft, operand, parallel=letter != "I")
            if other is None:
                continue
            sets = _combined(letter, draft.at.sets, other.members)
            types = self._moves.common(draft.at.types, other.types)
            own = sizes(draft.at.sets)
            swamped = letter == "U" and len(other.members) > _SWAMPS * sum(own) / len(own) + 2
            if not types or swamped:
                continue
            effective = changed(draft.at.sets, sets) and other.members not in sets
            if draft.enough(sets) and effective:
                draft.steps += other.steps(first + 1)
                draft.add(_SET_STEPS[letter](of=first, other=draft.top), sets)
                if letter == "U":
                    draft.at = Reached(types, sets, draft.at.last)
                draft.named |= other.named
                return
        raise RejectedError("no second set fits")

    def _onward(self, draft: Draft) -> list[Move]:
        """Moves to try: not straight back, and rather the domain's own."""
        last = draft.at.last
        moves = [
            move
            for move in self._moves.onward(draft.at.types)
            if (move.relation, move.inverse) != last.back
        ]
        return sorted(self._shuffled(moves), key=lambda m: not m.own and self._rng.random() < 0.6)[
            :_MOVES_TRIED
        ]

    def _shuffled(self, items: Sequence[_Choice]) -> list[_Choice]:
        return self._rng.sample(items, len(items))


def _combined(letter: str, sets: Sets, other: frozenset[str]) -> Sets:
    if letter == "U":
        return tuple(s | other if s else s for s in sets)
    return tuple(s & other if letter == "I" else s - other for s in sets)
