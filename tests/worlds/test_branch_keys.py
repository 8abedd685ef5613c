"""Keys for the bearers of a world's shared names, in several wordings: each finds its own."""

import re
from collections.abc import Iterator

from branchwise.eval.alignment import align
from support.worlds.world_reader import World

TITLE = re.compile(r"(.+) \((.+)\)|(.+?), (.+)")
YEAR = re.compile(r"\d{4}")


def parts(title: str) -> tuple[str, str]:
    """The name and what tells it apart: "Reef (1994 song)", "Darakura, Calmara"."""
    found = TITLE.fullmatch(title)
    assert found is not None, title
    return (found[1], found[2]) if found[1] else (found[3], found[4])


def wordings(title: str) -> Iterator[str]:
    name, told_by = parts(title)
    yield from (title, told_by, f"{name}, {told_by}", f"the {told_by} {name}")
    yield f"What about {name.lower()}, {told_by}?"


def years(titles: list[str]) -> list[str]:
    return [year for title in titles for year in YEAR.findall(parts(title)[1])]


def groups(world: World) -> list[list[str]]:
    """The titles of each shared name."""
    return [[bearer["title"] for bearer in bearers] for bearers in world.shared.values()]


def test_a_bearer_is_found_by_what_tells_it_apart(small_world: World) -> None:
    for titles in groups(small_world):
        for n, title in enumerate(titles):
            for key in wordings(title):
                assert align(titles, [key]) == {key: n}


def test_all_bearers_are_found_together(small_world: World) -> None:
    for titles in groups(small_world):
        for keys in zip(*map(wordings, titles), strict=True):
            assert list(align(titles, keys).values()) == sorted(
                range(len(titles)), key=lambda n: keys[n]
            )


def test_a_year_of_one_bearer_finds_it_and_another_year_none(small_world: World) -> None:
    for titles in groups(small_world):
        told = years(titles)
        for n, title in enumerate(titles):
            name, told_by = parts(title)
            if not (year := YEAR.search(told_by)):
                continue
            found = n if told.count(year[0]) == 1 else None
            other = f"{name} ({int(year[0]) - 300})"
            assert align(titles, [f"{name} ({year[0]})"]).popitem()[1] == found
            assert align(titles, [other]) == {other: None}


def test_a_kind_of_several_bearers_finds_none_of_them(small_world: World) -> None:
    for titles in groups(small_world):
        kinds = [YEAR.sub("", parts(title)[1]).strip() for title in titles]
        for kind in {kind for kind in kinds if kinds.count(kind) > 1}:
            assert align(titles, [kind]) == {kind: None}
