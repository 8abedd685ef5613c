"""One sentence: a template with names, pronouns, lists and articles filled in."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from branchwise.worlds.facts import Fact, FactKind, FactValue
from branchwise.worlds.literals import spoken_date
from branchwise.worlds.telling.mentions import EntityMentions
from branchwise.worlds.telling.prose import TypeProse
from branchwise.worlds.telling.templates import Alternatives, Placeholder, Sequence
from branchwise.worlds.world import World

_ARTICLE = "\0"
_PRONOUNS = {  # subject, object, possessive, reflexive
    "it": ("it", "it", "its", "itself"),
    "she": ("she", "her", "her", "herself"),
    "he": ("he", "him", "his", "himself"),
}
_PLACES = {"they": 0, "them": 1, "their": 2, "themself": 3}
_POSSESSIVE, _NO_PRONOUN = 2, 3
_CASES = {"s": 0, "o": 1, "s's": _POSSESSIVE, "n": _NO_PRONOUN}


class Subject(NamedTuple):
    """The subject of an article."""

    entity: int
    name: str
    short: tuple[str, ...]  # a surname, or "the film"
    pronouns: tuple[str, str, str, str]
    role: str
    alias: str


class Sentences:
    """Fills templates for the entities of one type."""

    def __init__(
        self,
        world: World,
        mentions: EntityMentions,
        prose: TypeProse,
        type_number: int,
        random: Callable[[], float],
    ) -> None:
        self._world = world
        self._mentions = mentions
        self._prose = prose
        self._random = random
        self._range = world.population.starts[type_number : type_number + 2]
        self._role = world.schema.types[world.population.types[type_number]].noun
        self.facts: Mapping[str, Fact] = {fact.name: fact for fact in world.facts[type_number]}

    def subject(self, entity: int) -> Subject:
        """How the entity is called in its own article."""
        pronoun, short = "it", self._prose.subject
        if self._prose.is_person:
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
        told: Mapping[Placeholder, list[FactValue]],
    ) -> str:
        """The sentence. `fresh`: the subject has to be named. `told`: the values of each slot."""
        filling = _Filling(self, subject, fresh, told)
        text = "".join(filling.texts(parts))
        while _ARTICLE in text:
            text = _with_article(text)
        if ".." in text:  # after a name that ends in a full stop
            text = text.replace("..", ".")
        return text[0].upper() + text[1:]

    def reference(self, subject: Subject, case: int, fresh: bool, named: bool) -> str:
        """The subject as name, surname, noun phrase or pronoun."""
        chance = self._random()
        if not fresh and case != _NO_PRONOUN and chance < (0.92 if named else 0.55):
            return subject.pronouns[case]
        text = subject.name
        if (not fresh or named) and chance < 0.9 and subject.short:
            text = self.one_of(subject.short)
        if case != _POSSESSIVE:
            return text
        plural = text.endswith("s") and not self._prose.is_person
        return f"{text}'" if plural else f"{text}'s"

    def one_of(self, options: tuple[str, ...]) -> str:
        """One of several texts."""
        return options[int(self._random() * len(options))]

    def option(self, choice: Alternatives) -> Sequence:
        """One of a choice's alternatives."""
        return choice.options[int(self._random() * len(choice.options))]

    def other(self, subject: Subject) -> str:
        """Another entity of the same type, as a distractor; never the subject itself."""
        first, end = self._range
        entity = first + int(self._random() * (end - first))
        if entity == subject.entity:
            entity = first + (entity - first + 1) % (end - first)
        return self._mentions.mention(entity)

    def values(self, slot: Placeholder, values: list[FactValue], at_end: bool) -> str:
        """A list of values: "A, B and C"."""
        fact = self.facts[slot.name]
        texts = [self._value(fact, value) for value in values]
        if fact.relation.time is not None:
            alone = len(values) == 1 and at_end and self._random() < 0.6
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


class _Filling:
    """The state of one sentence: whether its subject has been named."""

    def __init__(
        self,
        sentences: Sentences,
        subject: Subject,
        fresh: bool,
        told: Mapping[Placeholder, list[FactValue]],
    ) -> None:
        self.sentences = sentences
        self.subject = subject
        self.fresh = fresh
        self.told = told
        self.named = False

    def texts(self, parts: Sequence) -> list[str]:
        result: list[str] = []
        for place, part in enumerate(parts):
            if isinstance(part, str):
                result.append(part)
            elif isinstance(part, Alternatives):
                result += self.texts(self.sentences.option(part))
            else:
                after = parts[place + 1] if place + 1 < len(parts) else "."
                at_end = isinstance(after, str) and after[:1] in ".,;"
                result.append(self.slot(part, at_end))
        return result

    def slot(self, slot: Placeholder, at_end: bool) -> str:
        name, subject = slot.name, self.subject
        if (case := _CASES.get(name)) is not None:
            text = self.sentences.reference(subject, case, self.fresh, self.named)
            self.named, self.fresh = True, False
            return text
        if (place := _PLACES.get(name)) is not None:
            return subject.pronouns[place]
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
            one, _, many = slot.form[1:].partition("|")
            return one if len(self._counted(name)) == 1 else many
        if slot in self.told:
            return self.sentences.values(slot, self.told[slot], at_end)
        return self.sentences.mentioned(slot, subject)

    def _counted(self, name: str) -> list[FactValue]:
        found = [values for slot, values in self.told.items() if slot.name == name]
        return found[-1] if found else self.sentences.facts[name].values(self.subject.entity)


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


def _with_article(text: str) -> str:
    before, _, after = text.partition(_ARTICLE)
    following = after.lstrip()
    vowel = following[:1].lower() in "aeiouáéíóúàèäöüåø" or following.startswith(("8", "11 ", "18"))
    return f"{before}{'an' if vowel else 'a'}{after}"
