"""How entities are called: titles, mentions in other articles, descriptions."""

from collections.abc import Callable
from collections.abc import Sequence as Many
from random import Random

from branchwise.worlds.facts import Fact, FactKind, FactValue
from branchwise.worlds.literals import spoken_date
from branchwise.worlds.telling.prose import TypeProse
from branchwise.worlds.telling.templates import Alternatives, Placeholder, Sequence
from branchwise.worlds.world import World


class EntityMentions:
    """Names of entities in the words of the prose files."""

    def __init__(self, world: World, prose: Many[TypeProse]) -> None:
        self._world = world
        self._prose = prose
        types = [world.schema.types[name] for name in world.population.types]
        self._nouns = [kind.noun for kind in types]
        self._articles = ["the " if kind.definite else "" for kind in types]
        self._facts = [{fact.name: fact for fact in facts} for facts in world.facts]

    def plain(self, entity: int) -> str:
        """Its name, with the article that names of its type take."""
        return self._articles[self._world.type_number(entity)] + self._world.label(entity)

    def mention(self, entity: int) -> str:
        """Its name as another article has it: the title, where others share the name."""
        return self.title(entity) if self._world.shared[entity] else self.plain(entity)

    def title(self, entity: int) -> str:
        """The title of its article: the name; where others share it, with what tells it apart."""
        label = self._world.label(entity)
        if not self._world.shared[entity]:
            return label
        apart = self._filled(self._prose[self._world.type_number(entity)].title, entity)
        return f"{label} ({apart})"

    def description(self, entity: int) -> str:
        """A few words that say what it is: the first form of its type that can be filled."""
        for form in self._prose[self._world.type_number(entity)].description:
            if text := self._filled(form, entity):
                return text
        return self._nouns[self._world.type_number(entity)]

    def _filled(self, form: Sequence, entity: int) -> str | None:
        texts = [self._part(part, entity) for part in form]
        return None if None in texts else "".join(text for text in texts if text is not None)

    def _part(self, part: str | Placeholder | Alternatives, entity: int) -> str | None:
        if isinstance(part, str):
            return part
        if isinstance(part, Alternatives):
            return self._filled(part.options[0], entity)
        number = self._world.type_number(entity)
        if part.name == "role":
            return self._nouns[number]
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


def stream(key: int) -> Callable[[], float]:
    """Random numbers in [0, 1) from a Mersenne Twister, whose sequence Python guarantees."""
    return Random(key).random
