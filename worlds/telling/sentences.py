"""Sentences about an entity: templates filled with names, pronouns and values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from branchwise.worlds.facts import Fact, FactKind, FactValue
from branchwise.worlds.telling.mentions import EntityMentions
from branchwise.worlds.telling.prose import (
    Alternatives,
    Placeholder,
    Sequence,
)
from branchwise.worlds.world import World, spoken_date

_ARTICLE = "\0"
_VOWELS = "aeiouáéíóúàèäöüåø"
_PRONOUNS = {  # subject, object, possessive, reflexive
    "it": ("it", "it", "its", "itself"),
    "she": ("she", "her", "her", "herself"),
    "he": ("he", "him", "his", "himself"),
}
_PLACES = {"they": 0, "them": 1, "their": 2, "themself": 3}
_POSSESSIVE, _NO_PRONOUN = 2, 3
SlotWords = Mapping[str, Iterator[str]]
NO_WORDS: SlotWords = {}
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
        words: SlotWords = NO_WORDS,
    ) -> str:
        """The sentence. `fresh`: the subject has to be named. `values`: the values of each slot;
        `words`: texts for slots that are filled elsewhere, the first one first."""
        text = self.join(parts, subject, fresh, values, words)
        return text[0].upper() + text[1:]

    def join(
        self,
        parts: Sequence,
        subject: Subject,
        fresh: bool,
        values: Mapping[Placeholder, list[FactValue]],
        words: SlotWords = NO_WORDS,
    ) -> str:
        """The same as a part of a sentence."""
        filling = _Filling(self, subject, fresh, values, words)
        text = "".join(filling.texts(parts))
        while _ARTICLE in text:
            before, _, after = text.partition(_ARTICLE)
            following = after.lstrip()
            vowel = following[:1].lower() in _VOWELS or following.startswith(("8", "11 ", "18"))
            text = f"{before}{'an' if vowel else 'a'}{after}"
        if ".." in text:  # after a name that ends in a full stop
            text = text.replace("..", ".")
        return text

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
        return self._mentions.in_passing(entity, subject.name)

    def hint(self, subject: Subject, shared: bool) -> str:
        """The words that tell a subject apart whose title is bare, or, with `shared`, whose name
        others have; "" for another."""
        entity = subject.entity
        apart = self._world.shared[entity] if shared else self._mentions.is_bare(entity)
        return self._mentions.hint(entity) if apart else ""

    def source(self, form: Sequence, subject: Subject, then: str = "") -> str:
        """The title of a passage elsewhere; `then`: its year."""
        return self._mentions.source(form, subject.entity, then)

    def values(self, slot: Placeholder, values: list[FactValue], at_end: bool) -> str:
        """A list of values: "A, B and C"."""
        fact = self.facts[slot.name]
        texts = [self._value(fact, value) for value in values]
        # With a time, all have one; without, values that replaced others.
        time_as, dated = fact.relation.time_as, fact.relation.time is not None
        if not dated and fact.kind is FactKind.ENTITY and any(value.begin for value in values):
            time_as, dated = "start", True
        if dated:
            alone = len(values) == 1 and at_end and self.random() < 0.6
            texts = [
                _dated(text, value, time_as, alone or fact.inverse) if value.begin else text
                for text, value in zip(texts, values, strict=True)
            ]
        if len(texts) == 1:
            return texts[0]
        return f"{', '.join(texts[:-1])} and {texts[-1]}"

    def _value(self, fact: Fact, value: FactValue) -> str:
        if fact.kind is FactKind.ENTITY:
            return self._mentions.mention(value.content, fact)
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
    words: SlotWords
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
        if name in self.words:
            return next(self.words[name])
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
