"""Whether a world's passages tell its statements, read as a person would."""

import random
import re
from collections.abc import Iterable, Iterator
from functools import cache

from support.worlds.bare_names import hinted, names_its_subject, only_one
from support.worlds.cues import CUES, GENDERS, ITEM_WORDS
from support.worlds.kg_reader import Statement, Time, in_world
from support.worlds.name_finder import Mention, Sentence
from support.worlds.world_reader import Passage, World, plain

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)


def date_in_words(date: str) -> str:
    """1976-03-14 -> 14 March 1976"""
    year, month, day = date.split("-")
    return f"{int(day)} {MONTHS[int(month) - 1]} {int(year)}"


def sample(world: World, size: int = 500) -> list[Statement]:
    """So many statements of every property, or all there are; the same for the same world."""
    by_property: dict[str, list[Statement]] = {}
    for statement in world.kg.statements:
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
        if value not in world.kg.of(subject, prop):
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
    years = world.kg.times.get(statement, [])
    name = world.kg.labels[prop][0]
    return f"{world.title(subject)} | {prop} {name} | {object} {years or ''} ({subject}, {value})"


def about(world: World, statement: Statement) -> Iterator[Passage]:
    """The passages of subject and object, and those that claim it."""
    subject, _, value = statement
    yield from world.articles.get(subject, [])
    yield from world.articles.get(value, [])
    yield from world.claimed_in[statement]


def tells(world: World, passage: Passage, statement: Statement) -> bool:
    """Whether a passage about one end of a statement names the other end beside a cue; one about
    neither, both ends in one sentence."""
    subject, prop, value = statement
    if passage.entity not in (subject, value):
        return _tells_of_others(world, passage, statement)
    if prop == "P21":
        return passage.entity == subject and bool(GENDERS[value][0].search(passage.text))
    if not names_its_subject(world, passage):
        return False
    other = value if passage.entity == subject else subject
    times = world.kg.times.get(statement, [{}])
    as_value = other == value
    years = [y for s in passage.sentences for y in _years_beside(world, s, other, prop, as_value)]
    if not in_world(other) and other[0] != "Q":  # the year of a number may follow
        numbers = zip(passage.sentences, passage.sentences[1:], strict=False)
        years += [
            _years(after.text)
            for sentence, after in numbers
            if next(_years_beside(world, sentence, other, prop, as_value), None) is not None
        ]
    return all(any(_holds(beside, time) for beside in years) for time in times)


def tells_former(world: World, passage: Passage, statement: Statement) -> bool:
    """Whether a passage about its subject tells what was so before, with a year in which it was."""
    subject, prop, value = statement
    return (
        passage.entity == subject
        and names_its_subject(world, passage)
        and any(
            world.dated(statement, sentence.text)
            and next(_years_beside(world, sentence, value, prop, True), None) is not None
            for sentence in passage.sentences
        )
    )


def _tells_of_others(world: World, passage: Passage, statement: Statement) -> bool:
    subject, prop, value = statement
    name = plain(world.kg.label(subject))
    sentences = [
        sentence
        for sentence in passage.sentences
        for mention in sentence.mentions
        if mention.name == name and told_apart(world, sentence, mention, subject)
    ]
    times = world.kg.times.get(statement, [{}])
    years = [y for s in sentences for y in _years_beside(world, s, value, prop, True)]
    return all(any(_holds(beside, time) for beside in years) for time in times)


def _years_beside(
    world: World, sentence: Sentence, other: str, prop: str, as_value: bool
) -> Iterator[list[int]]:
    """The years beside each place where a sentence tells of an entity, an item, or a literal."""
    if not CUES[prop].search(sentence.masked):
        return
    if not in_world(other):
        words = _item(other, world.kg.label(other)) if other[0] == "Q" else _literal(other)
        yield from (_years(sentence.masked) for _ in words.finditer(sentence.masked))
        return
    name = plain(world.kg.label(other))
    for mention in sentence.mentions:
        if mention.name == name and (
            told_apart(world, sentence, mention, other)
            or (world.kg.label(other) in world.bare and only_one(world, other, prop, as_value))
        ):
            title = plain(world.title(other))
            full = title if sentence.text.startswith(title, mention.start) else name
            whole = Mention(name, mention.start, mention.start + len(full))
            yield _years_of(sentence, whole, world.own_years[other])


def _years_of(sentence: Sentence, mention: Mention, own: set[int]) -> list[int]:
    """The years between a name and the next one, or else between the last one and this."""
    before = max((m.end for m in sentence.mentions if m.end <= mention.start), default=0)
    after = min((m.start for m in sentence.mentions if m.start >= mention.end), default=None)
    following = _years(sentence.text[mention.end : after])
    if set(following) - own:
        return following
    return following + _years(sentence.text[before : mention.start])


def _years(text: str) -> list[int]:
    return [int(year) for year in re.findall(r"\b\d{4}\b", text)]


def _holds(years: list[int], time: Time) -> bool:
    """Whether years hold a point in time or a start; or a start and, right after it, an end."""
    wanted = [time[prop] for prop in sorted(time)]  # P580, a start, comes before P582, an end
    return any(years[at : at + len(wanted)] == wanted for at in range(len(years) + 1))


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
    """Whether a name is this entity's: one that others share stands there as its title, or with
    words that say the same."""
    name = world.kg.label(entity)
    title = name if len(world.bearers[name]) == 1 else world.title(entity)
    if name in world.bare:
        return hinted(world, sentence, mention, entity)
    return sentence.text.startswith(plain(title), mention.start)
