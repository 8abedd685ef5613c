"""Documents and relations between their conditions, drafted, and the sentences that say them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from types import MappingProxyType
from typing import Literal, NamedTuple

from branchwise.corpora.conditions.documents import (
    Atom,
    ConditionsDocument,
    Expression,
    StatedCondition,
    all_of,
    any_of,
)
from branchwise.worlds.conditions.domain import YOUR, Claim, DocumentDomain

Voice = Literal["you", "must", "who"]
"""How a document speaks: "You are" / "Applicants must be" / "Only those who are ... can apply"."""
VOICES: tuple[Voice, ...] = ("you", "must", "who")
Shape = Literal["one", "both", "either", "either_both"]
"""What a sentence says of its conditions: a / a AND b / a OR b / a OR (b AND c)."""
SHAPES: dict[Shape, int] = {"one": 1, "both": 2, "either": 2, "either_both": 3}
"""How many conditions each has."""
_BE, _HAVE, _PERFECT = "be ", "have ", "have~ "
_YOUR = {"I": "my", "you": "your"}


def required(shape: Shape, phrases: Sequence[str], voice: Voice) -> str:
    """A sentence of a document, without its full stop's HTML."""
    verbs = [_verb(phrase, voice) for phrase in phrases]
    pattern = {
        "one": "{}",
        "both": "{} and {}",
        "either": "either {} or {}",
        "either_both": "either {} or both {} and {}",
    }[shape]
    sentence = {
        "you": "You {}.",
        "must": "Applicants must {}.",
        "who": "Only those who {} can apply.",
    }[voice]
    return sentence.format(pattern.format(*verbs))


def told(phrase: str, *, value: bool) -> str:
    """A sentence that someone says of themselves."""
    if value:
        return f"I {_verb(phrase, 'I')}."
    phrase = phrase.replace(YOUR, _YOUR["I"])
    for start, negation in ((_BE, "am not"), (_PERFECT, "have not")):
        if phrase.startswith(start):
            return f"I {negation} {phrase.removeprefix(start)}."
    return f"I do not {phrase}."


def _verb(phrase: str, person: Literal["I", "you", "must", "who"]) -> str:
    phrase = phrase.replace(YOUR, _YOUR.get(person, "their"))
    if person != "must" and phrase.startswith(_BE):
        return f"{'am' if person == 'I' else 'are'} {phrase.removeprefix(_BE)}"
    return phrase.replace(_PERFECT, _HAVE, 1)


_SHAPES: dict[Shape, int] = {"one": 15, "both": 2, "either": 2, "either_both": 1}
"""How often a sentence has each."""
_ALL = ("All of these requirements must be met", "Each of these requirements must be met")
_ANY = ("At least one of these requirements must be met", "One of these requirements is enough")
_ONE = "This requirement must be met"
_TWO_WAYS = 0.2
"""The share of documents that have two lists of requirements, one of which is enough."""
_PER_DOCUMENT = (4, 7)
"""Conditions of a document; the last sentence may bring one or two more."""


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

    heading: str
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
            for place, sentence in enumerate(self.sentences)
            for name, claim in zip(_names(place, sentence), sentence.claims, strict=True)
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


def draft_document(id: str, title: str, domain: DocumentDomain, rng: Random) -> DraftDocument:
    """A document about some of its domain's facets, each once: no two of its claims are related."""
    texts, voice = domain.texts, rng.choice(VOICES)
    items = _items(domain, voice, rng)
    sentences = [DraftSentence(title, "h1")]
    opening = rng.choice(texts.openings).format(title=title.removeprefix("The "))
    sentences.append(DraftSentence(opening, "p"))
    remarks = rng.sample(texts.remarks, 3)
    sentences.append(DraftSentence(remarks.pop(), "p"))
    sentences.append(DraftSentence(rng.choice(texts.headings), "h2"))
    blocks = []
    is_any = rng.random() < _TWO_WAYS
    for block in _two_ways(items, rng) if is_any else _blocks(items, rng):
        sentences.append(DraftSentence(block.heading, "p"))
        blocks.append(
            (block.is_any, tuple(range(len(sentences), len(sentences) + len(block.items))))
        )
        sentences += block.items
    sentences += [DraftSentence(remark, "p") for remark in remarks]
    return DraftDocument(id, title, texts.plural, tuple(sentences), tuple(blocks), is_any)


def _items(domain: DocumentDomain, voice: Voice, rng: Random) -> list[DraftSentence]:
    """Sentences that state conditions, until there are enough."""
    facets = list(domain.facets)
    rng.shuffle(facets)
    wanted, count, items = rng.randint(*_PER_DOCUMENT), 0, []
    while count < wanted:
        shape: Shape = rng.choices(list(_SHAPES), list(_SHAPES.values()))[0]
        claims = tuple(rng.choice(facets.pop().claims) for _ in range(SHAPES[shape]))
        phrases = [rng.choice(claim.phrases) for claim in claims]
        items.append(DraftSentence(required(shape, phrases, voice), "li", shape, claims))
        count += len(claims)
    return items


def _blocks(items: Sequence[DraftSentence], rng: Random) -> Iterator[_Block]:
    """The sentences in order: those that are all required, then alternatives."""
    waiting = list(items)
    first = rng.randint(1, max(1, len(waiting) - 2))
    opening = rng.choice(_ALL) if first > 1 else _ONE
    yield _Block(f"{opening}:", False, tuple(waiting[:first]))
    waiting = waiting[first:]
    while waiting:
        size = 3 if len(waiting) == 3 or len(waiting) > 4 else min(2, len(waiting))
        block, waiting = waiting[:size], waiting[size:]
        opening = rng.choice(_ANY) if len(block) > 1 else _ONE
        yield _Block(f"Moreover, {_lowered(opening)}:", len(block) > 1, tuple(block))


def _two_ways(items: Sequence[DraftSentence], rng: Random) -> Iterator[_Block]:
    """Two lists of sentences, one of which is enough."""
    middle = len(items) // 2
    parts = (
        ("There are two ways to qualify. In the first", items[:middle]),
        ("In the second", items[middle:]),
    )
    for opening, part in parts:
        required = rng.choice(_ALL) if len(part) > 1 else _ONE
        yield _Block(f"{opening}, {_lowered(required)}:", False, tuple(part))


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:]
