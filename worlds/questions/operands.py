"""Second sets for set operations: found backwards, from a member that they are to share."""

from dataclasses import dataclass
from random import Random

from branchwise.worlds.questions.conditions import conditions, satisfying
from branchwise.worlds.questions.drafts import Draft, PlanLimits, counts, joined
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.moves import Move, Moves, Types
from branchwise.worlds.questions.plans import Atomic, Filter, GroupBy, Join, PlanStep

_PARALLEL = 0.6
"""How often a second set begins with the relation that the first one ends with."""


@dataclass(frozen=True)
class Operand:
    """A second set. Its steps are numbered from 0 until they take their places."""

    own: tuple[PlanStep, ...]
    members: frozenset[str]
    types: Types
    named: frozenset[str]

    def steps(self, first: int) -> list[PlanStep]:
        """Its steps, of which the first takes the place `first` in a plan."""
        return [
            step
            if isinstance(step, Atomic)
            else step.model_copy(update={"of": first + step.sources[0]})
            for step in self.own
        ]


@dataclass(frozen=True)
class _Way:
    """Moves from a named entity to a member, and the members passed on the way."""

    entity: str
    moves: tuple[Move, ...]
    passed: tuple[str, ...]


class Operands:
    """Draws second sets that share a member with a first one."""

    def __init__(self, facts: Facts, moves: Moves, limits: PlanLimits, rng: Random) -> None:
        self._facts = facts
        self._moves = moves
        self._limits = limits
        self._rng = rng

    def draw(self, draft: Draft, letters: str, *, parallel: bool) -> Operand | None:
        """A set made by these operations; None where the facts lead nowhere.

        `parallel`: rather by the relation that the first set was reached by.
        """
        members = sorted(self._rng.choice([s for s in draft.at.sets if s]))
        alike = draft.at.last if parallel and self._rng.random() < _PARALLEL else None
        member = self._rng.choice(members)
        way = self._way(draft, member, sum(letter in "AJG" for letter in letters), alike)
        return self._forward(draft, letters, way) if way else None

    def _way(self, draft: Draft, member: str, length: int, alike: Move | None) -> _Way | None:
        moves: list[Move] = []
        passed = [member]
        types = draft.at.types
        for _ in range(length):
            found = self._back(types, passed[0], alike if not moves else None, moves)
            if found is None:
                return None
            moves.insert(0, found[0])
            passed.insert(0, found[1])
            types = found[0].sources
        if passed[0] in draft.named or passed[0] in passed[1:]:
            return None
        return _Way(passed[0], tuple(moves), tuple(passed[1:]))

    def _back(
        self, types: Types, member: str, alike: Move | None, later: list[Move]
    ) -> tuple[Move, str] | None:
        """A move that leads to the member, and where it comes from."""
        moves = [
            move
            for move in ([alike] if alike else self._moves.towards(types))
            if not later or (later[0].relation, later[0].inverse) != move.back
        ]
        for move in self._rng.sample(moves, len(moves))[:6]:
            if sources := self._facts.related(move.relation, not move.inverse, [member]):
                return move, self._rng.choice(sources[member])
        return None

    def _forward(self, draft: Draft, letters: str, way: _Way) -> Operand | None:
        """Take the steps; a filter or count keeps the member that was passed."""
        steps: list[PlanStep] = []
        reached: frozenset[str] = frozenset({way.entity})
        walked = 0
        used = set(draft.filtered)
        for letter in letters:
            before = reached
            if letter == "F":
                made = self._filter(way, walked - 1, before, used, len(steps) - 1)
            else:
                made = self._walk(letter, way, walked, before, len(steps) - 1)
                walked += 1
            if made is None or len(made[1]) > self._limits.members:
                return None
            steps.append(made[0])
            reached = made[1]
        draft.filtered |= used
        types = way.moves[-1].results
        return Operand(tuple(steps), reached, types, frozenset({way.entity}))

    def _walk(
        self, letter: str, way: _Way, place: int, members: frozenset[str], of: int
    ) -> tuple[PlanStep, frozenset[str]] | None:
        move = way.moves[place]
        links = self._facts.related(move.relation, move.inverse, sorted(members))
        (every,) = joined((members,), links)
        relation, inverse = move.relation, move.inverse
        if letter == "A":
            return Atomic(relation=relation, inverse=inverse, entity=way.entity), every
        if letter == "J":
            return Join(relation=relation, inverse=inverse, of=of), every
        (tally,) = counts((members,), links)
        if (highest := tally[way.passed[place]]) < 2:
            return None
        least = self._rng.randint(2, min(highest, 4))
        chosen = frozenset(v for v, n in tally.items() if n >= least)
        step = GroupBy(relation=relation, inverse=inverse, of=of, at_least=least)
        return (step, chosen) if chosen != every else None

    def _filter(
        self, way: _Way, place: int, members: frozenset[str], used: set[str], of: int
    ) -> tuple[PlanStep, frozenset[str]] | None:
        names = [n for n in self._moves.filters_of(way.moves[place].results) if n not in used]
        for name in self._rng.sample(names, len(names))[:3]:
            values = self._facts.related(name, False, sorted(members))
            for condition in conditions(self._moves.schema.relations[name], values, self._rng):
                chosen = members & satisfying(condition, values)
                if way.passed[place] in chosen and chosen != members:
                    used.add(name)
                    return Filter(relation=name, condition=condition, of=of), chosen
        return None
