"""Documents and relations between their conditions, drafted, and the sentences that say them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from types import MappingProxyType
from typing import Generic, Literal, NamedTuple, TypeVar

from branchwise.corpora.conditions.documents import (
    Atom,
    ConditionsDocument,
    Expression,
    StatedCondition,
    all_of,
    any_of,
)
from branchwise.worlds.conditions.domain import YOUR, Claim, DocumentDomain, DomainSection
from branchwise.worlds.telling.prose import Alternatives, Placeholder, TemplatePart, parse

_Element = Literal["p", "li"]
Shape = Literal["one", "both", "either", "either_both"]
"""What a sentence says of its conditions: a / a AND b / a OR b / a OR (b AND c)."""
SHAPES: dict[Shape, int] = {"one": 1, "both": 2, "either": 2, "either_both": 3}
"""How many conditions each has."""
_BE, _HAVE, _PERFECT = "be ", "have ", "have~ "


class Voice(NamedTuple):
    """How a sentence demands something. `is_bare`: with verbs as "must" has them after it."""

    pattern: str
    is_bare: bool = False
    your: str = "their"


_LISTED_TO_YOU = Voice("{}.", is_bare=True, your="your")
_YOU, _YOU_MUST = Voice("You {}.", your="your"), Voice("You must {}.", is_bare=True, your="your")
_LISTED, _THEY = Voice("{}.", is_bare=True), Voice("Applicants {}.")
_DEMANDS = (
    Voice("Applicants must {}.", is_bare=True),
    Voice("Candidates need to {}.", is_bare=True),
    Voice("Only those who {} can apply."),
    Voice("Applications are open to people who {}."),
    Voice("We consider applicants who {}."),
)
VOICES = (_LISTED_TO_YOU, _YOU, _YOU_MUST, _LISTED, _THEY, *_DEMANDS)


class _Manner(NamedTuple):
    """How a document speaks of what is all required: leads, and voices and element of the sentences
    below them. `some`: the voice of alternatives, which demand nothing by themselves."""

    leads: tuple[str, ...]
    voices: tuple[Voice, ...]
    some: Voice
    element: _Element = "li"


_SOME = (
    "In addition, at least one of these requirements must be met",
    "Moreover, one of these requirements must be met",
    "At least one of these must be true as well",
)
_LEADS = (
    "All of these requirements must be met",
    "Each of these requirements must be met",
    "These requirements must all be met",
)
_MANNERS = (
    _Manner(("To be eligible, you must", "To apply, you must"), (_LISTED_TO_YOU,), _YOU),
    _Manner(
        ("You can apply if all of this is true", "You are eligible if all of these points hold"),
        (_YOU, _YOU, _YOU_MUST),
        _YOU,
    ),
    _Manner(
        ("Applicants must", "To be considered, applicants must", "Every applicant must"),
        (_LISTED,),
        _THEY,
    ),
    _Manner(_LEADS, _DEMANDS, _THEY),
    _Manner(_LEADS, _DEMANDS, _THEY, "p"),
)


def required(shape: Shape, phrases: Sequence[str], voice: Voice) -> str:
    """A sentence of a document, without its element."""
    verbs = [_verb(phrase, voice) for phrase in phrases]
    pattern = {
        "one": "{}",
        "both": "{} and {}",
        "either": "either {} or {}",
        "either_both": "either {} or both {} and {}",
    }[shape]
    sentence = voice.pattern.format(pattern.format(*verbs))
    return f"{sentence[0].upper()}{sentence[1:]}"


def first_person(phrase: str, *, value: bool) -> str:
    """A sentence that someone says of themselves."""
    phrase = phrase.replace(YOUR, "my")
    if value:
        if phrase.startswith(_BE):
            return f"I am {phrase.removeprefix(_BE)}."
        return f"I {phrase.replace(_PERFECT, _HAVE, 1)}."
    for start, negation in ((_BE, "am not"), (_PERFECT, "have not")):
        if phrase.startswith(start):
            return f"I {negation} {phrase.removeprefix(start)}."
    return f"I do not {phrase}."


def _verb(phrase: str, voice: Voice) -> str:
    phrase = phrase.replace(YOUR, voice.your)
    if phrase.startswith(_BE) and not voice.is_bare:
        return f"are {phrase.removeprefix(_BE)}"
    return phrase.replace(_PERFECT, _HAVE, 1)


class DraftSentence(NamedTuple):
    """A sentence in its element; `claims` are those that it states, in the order of its shape."""

    text: str
    element: Literal["h1", "h2", "p", "li"]
    shape: Shape = "one"
    claims: tuple[Claim, ...] = ()

    @property
    def html(self) -> str:
        return f"<{self.element}>{self.text}</{self.element}>"


class _Block(NamedTuple):
    """Sentences of which all, or at least one, must be true."""

    lead: str
    is_any: bool
    items: tuple[DraftSentence, ...]


@dataclass(frozen=True)
class DraftDocument:
    """A document of which the words may still change. `blocks`: the places of sentences that are
    read together, and whether one of them is enough; `is_any`: whether one of the blocks is."""

    id: str
    title: str
    domain: str
    sentences: tuple[DraftSentence, ...]
    blocks: tuple[tuple[bool, tuple[int, ...]], ...]
    is_any: bool

    @cached_property
    def claims(self) -> dict[str, Claim]:
        return {
            name: claim
            for index, sentence in enumerate(self.sentences)
            for name, claim in zip(_names(index, sentence), sentence.claims, strict=True)
        }

    def reworded(self, texts: Sequence[str]) -> "DraftDocument":
        """With other words for the sentences that state conditions, in their order."""
        words = iter(texts)
        sentences = (s._replace(text=next(words)) if s.claims else s for s in self.sentences)
        return replace(self, sentences=tuple(sentences))

    def finished(self) -> ConditionsDocument:
        conditions = (
            StatedCondition(self.id, name, f"c{place}")
            for place, sentence in enumerate(self.sentences)
            for name in _names(place, sentence)
        )
        sentences = {f"c{place}": sentence.html for place, sentence in enumerate(self.sentences)}
        blocks = [
            _join(is_any, [_stated(place, self.sentences[place]) for place in places])
            for is_any, places in self.blocks
        ]
        return ConditionsDocument(
            self.id,
            self.title,
            self.domain,
            MappingProxyType(sentences),
            tuple(conditions),
            _join(self.is_any, blocks),
        )


def _join(is_any: bool, parts: Sequence[Expression]) -> Expression:
    return any_of(*parts) if is_any else all_of(*parts)


def _names(place: int, sentence: DraftSentence) -> list[str]:
    """A sentence's only condition is called like it, several are told apart by letters."""
    letters = "abc"[: len(sentence.claims)] if len(sentence.claims) > 1 else [""]
    return [f"c{place}{letter}" for letter in letters][: len(sentence.claims)]


def _stated(place: int, sentence: DraftSentence) -> Expression:
    atoms = [Atom(name) for name in _names(place, sentence)]
    match sentence.shape:
        case "one":
            return atoms[0]
        case "both":
            return all_of(*atoms)
        case "either":
            return any_of(*atoms)
        case "either_both":
            return any_of(atoms[0], all_of(*atoms[1:]))


_PER_DOCUMENT = (5, 8)  # conditions of a document, alternatives among them
_CORE = (4, 6)  # how many of them are about core facets. They are not among alternatives
_SOME_SHARE, _TWO_WAYS = 0.5, 0.1
"""The shares of documents that end in alternatives, and that have two lists, one of them enough."""
_SHAPES: dict[Shape, int] = {"one": 15, "both": 2, "either": 2, "either_both": 1}
"""How often a sentence has each; claims about core facets are never alternatives in it."""
_Dealt = TypeVar("_Dealt")


class _Deck(Generic[_Dealt]):
    """Deals cards in random order, each once before any comes again."""

    def __init__(self, cards: Iterable[_Dealt], rng: Random) -> None:
        self._cards, self._rng = tuple(cards), rng
        self._left: list[_Dealt] = []

    def deal(self) -> _Dealt:
        if not self._left:
            self._left = self._rng.sample(self._cards, len(self._cards))
        return self._left.pop()


class DocumentDraw:
    """Draws a domain's documents, each about some facets, once each. No line comes in two."""

    def __init__(self, domain: DocumentDomain, rng: Random) -> None:
        self._texts, self._rng = domain.texts, rng
        names = (name.replace("-", " ") for name in domain.texts.names)
        self._names = _Deck(names, rng)
        self._facets = {
            is_core: _Deck([f.name for f in domain.facets if f.is_core is is_core], rng)
            for is_core in (True, False)
        }
        self._claims = {facet.name: _Deck(facet.claims, rng) for facet in domain.facets}
        self._lines: set[str] = set()

    def document(self, id: str) -> DraftDocument:
        texts, rng = self._texts, self._rng
        title = rng.choice(texts.titles).format(self._names.deal())
        slots = {name: rng.choice(values) for name, values in texts.slots.items()}
        slots["title"] = title.removeprefix("The ")
        sentences = [DraftSentence(title, "h1"), *self._page(texts.before, slots)]
        sentences.append(DraftSentence(rng.choice(texts.headings), "h2"))
        is_any = rng.random() < _TWO_WAYS
        places = []
        for block in self._two_ways() if is_any else self._blocks():
            sentences.append(DraftSentence(f"{block.lead}:", "p"))
            items = range(len(sentences), len(sentences) + len(block.items))
            places.append((block.is_any, tuple(items)))
            sentences += block.items
        sentences += self._page(texts.after, slots)
        return DraftDocument(id, title, texts.plural, tuple(sentences), tuple(places), is_any)

    def _page(
        self, sections: Iterable[DomainSection], slots: Mapping[str, str]
    ) -> Iterator[DraftSentence]:
        for section in sections:
            if section.headings:
                yield DraftSentence(self._rng.choice(section.headings), "h2")
            count = self._rng.randint(*section.take)
            for place in sorted(self._rng.sample(range(len(section.lines)), count)):
                line = filled(section.lines[place], self._rng, slots)
                if line not in self._lines:
                    self._lines.add(line)
                    yield DraftSentence(line, section.element)

    def _blocks(self) -> Iterator[_Block]:
        manner = self._rng.choice(_MANNERS)
        wanted = self._rng.randint(*_PER_DOCUMENT)
        some = self._rng.randint(2, 3) if self._rng.random() < _SOME_SHARE else 0
        items = self._items(max(4, wanted - some), manner.voices, manner.element)
        yield _Block(self._rng.choice(manner.leads), False, items)
        if some:
            claims = self._dealt(some, {c.facet for item in items for c in item.claims})
            alternatives = (self._sentence("one", [claim], [manner.some], "li") for claim in claims)
            yield _Block(self._rng.choice(_SOME), True, tuple(alternatives))

    def _two_ways(self) -> Iterator[_Block]:
        items = self._items(self._rng.randint(*_PER_DOCUMENT), (_THEY, *_DEMANDS[:2]))
        middle = len(items) // 2
        for way, part in (("first", items[:middle]), ("second", items[middle:])):
            lead = self._rng.choice(_LEADS) if len(part) > 1 else "This requirement must be met"
            start = "There are two ways to qualify. " if way == "first" else ""
            yield _Block(f"{start}In the {way}, {lead[0].lower()}{lead[1:]}", False, part)

    def _items(
        self, wanted: int, voices: Sequence[Voice], element: _Element = "li"
    ) -> tuple[DraftSentence, ...]:
        core = self._dealt(min(wanted, self._rng.randint(*_CORE)), (), is_core=True)
        claims = core + self._dealt(wanted - len(core), {claim.facet for claim in core})
        self._rng.shuffle(claims)
        items = []
        while claims:
            shape: Shape = self._rng.choices(list(_SHAPES), list(_SHAPES.values()))[0]
            first = claims[: SHAPES[shape]]
            denied = shape.startswith("either") and any(claim in core for claim in first)
            if len(first) < SHAPES[shape] or denied:
                shape, first = "one", claims[:1]
            items.append(self._sentence(shape, first, voices, element))
            del claims[: len(first)]
        return tuple(items)

    def _dealt(self, count: int, facets: Iterable[str], *, is_core: bool = False) -> list[Claim]:
        known = set(facets)
        claims: list[Claim] = []
        while len(claims) < count:
            facet = self._facets[is_core].deal()
            if facet not in known:
                known.add(facet)
                claims.append(self._claims[facet].deal())
        return claims

    def _sentence(
        self, shape: Shape, claims: Sequence[Claim], voices: Sequence[Voice], element: _Element
    ) -> DraftSentence:
        phrases = [self._rng.choice(claim.phrases) for claim in claims]
        text = required(shape, phrases, self._rng.choice(voices))
        return DraftSentence(text, element, shape, tuple(claims))


def filled(line: str, rng: Random, slots: Mapping[str, str] = MappingProxyType({})) -> str:
    """A line with one of each of its alternatives, and its slots' values."""

    def words(part: TemplatePart) -> str:
        if isinstance(part, Alternatives):
            return "".join(map(words, rng.choice(part.options)))
        return slots[part.name] if isinstance(part, Placeholder) else part

    return "".join(map(words, parse(line)))
