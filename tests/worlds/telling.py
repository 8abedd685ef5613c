"""Whether a world's passages tell its statements, read as a person would."""

import random
import re
from collections.abc import Iterable, Iterator
from functools import cache

from cues import CUES, GENDERS, ITEM_WORDS
from graph_reader import Statement, in_world
from name_finder import Mention, Sentence
from world_reader import Passage, World, plain

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_IDLE = frozenset(["a", "an", "and", "by", "from", "in", "of", "on", "the", "to", "with", "born"])


def date_in_words(date: str) -> str:
    """1976-03-14 -> 14 March 1976"""
    year, month, day = date.split("-")
    return f"{int(day)} {MONTHS[int(month) - 1]} {int(year)}"


def sample(world: World, size: int = 500) -> list[Statement]:
    """So many statements of every property, or all there are; the same for the same world."""
    by_property: dict[str, list[Statement]] = {}
    for statement in world.graph.statements:
        by_property.setdefault(statement[1], []).append(statement)
    return [
        statement
        for prop in sorted(by_property)
        for statement in random.Random(prop).sample(
            by_property[prop], min(size, len(by_property[prop]))
        )
    ]


def untold(world: World, statements: Iterable[Statement]) -> list[str]:
    """One line for each statement that no passage tells."""
    return [
        f"nowhere told: {in_words(world, statement)}"
        for statement in statements
        if not any(tells(world, passage, statement) for passage in about(world, statement))
    ]


def claimed_in_vain(world: World, claims: Iterable[tuple[Passage, Statement]]) -> list[str]:
    """One line for each claim that is not in the graph, or that its own passage does not tell."""
    failures = []
    for passage, statement in claims:
        subject, prop, value = statement
        if value not in world.graph.of(subject, prop):
            failures.append(f"{passage.id} claims what the graph has not: {statement}")
        elif not tells(world, passage, statement):
            words = in_words(world, statement)
            failures.append(
                f"{passage.id} does not tell: {words}\n    {passage.title}: {passage.text}"
            )
    return failures


def in_words(world: World, statement: Statement) -> str:
    subject, prop, value = statement
    object = world.title(value) if value.startswith("Q") else value
    years = world.graph.times.get(statement, [])
    name = world.graph.labels[prop][0]
    return f"{world.title(subject)} | {prop} {name} | {object} {years or ''} ({subject}, {value})"


def about(world: World, statement: Statement) -> Iterator[Passage]:
    """The passages of subject and object."""
    subject, _, value = statement
    yield from world.articles.get(subject, [])
    yield from world.articles.get(value, [])


def tells(world: World, passage: Passage, statement: Statement) -> bool:
    """Whether a passage about one end of a statement names the other end beside a cue.

    All of it stands in one sentence: the value (or, in an article about the value, the subject),
    told apart where others have its name, a word for the relation, and the years that the
    statement has. Sex is told by pronouns.
    """
    subject, prop, value = statement
    if prop == "P21":
        return passage.entity == subject and bool(GENDERS[value][0].search(passage.text))
    if passage.title != world.title(passage.entity):
        return False
    other = value if passage.entity == subject else subject
    if passage.entity not in (subject, value):
        return False
    telling = [s for s in passage.sentences if _stands_in(world, s, other, prop)]
    times = world.graph.times.get(statement, [{}])
    return all(any(_has_years(s, time.values()) for s in telling) for time in times)


def _stands_in(world: World, sentence: Sentence, other: str, prop: str) -> bool:
    if not CUES[prop].search(sentence.masked):
        return False
    if not other.startswith("Q"):
        return _literal(other).search(sentence.masked) is not None
    if not in_world(other):
        return _item(other, world.graph.label(other)).search(sentence.masked) is not None
    name = plain(world.graph.label(other))
    return any(m.name == name and told_apart(world, sentence, m, other) for m in sentence.mentions)


def _has_years(sentence: Sentence, years: Iterable[int]) -> bool:
    return all(re.search(rf"\b{year}\b", sentence.text) for year in years)


@cache
def _literal(value: str) -> re.Pattern[str]:
    if "-" in value:
        return re.compile(rf"(?<!\d){date_in_words(value)}\b")
    months = "|".join(MONTHS)
    return re.compile(rf"(?<![\d,.]){int(value):,}(?!,?\d| (?:{months}))")


@cache
def _item(item: str, label: str) -> re.Pattern[str]:
    words = ITEM_WORDS.get(item, re.escape(label))
    return re.compile(rf"\b(?:{words})" if words else "", re.IGNORECASE)


def told_apart(world: World, sentence: Sentence, mention: Mention, entity: str) -> bool:
    """Whether the words around a shared name fit this bearer of it and none of the others."""
    name = world.graph.label(entity)
    others = [bearer for bearer in world.bearers[name] if bearer != entity]
    if not others:
        return True
    around = _words(sentence.around(mention))
    own = qualifier(world, entity)
    return all(_fits_better(own, qualifier(world, other), around) for other in others)


def _fits_better(own: frozenset[str], other: frozenset[str], around: frozenset[str]) -> bool:
    if own - other:
        return bool((own - other) & around)
    return own <= around and not (other - own) & around


def qualifier(world: World, entity: str) -> frozenset[str]:
    """What a title adds to a shared name, as a set of words: {1976, film}."""
    return _words(world.title(entity).removeprefix(world.graph.label(entity)))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold())) - _IDLE
