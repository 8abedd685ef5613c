"""The article of an entity: its sentences, in order."""

import re
from collections.abc import Sequence as Many
from operator import attrgetter
from typing import NamedTuple

from branchwise.worlds.facts import Fact, FactKind, FactValue
from branchwise.worlds.telling.prose import ALIAS, Placeholder, Variant
from branchwise.worlds.telling.sentences import NO_WORDS, Sentences, SlotWords, Subject
from branchwise.worlds.telling.strays import StrayClause, StrayClauses, ToldValue

FULL = 94
"""SlotWords after which no further sentence is added to a passage: most end near 100."""

SPARSE = 88
"""A passage with fewer words is filled up with asides."""

_MOST_AT_ONCE = 5
_RETOLD = 0.6  # the chance of a value to be told again
_ASIDE = 0.16  # the chance of an aside before a sentence that tells something

_NAMED = FactValue(0)  # stands where another name is told


class Telling(NamedTuple):
    """A passage. `title`: of a source other than the article; `former`: what it states that was
    so before."""

    text: str
    stated: list[ToldValue]
    title: str = ""
    former: tuple[ToldValue, ...] = ()


class Articles:
    """Writes the articles of one type of entity."""

    def __init__(
        self,
        sentences: Sentences,
        facts: Many[Fact],
        strays: StrayClauses | None = None,
        retold: Many[int] = (),
    ) -> None:
        """`retold`: of which entities a part is told again."""
        self.sentences, self.facts, self.strays, self.retold = sentences, facts, strays, retold
        self.prose, self.random = sentences.prose, sentences.random
        prose = sentences.prose
        self.told_here = [(prose.bits.get(fact.name), not fact.inverse) for fact in self.facts]
        self.changing = [fact for fact in facts if fact.former]
        bits = ((prose.bits.get(fact.name), fact) for fact in self.facts)
        self.by_bit = {bit: fact for bit, fact in bits if bit is not None}
        self._fitting: dict[tuple[int, int, bool], tuple[Variant, ...]] = {}

    def write(self, entity: int, known: list[list[FactValue]]) -> list[Telling]:
        """The passages about an entity. `known`: its values, in the order of its facts."""
        article = _Article(self, entity, known)
        passages = article.written(self.strays.told_by(entity) if self.strays else [])
        if self.retold and self.retold[entity]:
            passages.append(_Article(self, entity, known).retelling(article.used))
        nothing: list[list[FactValue]] = [[] for _ in known]
        for fact in self.changing:
            for value in fact.former(entity) if fact.former else ():
                passages.append(_Article(self, entity, nothing).of_its_time(fact, value))
        return passages

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


def _year(slot: str, year: str) -> SlotWords:
    return {slot: iter([year])}


class _Article:
    def __init__(self, articles: Articles, entity: int, known: list[list[FactValue]]) -> None:
        self._articles = articles
        self._subject: Subject = articles.sentences.subject(entity)
        self._values: dict[int, list[FactValue]] = {}
        self._always: list[ToldValue] = []
        self._has = 0
        for fact, values, (bit, own) in zip(
            articles.facts, known, articles.told_here, strict=False
        ):
            if bit is None:
                self._always += [(entity, fact, value) for value in values]
            elif values:
                here = [v for v in values if v.side & 1] if own else list(values)
                if here or any(v.side for v in values):
                    self._has |= 1 << bit
                if here:
                    self._values[bit] = here
                    if fact.relation.time is not None:
                        here.sort(key=attrgetter("begin"))
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
        self._hint, self._named = articles.sentences.hint(self._subject, shared=False), 0
        self.used: set[int] = set()  # identities of the variants said, and of those to avoid
        self._avoided: set[int] = set()

    def written(self, strays: list[StrayClause]) -> list[Telling]:
        articles = self._articles
        self._begin()
        while self._untold or strays:
            if self._words >= FULL:
                self._end_passage()
            elif articles.random() < _ASIDE:
                self._say_aside()
            if strays and articles.random() * (self._untold.bit_count() + 1) < 1:
                self._say_stray(strays.pop())
            elif self._untold:
                self._say(self._one_of(articles.fitting(self._untold, self._has)))
        self._end_passage()
        return self._passages

    def retelling(self, used: set[int]) -> Telling:
        """One passage of another source that tells a part again, in other sentences than `used`."""
        articles, random = self._articles, self._articles.random
        sources = articles.prose.sources
        home = {fact.name for bit, fact in articles.by_bit.items() if bit in self._values}
        fitting = [source for source in sources if source.facts <= home]
        source = fitting[int(random() * len(fitting))]
        parts = {bit: [v for v in own if random() < _RETOLD] for bit, own in self._values.items()}
        self._values = {bit: part for bit, part in parts.items() if part}
        self._untold = sum(1 << bit for bit in self._values)
        self._avoided = used
        self._hint = articles.sentences.hint(self._subject, shared=True)
        self._begin()
        self._say(source.frame)
        while self._untold and self._words < FULL:
            self._say(self._one_of(articles.fitting(self._untold, self._has)))
        self._end_passage()
        title = articles.sentences.source(source.title, self._subject)
        return self._passages[0]._replace(title=title)

    def of_its_time(self, fact: Fact, former: FactValue) -> Telling:
        """A passage of an older source that states what was replaced since."""
        sentences, random = self._articles.sentences, self._articles.random
        prose = self._articles.prose
        then = str(former.begin + int(random() * (former.end - former.begin)))
        self._hint = sentences.hint(self._subject, shared=True)
        # Others may be younger than the source.
        self._asides = {place for place, aside in enumerate(prose.asides) if aside.others}
        self._say(self._one_of(prose.plain_leads))
        variant = self._one_of(prose.former[fact.name])
        values = {variant.tells[0][0]: [FactValue(former.content)]}
        self._add(sentences.fill(variant.parts, self._subject, True, values, _year("then", then)))
        self._fresh = variant.others
        self._end_passage()
        title = sentences.source(prose.dated[int(random() * len(prose.dated))], self._subject, then)
        told = (self._subject.entity, fact, former)
        return self._passages[0]._replace(title=title, former=(told,))

    def _begin(self) -> None:
        articles = self._articles
        leads = articles.fitting(self._untold, self._has, lead=True) or articles.prose.plain_leads
        self._say(self._one_of(leads))
        self._stated += self._always

    def _one_of(self, variants: tuple[Variant, ...]) -> Variant:

        def lacks(variant: Variant) -> bool:
            return any(len(self._values[bit]) < 2 for bit in variant.several)

        for _ in range(8):
            variant = variants[int(self._articles.random() * len(variants))]
            if (
                variant is not self._last
                and not lacks(variant)
                and id(variant) not in self._avoided
            ):
                return variant
        return next((v for v in variants if not lacks(v)), variants[0])

    def _say_stray(self, clause: StrayClause) -> None:
        carry = self._articles.prose.carry
        variant = carry[int(self._articles.random() * len(carry))]
        words = {"stray": iter([clause.text]), "beside": iter(clause.beside)}
        self._say(variant, words)
        self._stated.append(clause.told)

    def _say(self, variant: Variant, words: SlotWords = NO_WORDS) -> None:
        values_of: dict[Placeholder, list[FactValue]] = {}
        for slot, bit, alone in variant.tells:
            values = self._values[bit]
            count = 1 if alone else min(_MOST_AT_ONCE, len(values))
            values_of[slot], self._values[bit] = values[:count], values[count:]
            if not self._values[bit]:
                self._untold &= ~(1 << bit)
            if fact := self._articles.by_bit.get(bit):
                entity = self._subject.entity
                self._stated += [(entity, fact, value) for value in values[:count]]
        text = self._articles.sentences.fill(
            variant.parts, self._subject, self._fresh, values_of, words
        )
        self._add(text)
        if self._articles.changing:
            self._say_since(values_of)
        self._named |= variant.needs | variant.mentions
        self._fresh = variant.others
        self._last = variant
        self.used.add(id(variant))

    def _add(self, text: str) -> None:
        self._sentences.append(text)
        self._words += text.count(" ") + 1

    def _say_since(self, values_of: dict[Placeholder, list[FactValue]]) -> None:
        """A sentence on the year of a number that replaced another."""
        sentences = self._articles.sentences
        for slot, (value, *_) in values_of.items():
            if value.begin and sentences.facts[slot.name].kind is FactKind.NUMBER:
                since = self._articles.prose.since
                parts = since[int(self._articles.random() * len(since))].parts
                words = _year("since", str(value.begin))
                text = sentences.fill(parts, self._subject, False, {}, words)
                self._words += text.count(" ") + 1
                self._sentences[-1] += f" {text}"  # nothing comes between

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
        while self._words < SPARSE and self._say_aside():
            pass
        if self._hint and not self._told_apart():
            articles, place = self._articles, len(self._sentences)
            identify = articles.prose.identify
            parts = identify[int(articles.random() * len(identify))].parts
            words = {"hint": iter([self._hint])}
            text = articles.sentences.fill(parts, self._subject, True, {}, words)
            self._sentences.insert(1 + int(articles.random() * place), text)
        self._passages.append(Telling(" ".join(self._sentences), self._stated))
        self._sentences, self._stated = [], []
        self._words, self._fresh, self._named = 0, True, 0

    def _told_apart(self) -> bool:
        """Whether a passage says what sets its subject apart from others of the name."""
        if self._articles.prose.apart & ~self._named:
            return False
        role = re.compile(rf"\b{re.escape(self._subject.role)}\b")
        return any(role.search(sentence) for sentence in self._sentences)
