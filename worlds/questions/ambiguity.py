"""Names that several entities share, and the readings that they give a question."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple, cast

import numpy as np
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import first_problem, parse_object, read_lines
from branchwise.worlds.questions.drafts import (
    USED_UP,
    Focus,
    Move,
    Moves,
    NameQuota,
    Neighbours,
    PlanLimits,
    RejectedError,
)
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import Plan

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@dataclass(frozen=True)
class Bearer:
    """An entity with a shared name. `title` tells it apart from the others: branches have it."""

    id: str
    title: str
    description: str = ""


SharedNames = Mapping[str, Sequence[Bearer]]


class _Entity(BaseModel):
    id: _Text
    title: _Text
    description: str = ""


class _Line(BaseModel):
    name: _Text
    entities: Annotated[list[_Entity], Field(min_length=2)]


def read_names(path: Path) -> dict[str, tuple[Bearer, ...]]:
    """Names with their bearers, from JSONL as a world has it: {"name", "entities": [{"id",
    "title", "description"}, ...]}. Raises InputError with file and line."""
    names: dict[str, tuple[Bearer, ...]] = {}
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        try:
            read = _Line.model_validate(parse_object(line, where))
        except ValidationError as error:
            raise InputError(first_problem(error), where=where) from None
        if read.name in names:
            raise InputError(f"the name {read.name!r} comes twice", where=where)
        if len({entity.title for entity in read.entities}) < len(read.entities):
            raise InputError(f"two bearers of {read.name!r} have one title", where=where)
        # IRIs stand in angle brackets in plans.
        bare = [entity.id for entity in read.entities]
        ids = [f"<{id}>" if "://" in id and not id.startswith("<") else id for id in bare]
        pairs = zip(ids, read.entities, strict=True)
        names[read.name] = tuple(Bearer(id, e.title, e.description) for id, e in pairs)
    return names


def shared_names(facts: Facts) -> dict[str, tuple[Bearer, ...]]:
    """The labels that several entities of a graph have, in alphabetical order. A title is the label
    with the kind of thing it is, and its number where that is not enough."""
    bearers: dict[str, dict[str, str]] = {}
    for name in facts.schema.concrete:
        noun = facts.schema.types[name].noun
        for entity in facts.members(name):
            bearers.setdefault(facts.label(entity), {}).setdefault(entity, noun)
    names = {}
    for label, nouns in sorted(bearers.items()):
        if len(nouns) > 1:
            alike = Counter(nouns.values())
            apart = {id: noun if alike[noun] == 1 else f"{noun} {id}" for id, noun in nouns.items()}
            names[label] = tuple(Bearer(id, f"{label} ({kind})") for id, kind in apart.items())
    return names


_OWN_MOVES = 3.0  # how much more often a question begins with a domain's own relation
_FORMER_MOVES = 4.0  # and with one to former values, where the question is to be about such
_TITLED = 0.1  # the share of single entities that may be told apart by a title
_WIDE = 0.6  # how often the entity is taken that is related to most of those that were drawn
_BACK = 0.7  # the share of draws by what entities are related to: one is as likely as it has links
_TRIED = 24

MAX_CANDIDATES = 50
"""What a model may choose among; the published pipeline offers about as many."""


@dataclass(frozen=True)
class EntityNaming:
    """How entities are called without doubt: by a title, where the name is shared."""

    facts: Facts
    names: SharedNames

    @cached_property
    def bearers(self) -> dict[str, Bearer]:
        return {bearer.id: bearer for own in self.names.values() for bearer in own}

    def __call__(self, entity: str) -> str:
        bearer = self.bearers.get(entity)
        return bearer.title if bearer else self.facts.label(entity)

    def kind(self, entity: str) -> str:
        """What stands for an entity until one is chosen: "a certain film"; an item is itself."""
        name = self.facts.type_of(entity)
        return f"a certain {self.facts.schema.types[name].noun}" if name else self(entity)


class Focuses:
    """Draws focuses. Names that had their turn come less often."""

    def __init__(
        self, naming: EntityNaming, limits: PlanLimits, quota: NameQuota, rng: Random
    ) -> None:
        self._naming = naming
        self._quota = quota
        self._facts = naming.facts
        self._limits = limits
        self._rng = rng
        self._used: Counter[str] = Counter()
        self._shared = _Shared(naming.names)
        relations = naming.facts.schema.relations
        of_property: dict[str, list[str]] = {}
        for name, relation in relations.items():
            of_property.setdefault(relation.kept_as(), []).append(name)
        self._same = {name: of_property[one.kept_as()] for name, one in relations.items()}
        self._groups: dict[tuple[str, bool, int], _Group] = {}
        self._narrow: set[tuple[Move, int]] = set()  # lead to fewer than so many, mostly

    def shared(self, moves: Moves, least: int) -> Focus:
        """A shared name of two bearers or more that the same relation leads on from, to at least so
        many members each; oftener one with many such bearers. Raises RejectedError."""
        known = self._groups.get
        fitting = [
            move
            for move in moves.all
            if (group := known((move.relation, move.inverse, least))) is None or len(group.places)
        ]
        if not fitting:
            raise RejectedError("no shared name fits")
        move = self._move(fitting)
        group = self._fitting(move, least)
        if not len(group.places):
            raise RejectedError("no shared name fits")
        # A name of a group, by how many of its bearers fit, how widely, and how often it was used.
        weights = (group.sizes - 1) ** 4 * group.widths / (1 + self._shared.used[group.places]) ** 2
        weights[self._shared.full[group.places]] = 0
        if not weights.any():
            raise RejectedError(USED_UP)
        upto = cast("Sequence[float]", weights.cumsum())
        (drawn,) = self._rng.choices(range(len(group.places)), cum_weights=upto)
        named = self._named([self._shared.names[int(group.places[drawn])]], move)
        if not named:
            raise RejectedError("a bearer of another kind may be meant")
        return named[0]

    def single(self, moves: Moves, least: int) -> Focus:
        """An entity with a name of its own, rarely one with a title; one of those that are related
        to most comes oftener. Raises RejectedError."""
        move = self._move([m for m in moves.all if (m, least) not in self._narrow])
        fitting, links = self._drawn(move, least, _TRIED)
        if not fitting:
            self._narrow.add((move, least))
        own = [e for e in fitting if e not in self._naming.bearers]
        if self._rng.random() < _TITLED:
            own = fitting
        if not own:
            raise RejectedError("no entity fits")
        own = [e for e in own if not self._quota.is_full(e)]
        if not own:
            raise RejectedError(USED_UP)
        if self._rng.random() < _WIDE:
            entity = max(own, key=lambda e: len(links[e]) / (1 + self._used[e]))
        else:
            entity = min(own, key=lambda e: self._used[e])
        return self._focus(self._naming(entity), [entity], move, links)

    def candidates(self, focus: Focus, least: int) -> list[Focus]:
        """In any order, the focus and others that could have been drawn for its relation."""
        move, most = focus.move, MAX_CANDIDATES - 1
        if focus.ambiguous:
            places = self._fitting(move, least).places
            places = places[~self._shared.full[places]].tolist()
            sample = self._rng.sample(places, min(len(places), MAX_CANDIDATES))
            others = self._named([self._shared.names[place] for place in sample], move)
        else:
            drawn, links = self._drawn(move, least, 4 * MAX_CANDIDATES)
            full = self._quota.is_full
            own = [e for e in drawn if e not in self._naming.bearers and not full(e)]
            others = [self._focus(self._naming(entity), [entity], move, links) for entity in own]
        several = [focus, *[other for other in others if other.name != focus.name][:most]]
        return self._rng.sample(several, len(several))

    def used(self, focus: Focus, plan: Plan) -> None:
        """Count a focus; `plan` names other entities, of which some share a name, too."""
        if focus.ambiguous:
            self._shared.used[self._shared.places[focus.name]] += 1
        else:
            self._used[focus.entities[0]] += 1
        for entity in plan.entities():
            if entity in self._naming.bearers and self._quota.is_full(entity):
                self._shared.full[self._shared.places[self._facts.label(entity)]] = True

    def _drawn(self, move: Move, least: int, tries: int) -> tuple[list[str], Neighbours]:
        """Of so many entities those that the relation leads on from, and where it leads."""
        pools = [pool for pool in map(self._facts.members, move.sources) if pool]
        if not pools:
            raise RejectedError("no entity fits")
        back = round(_BACK * tries)
        drawn = self._anyone(pools, tries - back)
        if ends := [pool for pool in map(self._facts.members, move.results) if pool]:
            starts = self._facts.related(move.relation, not move.inverse, self._anyone(ends, back))
            drawn += [self._rng.choice(members) for members in starts.values()]
        drawn = list(dict.fromkeys(drawn))
        links = self._facts.related(move.relation, move.inverse, drawn)
        return [e for e in drawn if least <= len(links.get(e, ())) <= self._limits.members], links

    def _anyone(self, pools: Sequence[Sequence[str]], count: int) -> list[str]:
        chosen = self._rng.choices(pools, [len(pool) for pool in pools], k=count)
        return list(dict.fromkeys(self._rng.choice(pool) for pool in chosen))

    def _named(self, names: Sequence[str], move: Move) -> list[Focus]:
        """Shared names, with those of their bearers that the relation leads on from. None of which
        the same is said in another domain: the head office of Arden Vale may be a publisher's or a
        bank's, and a plan has the one relation."""
        of_name = {name: [bearer.id for bearer in self._naming.names[name]] for name in names}
        every = [entity for bearers in of_name.values() for entity in bearers]
        links = self._facts.related(move.relation, move.inverse, every)
        others = [entity for entity in every if entity not in links]
        elsewhere: set[str] = set()
        for name in self._same[move.relation]:
            elsewhere.update(self._facts.related(name, move.inverse, others))
        return [
            self._focus(name, [entity for entity in bearers if entity in links], move, links)
            for name, bearers in of_name.items()
            if elsewhere.isdisjoint(bearers)
        ]

    def _focus(self, name: str, entities: list[str], move: Move, links: Neighbours) -> Focus:
        sets = tuple(frozenset(links[entity]) for entity in entities)
        return Focus(name, tuple(entities), move, sets)

    def _move(self, moves: Sequence[Move]) -> Move:
        if not moves:
            raise RejectedError("no relation to begin with")
        weights = [
            (_OWN_MOVES if move.own else 1.0) * (_FORMER_MOVES if move.ended else 1.0)
            for move in moves
        ]
        return self._rng.choices(moves, weights)[0]

    def _fitting(self, move: Move, least: int) -> "_Group":
        """Names with how many of their bearers the relation leads on from."""
        key = (move.relation, move.inverse, least)
        if key not in self._groups:
            degrees = self._facts.degrees(move.relation, move.inverse, self._shared.bearers)
            fits = (least <= degrees) & (degrees <= self._limits.members)
            before = np.append(0, fits.cumsum())
            sizes = np.diff(before[self._shared.starts])
            several = np.flatnonzero(sizes > 1)
            upto = np.append(0, np.where(fits, degrees, 0).cumsum())
            links = np.diff(upto[self._shared.starts])[several]
            widths = np.sqrt(links / sizes[several])
            self._groups[key] = _Group(several, sizes[several], widths)
        return self._groups[key]


class _Group(NamedTuple):
    """Names (ascending indices) of several bearers that a relation leads on from: how many they
    are, and the root of how many links each has."""

    places: np.ndarray
    sizes: np.ndarray
    widths: np.ndarray


class _Shared:
    """All shared names, with their bearers in a row: those of `names[n]` begin at `starts[n]`."""

    def __init__(self, names: SharedNames) -> None:
        self.names = list(names)
        self.places = {name: place for place, name in enumerate(self.names)}
        self.bearers = tuple(bearer.id for own in names.values() for bearer in own)
        self.starts = np.cumsum([0, *map(len, names.values())])
        self.used = np.zeros(len(self.names), dtype=np.int64)
        self.full = np.zeros(len(self.names), dtype=np.bool_)
