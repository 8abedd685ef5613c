"""How texts call entities: by names, titles, descriptions, and words that tell apart."""

from collections.abc import Mapping, Sequence

import numpy as np

from branchwise.worlds.draws import below
from branchwise.worlds.facts import Fact, FactKind, FactValue
from branchwise.worlds.population import NO_SECOND
from branchwise.worlds.telling.prose import Alternatives, Placeholder, TypeProse
from branchwise.worlds.telling.prose import Sequence as Template
from branchwise.worlds.world import World, spoken_date


class BareNames:
    """The shared names whose articles have nothing but the name as title, and whether a relation
    tells their bearers apart. 9 bytes an entity."""

    def __init__(self, world: World) -> None:
        population, schema = world.population, world.schema
        groups = population.groups
        sizes = np.diff(groups.starts)
        draws = below(population.seed, "bare titles", 100, len(groups))
        group_of = np.zeros(len(population), dtype=np.int32)
        group_of[groups.members] = np.repeat(np.arange(len(groups)), sizes)
        self._group_of = group_of.data
        self._members = groups.members.astype(np.int32).data
        self._starts = groups.starts.astype(np.int32).data
        bare = np.zeros(len(population), dtype=np.bool_)
        bare[groups.members] = np.repeat(draws < world.dials.bare_titles, sizes)
        self._is_bare = bare.data
        self._type_number, self._second = world.type_number, world.second
        # By property and direction: a reader knows what is said, not which relation says it.
        self._kinds: dict[tuple[str, bool], set[int]] = {}
        for relation in schema.relations.values():
            sides = ((False, schema.objects(relation)), (True, schema.subjects(relation)))
            for inverse, kinds in sides:
                known = self._kinds.setdefault((relation.property, inverse), set())
                known.update(map(population.types.index, kinds))

    def is_bare(self, entity: int) -> bool:
        return bool(self._is_bare[entity])

    def alone(self, entity: int, fact: Fact) -> bool:
        """Whether only this bearer of the name is of a type that a value of the fact can be of."""
        kinds = self._kinds[fact.relation.property, fact.inverse]
        group = self._group_of[entity]
        for other in self._members[self._starts[group] : self._starts[group + 1]]:
            if other != entity:
                second = self._second(other)
                if self._type_number(other) in kinds or (second != NO_SECOND and second in kinds):
                    return False
        return True


_NO_WORDS: Mapping[str, str] = {}


class EntityMentions:
    """Names of entities in the words of the prose files."""

    def __init__(self, world: World, prose: Sequence[TypeProse]) -> None:
        self._world = world
        self.prose = prose
        self._bare = BareNames(world) if world.dials.bare_titles else None
        types = [world.schema.types[name] for name in world.population.types]
        self._nouns = [kind.noun for kind in types]
        self._articles = ["the " if kind.definite else "" for kind in types]
        self._facts = [{fact.name: fact for fact in facts} for facts in world.facts]

    def plain(self, entity: int) -> str:
        """Its name, with the article that names of its type take."""
        return self._articles[self._world.type_number(entity)] + self._world.label(entity)

    def mention(self, entity: int, fact: Fact | None = None) -> str:
        """Its name as another article has it: the title, where others share the name. `fact`: what
        it is a value of; where articles have that name bare, words tell it apart, unless no other
        of the name can be such a value."""
        if not self._world.shared[entity]:
            return self.plain(entity)
        if self._bare is None or not self._bare.is_bare(entity):
            return self.title(entity)
        if fact is not None and self._bare.alone(entity, fact):
            return self.plain(entity)
        return self.hint(entity)

    def in_passing(self, entity: int, beside: str) -> str:
        """Its name where nothing is said of it, beside another: told apart if that is the same."""
        if self.is_bare(entity) and self.plain(entity) != beside:
            return self.plain(entity)
        return self.mention(entity)

    def is_bare(self, entity: int) -> bool:
        """Whether its articles have its shared name alone as their title."""
        return self._bare is not None and self._bare.is_bare(entity)

    def hint(self, entity: int) -> str:
        """A shared name with the words that tell it apart: "the 1977 album Reef"."""
        return self._filled(self.prose[self._world.type_number(entity)].hint, entity) or ""

    def heading(self, entity: int) -> str:
        """The title of its passages: its full name, or the bare one."""
        return self._world.label(entity) if self.is_bare(entity) else self.title(entity)

    def title(self, entity: int) -> str:
        """Its full name: where others share the name, with what tells it apart."""
        # All who share a name are told apart: one with the bare name could not name a branch.
        label = self._world.label(entity)
        if not self._world.shared[entity]:
            return label
        number = self._world.type_number(entity)
        apart = self._filled(self.prose[number].title, entity)
        # A country alone tells cities apart, not a city from a person of that country.
        if self._world.is_universal(entity) and self._nouns[number] not in (apart or ""):
            apart = self.description(entity)
        return f"{label} ({apart})"

    def description(self, entity: int) -> str:
        """A few words that say what it is: the first form of its type that can be filled."""
        for form in self.prose[self._world.type_number(entity)].description:
            if text := self._filled(form, entity):
                return text
        return self._nouns[self._world.type_number(entity)]

    def source(self, form: Template, entity: int, then: str = "") -> str:
        """The title of a passage elsewhere: "Films of 1977". `then`: the year of the passage."""
        words = {"name": self.heading(entity), "then": then}
        return self._filled(form, entity, words) or self.heading(entity)

    def _filled(
        self, form: Template, entity: int, words: Mapping[str, str] = _NO_WORDS
    ) -> str | None:
        texts = [self._part(part, entity, words) for part in form]
        return None if None in texts else "".join(text for text in texts if text is not None)

    def _part(
        self, part: str | Placeholder | Alternatives, entity: int, words: Mapping[str, str]
    ) -> str | None:
        if isinstance(part, str):
            return part
        if isinstance(part, Alternatives):
            return self._filled(part.options[0], entity, words)
        number = self._world.type_number(entity)
        if part.name == "role":
            return self._nouns[number]
        if part.name in words:
            return words[part.name]
        if part.name == "name":
            return self._world.label(entity)
        fact = self._facts[number].get(part.name)
        values = fact.values(entity) if fact else []
        if not fact or not values:
            return None
        return " and ".join(self._value(fact, part.form, value) for value in values[:2])

    def _value(self, fact: Fact, form: str, value: FactValue) -> str:
        if value.item is not None:
            return value.item.label
        if fact.kind is FactKind.DATE:
            return str(value.content // 10_000) if form == ".year" else spoken_date(value.content)
        if fact.kind is FactKind.NUMBER:
            return f"{value.content:,}"
        return self._world.adjective(value.content) if form == ".adj" else self.plain(value.content)
