"""Plans at random: a shape, then relations and entities that fit it.

A shape is written as its operations in order, one letter each: A(tomic), J(oin), F(ilter),
G(roup by), U(nion), I(ntersection), D(ifference). As in reverse Polish notation an operation takes
the latest sets: "AJAFD" are the relatives of what an entity is related to, but those that are in a
filtered second set. The first A is the focus.
Forward over the facts, since most plans from templates would come out empty.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from branchwise.worlds.questions.drafts import (
    Draft,
    Focus,
    Move,
    Moves,
    NameQuota,
    PlanLimits,
    Reached,
    RejectedError,
    Sets,
    Types,
    changed,
    conditions,
    counts,
    joined,
    kept,
    sizes,
)
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import (
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Holds,
    Intersection,
    Join,
    PlanStep,
    Union,
    satisfying,
)

SET_OPERATIONS = "UID"

_SHAPES = (
    "AJ AF AG",
    "AJJ AJF AFJ AFF AGF AFG AJG AGJ AAI AAD AAU",
    "AJJF AJFF AJFJ AFJF AFFJ AJJG AJFG AFGF AJGF AGJF AAIJ AADJ AAUJ AAIF AAUF AADF AAUG AAIG "
    "AJAI AJAD AJAU AFAI AFAD AFAU AAFD AAFU AGAI AGAD AGAU",
    "AJAJI AJAJD AJAJU AJAFD AJAFI AFAFI AFAFD AFAFU AJAIF AJADF AJAUF AGADF AGAIF AAIJF AADJF "
    "AAUJF AAUGF AADGF AAUFJ AADFJ AAUFG AFAIJ AFADG AGAGD AGAJI AAUAD AAUAI AAIAD AFFAD AJFAD "
    "AJFAI AFJAD AFJAI AFGAD AFFJF AJJFF",
    "AJAJIF AJAJDF AJAJUF AJFAJD AJFAJI AFJAJD AFJAJI AFGAJD AJAFDF AFAFUG AFAFDJ AAUADF AAUAIF "
    "AAIADF AAUADJ AAUADG AAUJAD AAUGAD AADJAI AFAUJF AFADJF AJJAJI AJJFAD AFAFIF",
    "AJFAJDF AJFAJFD AJFAJFI AJFAFDJ AJAFUAD AAUJFAD AAIJFAD AAUAJDF AFJAFJI AFAUJFF AJJFAJI "
    "AAUFJJF AAUFJFF AAUFFJF",
    "AAUFFJFJ AAUFJFJF AAUFJFFJ AAUJFFJF AAUFFJJF AAUFFJFF",
)
_SHARES = {True: (8, 20, 30, 22, 12, 5, 3), False: (4, 12, 26, 28, 16, 8, 6)}
"""Of shapes of two steps, three, and so on, where a focus is ambiguous and where it is not."""


_DENIALS = 3
"""How much oftener plans with a difference are drawn: words are found for fewer of them."""


@dataclass(frozen=True)
class Template:
    """A shape; `weight` is how often it is wanted beside the others."""

    letters: str
    weight: float

    def parts(self) -> Iterator[tuple[str, str]]:
        """Its operations in order, each with the letters that its second set is made by, or ""."""
        operand = ""
        for letter in self.letters[1:]:
            if letter in SET_OPERATIONS:
                yield letter, operand
                operand = ""
            elif operand or letter == "A":
                operand += letter
            else:
                yield letter, ""


def templates(*, ambiguous: bool) -> tuple[Template, ...]:
    """All shapes. None has the same set operation twice."""
    shares = zip(_SHAPES, _SHARES[ambiguous], strict=True)
    rows = [(row.split(), share) for row, share in shares]
    return tuple(
        Template(letters, share / len(row) * (_DENIALS if "D" in letters else 1))
        for row, share in rows
        for letters in row
    )


_TRIES_AS_ONE = 40
"""So many tries of a template count as one accepted: those that hardly fit a graph come to rest."""


class TemplateDraw:
    """Draws templates by weight; those that were often accepted already are drawn less often."""

    def __init__(self, rng: Random, *, ambiguous: bool) -> None:
        self._rng = rng
        self._all = templates(ambiguous=ambiguous)
        self._had: Counter[str] = Counter()  # turns, in tries

    def draw(self) -> Template:
        turns = ((t.weight, self._had[t.letters] / _TRIES_AS_ONE) for t in self._all)
        weights = [weight / (1 + had / weight) for weight, had in turns]
        (template,) = self._rng.choices(self._all, weights)
        self._had[template.letters] += 1
        return template

    def accept(self, template: Template) -> None:
        self._had[template.letters] += _TRIES_AS_ONE


_PARALLEL = 0.6  # how often a second set begins with the relation that the first one ends with


@dataclass(frozen=True)
class Operand:
    """A second set. Its steps are numbered from 0 until they take their places."""

    own: tuple[PlanStep, ...]
    members: frozenset[str]
    types: Types
    entity: str  # that it begins with

    def steps(self, first: int) -> list[PlanStep]:
        """Its steps, of which the first takes the place `first` in a plan."""
        return [
            step if isinstance(step, Atomic) else step.model_copy(update={"of": first + step.of})
            for step in self.own
        ]


@dataclass(frozen=True)
class _Way:
    entity: str
    moves: tuple[Move, ...]
    passed: tuple[str, ...]


class Operands:
    """Draws second sets that share a member with a first one."""

    def __init__(
        self, facts: Facts, moves: Moves, limits: PlanLimits, quota: NameQuota, rng: Random
    ) -> None:
        self._facts = facts
        self._moves = moves
        self._limits = limits
        self._quota = quota
        self._rng = rng

    def draw(self, draft: Draft, letters: str, *, parallel: bool) -> Operand | None:
        """A set made by these operations; None where the facts lead nowhere. `parallel`: rather by
        the relation that the first set was reached by."""
        members = sorted(self._rng.choice([s for s in draft.at.sets if s]))
        alike = draft.at.last if parallel and self._rng.random() < _PARALLEL else None
        moves: list[Move] = []
        passed = [self._rng.choice(members)]
        types = draft.at.types
        for _ in range(sum(letter in "AJG" for letter in letters)):
            step = self._back(types, passed[0], alike if not moves else None, moves)
            if step is None:
                return None
            moves.insert(0, step[0])
            passed.insert(0, step[1])
            types = step[0].sources
        if passed[0] in draft.named or passed[0] in passed[1:] or self._quota.is_full(passed[0]):
            return None
        return self._forward(draft, letters, _Way(passed[0], tuple(moves), tuple(passed[1:])))

    def _back(
        self, types: Types, member: str, alike: Move | None, later: list[Move]
    ) -> tuple[Move, str] | None:
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
            if letter == "F":
                made = self._filter(way, walked - 1, reached, used, len(steps) - 1)
            else:
                made = self._walk(letter, way, walked, reached, len(steps) - 1)
                walked += 1
            if made is None or len(made[1]) > self._limits.members:
                return None
            steps.append(made[0])
            reached = made[1]
        draft.filtered |= used
        return Operand(tuple(steps), reached, way.moves[-1].results, way.entity)

    def _walk(
        self, letter: str, way: _Way, walked: int, members: frozenset[str], of: int
    ) -> tuple[PlanStep, frozenset[str]] | None:
        move = way.moves[walked]
        links = self._facts.related(move.relation, move.inverse, sorted(members))
        if letter != "G" and any(len(v) > self._limits.members for v in links.values()):
            return None
        (every,) = joined((members,), links)
        relation, inverse = move.relation, move.inverse
        if letter == "A":
            return Atomic(relation=relation, inverse=inverse, entity=way.entity), every
        if letter == "J":
            return Join(relation=relation, inverse=inverse, of=of), every
        (tally,) = counts((members,), links)
        if (highest := tally[way.passed[walked]]) < 2:
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
                if isinstance(condition, Holds) and self._quota.is_full(condition.value):
                    continue
                chosen = members & satisfying(condition, values)
                if way.passed[place] in chosen and chosen != members:
                    used.add(name)
                    return Filter(relation=name, condition=condition, of=of), chosen
        return None


_MOVES_TRIED = 6
_WIDE = 0.8  # how often the widest of the moves is taken where later steps narrow the set
_FILTERS_TRIED = 4
_OPERANDS_TRIED = 4
_SWAMPS = 1.5  # a set so many times larger, added to the readings' own, would make them all alike
_AWARDS_FIRST = 0.2  # how often an award is tried before other filters, which divide more sets
_SET_STEPS = {"U": Union, "I": Intersection, "D": Difference}


class Sampler:
    """Fills templates in. All readings of the focus go the way together."""

    def __init__(
        self, facts: Facts, moves: Moves, limits: PlanLimits, quota: NameQuota, rng: Random
    ) -> None:
        self._facts = facts
        self._moves = moves
        self._limits = limits
        self._quota = quota
        self._rng = rng
        self._operands = Operands(facts, moves, limits, quota, rng)

    def draft(self, template: Template, focus: Focus) -> Draft:
        """A plan of this shape. Raises RejectedError where the facts lead nowhere."""
        move = focus.move
        first = Atomic(relation=move.relation, inverse=move.inverse, entity=focus.entities[0])
        at = Reached(move.results, focus.sets, move)
        # Two thirds of a name's bearers must come to something, or few questions had many readings.
        needed = max(2, (2 * len(focus.entities) + 2) // 3) if focus.ambiguous else 1
        draft = Draft([first], at, needed, named=set(focus.entities))
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
        fitting: list[tuple[int, Move, Sets]] = []
        for move in self._onward(draft):
            links = draft.at.links(self._facts, move)
            if any(len(values) > most for values in links.values()):
                continue  # without reading the hundred thousand citizens of a country
            sets = joined(draft.at.sets, links)
            if draft.enough(sets) and (size := max(sizes(sets))) <= most:
                fitting.append((size, move, sets))
                if not widest:
                    break
        if not fitting:
            raise RejectedError("no relation leads on")
        _, move, sets = max(fitting, key=lambda choice: choice[0])
        step = Join(relation=move.relation, inverse=move.inverse, of=draft.top)
        draft.add(step, sets, move.results, move)

    def _group(self, draft: Draft) -> None:
        for move in self._onward(draft):
            tallies = counts(draft.at.sets, draft.at.links(self._facts, move))
            every = tuple(frozenset(tally) for tally in tallies)
            most = sorted((max(tally.values(), default=0) for tally in tallies), reverse=True)
            highest = most[draft.needed - 1] if len(most) >= draft.needed else 0
            for least in sorted({2, self._rng.randint(2, max(2, min(highest, 6)))}, reverse=True):
                sets = tuple(frozenset(v for v, n in t.items() if n >= least) for t in tallies)
                if draft.enough(sets, 0.3) and changed(every, sets):
                    relation, inverse = move.relation, move.inverse
                    step = GroupBy(relation=relation, inverse=inverse, of=draft.top, at_least=least)
                    draft.add(step, sets, move.results, move)
                    return
        raise RejectedError("no relation comes several times")

    def _filter(self, draft: Draft) -> None:
        names = [n for n in self._moves.filters_of(draft.at.types) if n not in draft.filtered]
        relations = self._moves.schema.relations
        if self._rng.random() < _AWARDS_FIRST:
            names.sort(key=lambda name: "award" not in relations[name].predicates)
        else:
            names = self._rng.sample(names, len(names))
        for name in names[:_FILTERS_TRIED]:
            relation = relations[name]
            values = self._facts.related(name, False, draft.at.everything)
            for condition in conditions(relation, values, self._rng):
                if isinstance(condition, Holds) and self._quota.is_full(condition.value):
                    continue
                fits = satisfying(condition, values)
                sets = kept(draft.at.sets, fits.__contains__)
                if draft.enough(sets) and changed(draft.at.sets, sets):
                    draft.add(Filter(relation=name, condition=condition, of=draft.top), sets)
                    draft.filtered.add(name)
                    return
        raise RejectedError("no filter divides the set")

    def _combine(self, draft: Draft, letter: str, operand: str) -> None:
        first, before = draft.top, draft.at.sets
        own = sizes(before)
        # Few sets share members with two readings.
        tries = _OPERANDS_TRIED * (3 if letter == "I" and draft.needed > 1 else 1)
        for _ in range(tries):
            other = self._operands.draw(draft, operand, parallel=letter != "I")
            if other is None:
                continue
            own_members = other.members
            if letter == "U":
                sets = tuple(s | own_members if s else s for s in before)
            else:
                sets = tuple(s & own_members if letter == "I" else s - own_members for s in before)
            types = self._moves.common(draft.at.types, other.types)
            swamped = letter == "U" and len(other.members) > _SWAMPS * sum(own) / len(own) + 2
            if not types or swamped:
                continue
            if draft.enough(sets) and changed(before, sets) and other.members not in sets:
                draft.steps += other.steps(first + 1)
                step = _SET_STEPS[letter](of=first, other=draft.top)
                draft.add(step, sets, types if letter == "U" else ())
                draft.named.add(other.entity)
                return
        raise RejectedError("no second set fits")

    def _onward(self, draft: Draft) -> list[Move]:
        back = draft.at.last.back
        moves = [m for m in self._moves.onward(draft.at.types) if (m.relation, m.inverse) != back]
        moves = self._rng.sample(moves, len(moves))
        return sorted(moves, key=lambda m: not m.own and self._rng.random() < 0.6)[:_MOVES_TRIED]
