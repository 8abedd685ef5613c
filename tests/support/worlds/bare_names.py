"""Shared names that texts use without a bracket, and what a careful reader tells them apart by."""

import re
from collections.abc import Iterator

from support.worlds.name_finder import Mention, Sentence
from support.worlds.world_reader import Passage, World, plain

_BRACKET = re.compile(r"(.+?)(?:,? (?:founded in|formed in|born) | )(\d{4})|(\d{4}) (.+)")


def apart(world: World, entity: str) -> tuple[str, str]:
    """The kind and the year of a title's bracket, or "city" and its country."""
    title = world.title(entity).removeprefix(f"{world.kg.label(entity)} (").removesuffix(")")
    if match := _BRACKET.fullmatch(title):
        return (match[1], match[2]) if match[2] else (match[4], match[3])
    return "city", title


def identified(world: World, passage: Passage) -> bool:
    """Whether a passage says which of those that share its title it is about."""
    kind, mark = apart(world, passage.entity)
    return bool(re.search(rf"\b{kind}\b", passage.text) and re.search(rf"\b{mark}", passage.text))


def hinted(world: World, sentence: Sentence, mention: Mention, entity: str) -> bool:
    """Whether words before a name say which it is: "the 1977 album Reef"."""
    kind, mark = apart(world, entity)
    ways = rf"(?:the {mark}(?:-born|-founded|-formed)? {kind}|the {mark}\w* {kind} of) "
    return bool(re.search(ways + "$", sentence.text[: mention.start], re.IGNORECASE))


def only_one(world: World, entity: str, prop: str, as_value: bool) -> bool:
    """Whether no other of the name is of a kind that has, or is a value of, the property."""
    possible = world.kinds_with[prop, as_value]
    others = (one for one in world.bearers[world.kg.label(entity)] if one != entity)
    return not any(world.kinds(one) & possible for one in others)


def names_its_subject(world: World, passage: Passage) -> bool:
    """Whether title or text say whom a passage is about: its full name, or what tells it apart."""
    full = world.title(passage.entity)
    if passage.title == full or passage.title.endswith(f": {full}"):
        return True
    alone = world.kg.label(passage.entity) not in world.titles
    return full in passage.text if alone else identified(world, passage)


def unclear_passages(world: World) -> Iterator[str]:
    """Passages that do not say whom they are about; titles bare for some of a name only."""
    for passage in world.passages:
        full = world.title(passage.entity)
        if not names_its_subject(world, passage):
            yield f"{passage.title} does not say that it is about {full}: {passage.text}"
        if world.kg.label(passage.entity) in world.bare and passage.title == full:
            yield f"{passage.title} has its full title, others of the name have not"


def unclear_bare_mentions(world: World) -> Iterator[str]:
    """Claims with another entity of a bare name that no sentence tells apart."""
    for passage in world.passages:
        for subject, prop, value in passage.claims:
            other = value if passage.entity == subject else subject
            if other not in world.kg.labels or world.kg.label(other) not in world.bare:
                continue
            if only_one(world, other, prop, other == value):
                continue
            name = plain(world.kg.label(other))
            places = ((s, m) for s in passage.sentences for m in s.mentions if m.name == name)
            if not any(hinted(world, s, m, other) for s, m in places):
                yield f"which {world.title(other)} of {prop}? {passage.title}: {passage.text}"
