"""An article: a lead, then every fact to tell, with asides, in passages."""

from collections.abc import Callable
from typing import NamedTuple

from branchwise.worlds.facts import Fact, FactValue
from branchwise.worlds.telling.mentions import EntityMentions
from branchwise.worlds.telling.prose import ALIAS, TypeProse, Variant
from branchwise.worlds.telling.sentence import Sentences, Subject
from branchwise.worlds.telling.templates import Placeholder
from branchwise.worlds.world import World

FULL = 94
"""Words after which no further sentence is added to a passage: most end near 100."""

SPARSE = 88
"""A passage with fewer words is filled up with asides."""

_MOST_AT_ONCE = 5
_ASIDE = 0.16  # the chance of an aside before a sentence that tells something

ToldValue = tuple[Fact, FactValue]
_NAMED = FactValue(0)  # stands where another name is told


class Telling(NamedTuple):
    """A passage's text, and the facts that it tells."""

    text: str
    told: list[ToldValue]


class Articles:
    """Writes the articles of one type of entity."""

    def __init__(
        self,
        world: World,
        mentions: EntityMentions,
        prose: TypeProse,
        type_number: int,
        random: Callable[[], float],
    ) -> None:
        self.sentences = Sentences(world, mentions, prose, type_number, random)
        self.facts = world.facts[type_number]
        self.prose = prose
        self.random = random
        self.told_here = [
            (prose.bits.get(fact.name), bool(fact.relation.inverse) and not fact.inverse)
            for fact in self.facts
        ]
        self.by_bit = {
            bit: fact for fact in self.facts if (bit := prose.bits.get(fact.name)) is not None
        }
        self._fitting: dict[tuple[int, int], tuple[Variant, ...]] = {}
        self._leading: dict[tuple[int, int], tuple[Variant, ...]] = {}

    def write(self, entity: int, known: list[list[FactValue]]) -> list[Telling]:
        """The passages of an entity's article. `known`: its values, in the order of its facts."""
        return _Article(self, entity, known).written()

    def leading(self, untold: int, has: int) -> tuple[Variant, ...]:
        """The leads that may be used when these facts are untold and those known."""
        found = self._leading.get((untold, has))
        if found is None:
            found = tuple(v for v in self.prose.leads if _fits(v, untold, has))
            self._leading[untold, has] = found
        return found

    def fitting(self, untold: int, has: int) -> tuple[Variant, ...]:
        """The sentences that tell the first untold fact, and perhaps others."""
        found = self._fitting.get((untold, has))
        if found is None:
            first = untold & -untold
            found = tuple(v for v in self.prose.tells if v.needs & first and _fits(v, untold, has))
            self._fitting[untold, has] = found
        return found


def _begin(value: FactValue) -> int:
    return value.begin


def _fits(variant: Variant, untold: int, has: int) -> bool:
    return not variant.needs & ~untold and not variant.mentions & ~has


class _Article:
    """An article in the making."""

    def __init__(self, articles: Articles, entity: int, known: list[list[FactValue]]) -> None:
        self._articles = articles
        self._subject: Subject = articles.sentences.subject(entity)
        self._values: dict[int, list[FactValue]] = {}
        self._always: list[ToldValue] = []
        self._has = 0
        for fact, values, (bit, two_sided) in zip(
            articles.facts, known, articles.told_here, strict=True
        ):
            if bit is None:
                self._always += [(fact, value) for value in values]
            elif values:
                self._has |= 1 << bit
                here = [v for v in values if v.side & 1] if two_sided else values
                if here:
                    in_time = fact.relation.time is not None
                    self._values[bit] = sorted(here, key=_begin) if in_time else list(here)
        if self._subject.alias:
            self._values[articles.prose.bits[ALIAS]] = [_NAMED]
            self._has |= 1 << articles.prose.bits[ALIAS]
        self._untold = sum(1 << bit for bit in self._values)
        self._passages: list[Telling] = []
        self._sentences: list[str] = []
        self._told: list[ToldValue] = []
        self._words = 0
        self._fresh = True
        self._last: Variant | None = None
        self._asides: set[int] = set()

    def written(self) -> list[Telling]:
        self._say(self._one_of(self._articles.leading(self._untold, self._has)))
        self._told += self._always
        while self._untold:
            if self._words >= FULL:
                self._end_passage()
            elif self._articles.random() < _ASIDE:
                self._say_aside()
            self._say(self._one_of(self._articles.fitting(self._untold, self._has)))
        while self._words < SPARSE and self._say_aside():
            pass
        self._end_passage()
        return self._passages

    def _one_of(self, variants: tuple[Variant, ...]) -> Variant:
        """A variant that has values enough and is not the last one, if there is such a one."""
        for _ in range(8):
            variant = variants[int(self._articles.random() * len(variants))]
            if variant is not self._last and not self._lacks(variant):
                return variant
        return next((v for v in variants if not self._lacks(v)), variants[0])

    def _lacks(self, variant: Variant) -> bool:
        return any(len(self._values[bit]) < 2 for bit in variant.several)

    def _say(self, variant: Variant) -> None:
        told = self._take(variant)
        text = self._articles.sentences.fill(variant.parts, self._subject, self._fresh, told)
        self._sentences.append(text)
        self._words += text.count(" ") + 1
        self._fresh = variant.others
        self._last = variant

    def _say_aside(self) -> bool:
        """Add an aside that this article does not have yet, if there is one."""
        asides = self._articles.prose.asides
        start = int(self._articles.random() * len(asides))
        for place in (*range(start, len(asides)), *range(start)):
            if place not in self._asides:
                self._asides.add(place)
                self._say(asides[place])
                return True
        return False

    def _take(self, variant: Variant) -> dict[Placeholder, list[FactValue]]:
        """The values that the sentence tells, taken from the untold ones."""
        taken: dict[Placeholder, list[FactValue]] = {}
        for slot, bit, alone in variant.tells:
            values = self._values[bit]
            count = 1 if alone else min(_MOST_AT_ONCE, len(values))
            taken[slot], self._values[bit] = values[:count], values[count:]
            if not self._values[bit]:
                self._untold &= ~(1 << bit)
            if fact := self._articles.by_bit.get(bit):
                self._told += [(fact, value) for value in values[:count]]
        return taken

    def _end_passage(self) -> None:
        self._passages.append(Telling(" ".join(self._sentences), self._told))
        self._sentences, self._told = [], []
        self._words, self._fresh = 0, True
