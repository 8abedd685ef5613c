"""What is impossible in time, by a world's graph alone."""

from collections.abc import Iterator
from itertools import pairwise

from support.worlds.kg_reader import Graph

MADE = ("P577", "P571", "P1619")  # when a thing came to be
# What a person of a grown age, and alive, has done to a thing that has a date.
DEEDS = ("P57", "P58", "P86", "P161", "P50", "P175", "P676", "P162", "P112", "P527")
YOUNGEST = 14
# The value was there when the subject came to be; or, for people, by such an age of theirs.
BEFORE = ("P272", "P123", "P264", "P144")
BEFORE_AGE = {"P69": 30, "P108": 40, "P264": 40}


def impossible(kg: Graph) -> Iterator[str]:
    """One line for each statement that the dates of its entities forbid."""
    yield from _lives(kg)
    for subject, prop, value in kg.statements:
        if prop in DEEDS and (made := _date(kg, subject, *MADE)):
            yield from _outside_life(kg, value, made, f"{prop} of {subject} ({made})")
        if prop in BEFORE or prop in BEFORE_AGE:
            yield from _too_early(kg, subject, prop, value)
        if prop in ("P169", "P286") and kg.of(value, "P570"):
            yield f"{value} is dead and {prop} of {subject}"
        if prop == "P184":
            yield from _taught(kg, subject, value)
        if prop == "P36" and subject not in kg.of(value, "P17"):
            yield f"{value} is capital of {subject} and lies elsewhere"
    yield from _untimely(kg)
    yield from _double_play(kg)


def _lives(kg: Graph) -> Iterator[str]:
    for person, held in kg.values.items():
        for born, died in zip(held.get("P569", ()), held.get("P570", ()), strict=False):
            if not 0 < int(died[:4]) - int(born[:4]) < 120:
                yield f"{person} lived from {born} to {died}"


def _outside_life(kg: Graph, person: str, made: str, deed: str) -> Iterator[str]:
    for born in kg.of(person, "P569"):
        if int(made[:4]) - int(born[:4]) < YOUNGEST:
            yield f"{deed}: {person} was born on {born}"
    for died in kg.of(person, "P570"):
        if made > died:
            yield f"{deed}: {person} died on {died}"


def _too_early(kg: Graph, subject: str, prop: str, value: str) -> Iterator[str]:
    there = _date(kg, value, *MADE) or ""
    made, died = _date(kg, subject, *MADE), _date(kg, subject, "P570")
    if made and there > made:
        yield f"{prop} of {subject} ({made}): {value} is of {there}"
    if there and (born := kg.year(subject, "P569")) and int(there[:4]) > born + BEFORE_AGE[prop]:
        yield f"{prop} of {subject}, born in {born}: {value} is of {there}"
    if died and there > died:
        yield f"{prop} of {subject}, dead by {died}: {value} is of {there}"


def _taught(kg: Graph, student: str, advisor: str) -> Iterator[str]:
    born = _year(kg, student, "P569")
    if born - _year(kg, advisor, "P569") < 10:
        yield f"{advisor} taught {student} as a child"
    if (died := kg.year(advisor, "P570")) and died < born + 18:
        yield f"{advisor}, dead by {died}, taught {student}, born in {born}"


def _untimely(kg: Graph) -> Iterator[str]:
    """Years of statements before subject or value were there, or after a person's death."""
    for (subject, prop, value), times in (*kg.times.items(), *kg.former.items()):
        years = [year for time in times for year in time.values()]
        for entity in (subject, value):
            made, born = kg.year(entity, *MADE), kg.year(entity, "P569")
            died = kg.year(entity, "P570")
            first = max(made or 0, (born or -YOUNGEST) + YOUNGEST)
            if min(years) < first or (died and max(years) > died):
                yield f"{prop} {years} of {subject}, {value}: {entity} made {made} {born}-{died}"


def _double_play(kg: Graph) -> Iterator[str]:
    """Players whose spells with clubs overlap by more than a year's change of club."""
    spells: dict[str, list[tuple[int, int]]] = {}
    for (subject, prop, _), times in kg.times.items():
        if prop == "P54":
            spells.setdefault(subject, []).extend(
                (time["P580"], time.get("P582", 9999)) for time in times
            )
    for player, of_player in spells.items():
        for (start, end), (following, _) in pairwise(sorted(of_player)):
            if not start <= end <= following:
                yield f"{player} played in two clubs at once: {sorted(of_player)}"


def _date(kg: Graph, entity: str, *properties: str) -> str | None:
    return next((value for prop in properties for value in kg.of(entity, prop)), None)


def _year(kg: Graph, entity: str, prop: str) -> int:
    """Raises ValueError where the entity has none."""
    if (year := kg.year(entity, prop)) is None:
        raise ValueError(f"{entity} has no {prop}")
    return year
