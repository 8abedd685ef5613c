"""Names: distinct by construction, the same everywhere, and safe to write into prose."""

import re
import unicodedata
from collections.abc import Iterator
from hashlib import sha256
from itertools import combinations

import pytest

from branchwise.base.errors import InputError
from branchwise.worlds.domains import world_schema
from branchwise.worlds.naming import SLOT, NameMaker, fold, word_lists

# A world of 5,000,000 entities.
LARGEST = {
    "country": 190, "person": 2_400_000, "work": 2_200_000, "city": 130_000, "band": 180_000,
    "firm": 400_000, "award": 60_000, "club": 100_000, "league": 8_000, "stadium": 80_000,
    "university": 40_000,
}  # fmt: skip
UNIVERSAL = {"universal": 240_000}
SMALL = {kind: max(2, count // 1000) for kind, count in LARGEST.items()}


def key(name: str, ampersand: str = "") -> str:
    """Written anew, for comparison: no case, accents, punctuation, articles."""
    text = unicodedata.normalize("NFD", name.replace("&", ampersand).casefold())
    kept = "".join(c for c in text if c.isalnum() or c == " ")
    return " ".join(word for word in kept.split() if word not in ("a", "an", "the"))


def all_names(counts: dict[str, int], seed: int) -> Iterator[str]:
    names = NameMaker(counts, seed)
    return (names.name(number) for number in range(sum(counts.values())))


def _words_by_position(pattern: str, ampersand: str) -> list[frozenset[str]]:
    """What each word of a name of this pattern may be, as keys."""
    lists = word_lists().lists
    positions = []
    for part in re.findall(r"\{[^}]+\}\S*|\S+", pattern):
        if slot := SLOT.match(part):
            ending = fold(part[slot.end() :])
            positions.append(frozenset(fold(word) + ending for word in lists[slot[2]]))
        elif literal := key(part, ampersand):
            positions.append(frozenset([literal]))
    return positions


def _declared() -> list[tuple[str, str]]:
    """Every pattern with its kind; an alias that embeds the name, once for each of the kind's."""
    every = []
    for kind, of in word_lists().kinds.items():
        every += [(kind, pattern) for pattern in of.patterns]
        for alias in of.aliases:
            embedded = of.patterns if "{name}" in alias else [""]
            every += [(f"{kind} alias", alias.replace("{name}", name)) for name in embedded]
    return every


@pytest.mark.slow
@pytest.mark.parametrize("ampersand", ["", "and"])
def test_any_two_patterns_differ_in_the_words_of_one_position(ampersand: str) -> None:
    every = [(kind, p, _words_by_position(p, ampersand)) for kind, p in _declared()]
    for (kind, pattern, mine), (other_kind, other, theirs) in combinations(every, 2):
        apart = len(mine) != len(theirs) or any(
            not a & b for a, b in zip(mine, theirs, strict=True)
        )
        assert apart, f"{kind} {pattern!r} and {other_kind} {other!r} can give the same name"


@pytest.mark.slow
def test_no_list_holds_a_word_twice() -> None:
    for name, words in word_lists().lists.items():
        assert len({key(word) for word in words}) == len(words), name
        assert all(len(key(word).split()) == 1 for word in words), name


@pytest.mark.slow
@pytest.mark.parametrize("counts", [SMALL, LARGEST, SMALL | UNIVERSAL])
def test_largest_and_small_worlds_get_distinct_names_in_order_of_their_kinds(
    counts: dict[str, int],
) -> None:
    names = NameMaker(counts, 11)
    starts = [sum(list(counts.values())[:i]) for i in range(len(counts))]
    assert list(names.offsets.values()) == starts
    sampled = range(0, sum(counts.values()), max(1, sum(counts.values()) // 100_000))
    assert len({key(names.name(number)) for number in sampled}) == len(sampled)


@pytest.mark.slow
def test_every_name_of_a_kind_used_up_is_different() -> None:
    counts = {"country": 190, "city": 189_000, "award": 80_000}
    found = {key(name) for name in all_names(counts, 5)}
    assert len(found) == sum(counts.values())


def test_same_seed_gives_same_bytes_on_every_machine() -> None:
    text = "\n".join(all_names(SMALL, 42))
    assert sha256(text.encode()).hexdigest()[:16] == "8c74e1a9627b719e"


def test_too_many_names_are_refused_with_kind_and_capacity() -> None:
    with pytest.raises(InputError, match=r"'country' are more than its \d{3}\b"):
        NameMaker({"city": 10, "country": 5000}, 1)
    with pytest.raises(InputError, match="'planet'"):
        NameMaker({"planet": 1}, 1)


def test_women_and_men_are_about_as_many_and_bear_fitting_given_names() -> None:
    for counts in ({"person": 2000}, {"city": 100, "person": 2_400_000}):
        names = NameMaker(counts, 4)
        people = range(names.offsets["person"], sum(counts.values()), counts["person"] // 1000)
        women = [number for number in people if names.is_female(number)]
        assert 400 < len(women) < 600
        given = {names.name(number).split()[0] for number in women}
        assert given <= set(word_lists().lists["female"])
        men = {names.name(number).split()[0] for number in people if not names.is_female(number)}
        assert men <= set(word_lists().lists["male"])
        assert all(names.name(n).endswith(f" {names.surname(n)}") for n in people)


def test_adjectives_of_countries_are_distinct_words_of_their_own() -> None:
    names = NameMaker({"country": 190}, 8)
    countries = [names.name(number) for number in range(190)]
    adjectives = [names.adjective(number) for number in range(190)]
    assert all(a.startswith(c) and a != c for a, c in zip(adjectives, countries, strict=True))
    lists = word_lists().lists
    taken = {fold(word) for words in lists.values() for word in words}
    assert len(set(adjectives)) == 190
    assert not taken & {fold(a) for a in adjectives}


def test_a_name_of_all_kinds_is_no_surname_and_stands_whole() -> None:
    names = NameMaker({"person": 300, "universal": 300}, 4)
    universal = [number for number in range(600) if names.is_universal(number)]
    assert universal == list(range(300, 600))
    assert [names.surname(n) for n in universal] == [names.name(n) for n in universal]
    people = {word for n in range(300) for word in names.name(n).split()}
    assert not people & {names.name(n).split()[0] for n in universal}


def test_aliases_are_no_names_and_belong_to_one_bearer() -> None:
    names = NameMaker(SMALL, 6)
    total = sum(SMALL.values())
    taken = {key(names.name(number)) for number in range(total)}
    aliases = [names.alias(number, salt) for number in range(total) for salt in range(3)]
    keys = {key(alias) for alias in aliases}
    assert not keys & taken
    assert len(keys) == len(aliases)


def test_no_name_says_a_word_twice() -> None:
    found = all_names({"firm": 20_000, "work": 20_000, "league": 8_000}, 3)
    for name in found:
        words = [word for word in name.split() if word not in ("the", "The", "&", "and")]
        assert len(set(words)) == len(words), name


def test_every_slot_is_a_list_and_aliases_embed_the_name_all_or_none() -> None:
    lists = word_lists().lists
    for kind, of in word_lists().kinds.items():
        slots = {slot[1] for p in [*of.patterns, *of.aliases] for slot in SLOT.findall(p)}
        assert slots - {"name"} <= set(lists), kind
        assert len({"{name}" in alias for alias in of.aliases}) == 1, kind
        assert all(weight > 0 for weight in [*of.patterns.values(), *of.aliases.values()]), kind


def _first_words() -> set[str]:
    """What a name may begin with, articles left out."""
    return {word for _, pattern in _declared() for word in _words_by_position(pattern, "")[0]}


@pytest.mark.slow
def test_no_name_begins_with_a_label_or_a_misleading_letter() -> None:
    schema = world_schema()
    labels = {label for group in schema.items.values() for label in group.values()}
    labels |= {kind.noun for kind in schema.types.values()} | {"male", "female"}
    first = _first_words()
    assert not {fold(label) for label in labels if " " not in label} & first
    silent = re.compile(r"(eu|ewe|one|once|hour|heir|honest|honou?r|uni|use|usu|ut[aeio]|ura|uk)")
    assert not sorted(filter(silent.match, first))


def test_names_hold_nothing_that_prose_must_escape() -> None:
    names = NameMaker(SMALL, 2)
    numbers = range(sum(SMALL.values()))
    texts = [names.name(n) for n in numbers] + [names.alias(n, 1) for n in numbers]
    for text in texts:
        assert re.fullmatch(r"[^\W\d_](?:[^\W\d_]|[ '.&])+", text), text
        assert text[0].isupper()
        assert "  " not in text
        assert unicodedata.is_normalized("NFC", text)
