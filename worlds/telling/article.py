"""The article of an entity: what it mentions, its sentences, in order."""

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from branchwise.worlds.facts import Fact, FactKind, FactValue
from branchwise.worlds.telling.prose import (
    ALIAS,
    Alternatives,
    Placeholder,
    Sequence,
    TypeProse,
    Variant,
)
from branchwise.worlds.world import World, spoken_date


class EntityMentions:
    """Names of entities in the words of the prose files."""

    def __init__(self, world: World, prose: Many[TypeProse]) -> None:
        self._world = world
        self.prose = prose
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
        # All who share a name are told apart: one with the bare name could not name a branch.
        label = self._world.label(entity)
        if not self._world.shared[entity]:
            return label
        apart = self._filled(self.prose[self._world.type_number(entity)].title, entity)
        return f"{label} ({apart})"

    def description(self, entity: int) -> str:
        """A few words that say what it is: the first form of its type that can be filled."""
        for form in self.prose[self._world.type_number(entity)].description:
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


_ARTICLE = "\0"
_VOWELS = "aeiouáéíóúàèäöüåø"
_PRONOUNS = {  # subject, object, possessive, reflexive
    "it": ("it", "it", "its", "itself"),
    "she": ("she", "her", "her", "herself"),
    "he": ("he", "him", "his", "himself"),
}
_PLACES = {"they": 0, "them": 1, "their": 2, "themself": 3}
_POSSESSIVE, _NO_PRONOUN = 2, 3
_CASES = {"s": 0, "o": 1, "s's": _POSSESSIVE, "n": _NO_PRONOUN}


class Subject(NamedTuple):
    """How an entity is called in its own article."""

    entity: int
    name: str
    short: tuple[str, ...]  # a surname, or "the film"
    pronouns: tuple[str, str, str, str]
    role: str
    alias: str


class Sentences:
    """Fills templates for the entities of one type."""

    def __init__(
        self, world: World, mentions: EntityMentions, number: int, random: Callable[[], float]
    ) -> None:
        """`number`: that of the type."""
        self._world, self._mentions = world, mentions
        self.prose, self.random = mentions.prose[number], random
        self._range = world.population.starts[number : number + 2]
        self._role = world.schema.types[world.population.types[number]].noun
        self.facts: Mapping[str, Fact] = {fact.name: fact for fact in world.facts[number]}

    def subject(self, entity: int) -> Subject:
        pronoun, short = "it", self.prose.subject
        if self.prose.is_person:
            pronoun = "she" if self._world.is_female(entity) else "he"
            short = (self._world.surname(entity),)
        name = self._mentions.plain(entity)
        alias = self._world.alias(entity)
        return Subject(entity, name, short, _PRONOUNS[pronoun], self._role, alias)

    def fill(
        self,
        parts: Sequence,
        subject: Subject,
        fresh: bool,
        values: Mapping[Placeholder, list[FactValue]],
    ) -> str:
        """The sentence. `fresh`: the subject has to be named. `values`: the values of each slot."""
        filling = _Filling(self, subject, fresh, values)
        text = "".join(filling.texts(parts))
        while _ARTICLE in text:
            before, _, after = text.partition(_ARTICLE)
            following = after.lstrip()
            vowel = following[:1].lower() in _VOWELS or following.startswith(("8", "11 ", "18"))
            text = f"{before}{'an' if vowel else 'a'}{after}"
        if ".." in text:  # after a name that ends in a full stop
            text = text.replace("..", ".")
        return text[0].upper() + text[1:]

    def reference(self, subject: Subject, case: int, fresh: bool, named: bool) -> str:
        """The subject as name, surname, noun phrase or pronoun."""
        chance = self.random()
        if not fresh and case != _NO_PRONOUN and chance < (0.92 if named else 0.55):
            return subject.pronouns[case]
        text = subject.name
        if (not fresh or named) and chance < 0.9 and subject.short:
            text = subject.short[int(self.random() * len(subject.short))]
        if case != _POSSESSIVE:
            return text
        plural = text.endswith("s") and not self.prose.is_person
        return f"{text}'" if plural else f"{text}'s"

    def option(self, choice: Alternatives) -> Sequence:
        return choice.options[int(self.random() * len(choice.options))]

    def other(self, subject: Subject) -> str:
        """Another entity of the same type, as a distractor; never the subject itself."""
        first, end = self._range
        entity = first + int(self.random() * (end - first))
        if entity == subject.entity:
            entity = first + (entity - first + 1) % (end - first)
        return self._mentions.mention(entity)

    def values(self, slot: Placeholder, values: list[FactValue], at_end: bool) -> str:
        """A list of values: "A, B and C"."""
        fact = self.facts[slot.name]
        texts = [self._value(fact, value) for value in values]
        if fact.relation.time is not None:
            alone = len(values) == 1 and at_end and self.random() < 0.6
            texts = [
                _dated(text, value, fact.relation.time_as, alone or fact.inverse)
                for text, value in zip(texts, values, strict=True)
            ]
        if len(texts) == 1:
            return texts[0]
        return f"{', '.join(texts[:-1])} and {texts[-1]}"

    def _value(self, fact: Fact, value: FactValue) -> str:
        if fact.kind is FactKind.ENTITY:
            return self._mentions.mention(value.content)
        if value.item is not None:
            return value.item.label
        return spoken_date(value.content) if fact.kind is FactKind.DATE else f"{value.content:,}"

    def mentioned(self, slot: Placeholder, subject: Subject) -> str:
        """A year or an adjective in passing, which tells nothing."""
        value = self.facts[slot.name].values(subject.entity)[0]
        if slot.form == ".adj":
            return self._world.adjective(value.content)
        return str(value.content // 10_000)


@dataclass
class _Filling:
    """The state of one sentence: whether its subject has been named."""

    sentences: Sentences
    subject: Subject
    fresh: bool
    values: Mapping[Placeholder, list[FactValue]]
    named: bool = False

    def texts(self, parts: Sequence) -> list[str]:
        result: list[str] = []
        for index, part in enumerate(parts):
            if isinstance(part, str):
                result.append(part)
            elif isinstance(part, Alternatives):
                result += self.texts(self.sentences.option(part))
            else:
                after = parts[index + 1] if index + 1 < len(parts) else "."
                at_end = isinstance(after, str) and after[:1] in ".,;"
                result.append(self.slot(part, at_end))
        return result

    def slot(self, slot: Placeholder, at_end: bool) -> str:
        name, subject = slot.name, self.subject
        if (case := _CASES.get(name)) is not None:
            text = self.sentences.reference(subject, case, self.fresh, self.named)
            self.named, self.fresh = True, False
            return text
        if name in _PLACES:
            return subject.pronouns[_PLACES[name]]
        if name == "a":
            return _ARTICLE
        if name == "name":
            self.named, self.fresh = True, False
            return subject.name
        if name == "role":
            return subject.role
        if name == "alias":
            return subject.alias
        if name == "other":
            return self.sentences.other(subject)
        if slot.form.startswith("#"):
            own = [values for other, values in self.values.items() if other.name == name]
            values = own[-1] if own else self.sentences.facts[name].values(subject.entity)
            singular, _, plural = slot.form[1:].partition("|")
            return singular if len(values) == 1 else plural
        if slot in self.values:
            return self.sentences.values(slot, self.values[slot], at_end)
        return self.sentences.mentioned(slot, subject)


def _dated(text: str, value: FactValue, time_as: str, spoken: bool) -> str:
    """The text with "in 1998", "from 1998 to 2001", "since 2022"; or with years in parentheses."""
    if spoken and value.end:
        return f"{text} from {value.begin} to {value.end}"
    if spoken and time_as != "start":
        return f"{text} {'in' if time_as == 'point' else 'since'} {value.begin}"
    when = f"{value.begin}–{value.end}" if value.end else str(value.begin)
    if time_as != "point" and not value.end:
        when = f"since {when}"
    return f"{text} ({when})"


FULL = 94
"""Words after which no further sentence is added to a passage: most end near 100."""

SPARSE = 88
"""A passage with fewer words is filled up with asides."""

_MOST_AT_ONCE = 5
_ASIDE = 0.16  # the chance of an aside before a sentence that tells something

ToldValue = tuple[Fact, FactValue]
_NAMED = FactValue(0)  # stands where another name is told


class Telling(NamedTuple):
    text: str
    stated: list[ToldValue]


class Articles:
    """Writes the articles of one type of entity."""

    def __init__(self, sentences: Sentences, facts: Many[Fact]) -> None:
        self.sentences, self.facts = sentences, facts
        self.prose, self.random = sentences.prose, sentences.random
        prose = sentences.prose
        self.told_here = [
            (prose.bits.get(fact.name), bool(fact.relation.inverse) and not fact.inverse)
            for fact in self.facts
        ]
        bits = ((prose.bits.get(fact.name), fact) for fact in self.facts)
        self.by_bit = {bit: fact for bit, fact in bits if bit is not None}
        self._fitting: dict[tuple[int, int, bool], tuple[Variant, ...]] = {}

    def write(self, entity: int, known: list[list[FactValue]]) -> list[Telling]:
        """The passages of an entity's article. `known`: its values, in the order of its facts."""
        return _Article(self, entity, known).written()

    def fitting(self, untold: int, has: int, lead: bool = False) -> tuple[Variant, ...]:
        """The sentences that tell the first untold fact, and perhaps others; or leads."""
        key = (untold, has, lead)
        if key not in self._fitting:
            first = untold & -untold
            candidates = self.prose.leads if lead else self.prose.tells
            self._fitting[key] = tuple(
                variant
                for variant in candidates
                if (lead or variant.needs & first)
                and not variant.needs & ~untold
                and not variant.mentions & ~has
            )
        return self._fitting[key]


class _Article:
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
                    self._values[bit] = list(here)
                    if fact.relation.time is not None:
                        self._values[bit].sort(key=attrgetter("begin"))
        if self._subject.alias:
            self._values[articles.prose.bits[ALIAS]] = [_NAMED]
            self._has |= 1 << articles.prose.bits[ALIAS]
        self._untold = sum(1 << bit for bit in self._values)
        self._passages: list[Telling] = []
        self._sentences: list[str] = []
        self._stated: list[ToldValue] = []
        self._words = 0
        self._fresh = True
        self._last: Variant | None = None
        self._asides: set[int] = set()

    def written(self) -> list[Telling]:
        self._say(self._one_of(self._articles.fitting(self._untold, self._has, lead=True)))
        self._stated += self._always
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

        def lacks(variant: Variant) -> bool:
            return any(len(self._values[bit]) < 2 for bit in variant.several)

        for _ in range(8):
            variant = variants[int(self._articles.random() * len(variants))]
            if variant is not self._last and not lacks(variant):
                return variant
        return next((v for v in variants if not lacks(v)), variants[0])

    def _say(self, variant: Variant) -> None:
        values_of: dict[Placeholder, list[FactValue]] = {}
        for slot, bit, alone in variant.tells:
            values = self._values[bit]
            count = 1 if alone else min(_MOST_AT_ONCE, len(values))
            values_of[slot], self._values[bit] = values[:count], values[count:]
            if not self._values[bit]:
                self._untold &= ~(1 << bit)
            if fact := self._articles.by_bit.get(bit):
                self._stated += [(fact, value) for value in values[:count]]
        text = self._articles.sentences.fill(variant.parts, self._subject, self._fresh, values_of)
        self._sentences.append(text)
        self._words += text.count(" ") + 1
        self._fresh = variant.others
        self._last = variant

    def _say_aside(self) -> bool:
        asides = self._articles.prose.asides
        start = int(self._articles.random() * len(asides))
        for index in (*range(start, len(asides)), *range(start)):
            if index not in self._asides:
                self._asides.add(index)
                self._say(asides[index])
                return True
        return False

    def _end_passage(self) -> None:
        self._passages.append(Telling(" ".join(self._sentences), self._stated))
        self._sentences, self._stated = [], []
        self._words, self._fresh = 0, True
