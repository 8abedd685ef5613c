"""Names looked up with SPARQL, on a server that someone else wrote."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from branchwise.kg.answers import KgError, Match
from branchwise.kg.open import RemoteKg
from support.kg.plain.kg import PlainKg, read_kg
from support.kg.sparql_server import serve_kg


@pytest.fixture(scope="module")
def plain(world_300: Path) -> PlainKg:
    return read_kg(world_300 / "kg.nt.gz")


@pytest.fixture(scope="module")
def remote(world_300: Path) -> Iterator[RemoteKg]:
    # That server reads every name for a part of one: minutes, where every core is busy.
    with serve_kg(world_300 / "kg.nt.gz") as url, pytest.MonkeyPatch.context() as patch:
        patch.setattr("branchwise.kg.open.DEFAULT_SECONDS", 300.0)
        kg = RemoteKg(url)
        yield kg
        kg.close()


def expected(plain: PlainKg, number: str, name: str) -> Match:
    """A match as the triples have it: types, then occupations; statements without names."""
    thing = f"wd:{number}"
    kinds = [
        sorted({plain.label(kind).text for kind in plain.values(thing, prop)})
        for prop in ("wdt:P31", "wdt:P106")
    ]
    direct = sum(len(o) for (s, p), o in plain.forward.items() if s == thing and p[:4] == "wdt:")
    return Match(
        number, plain.label(thing).text, plain.description(thing).text, name,
        (*kinds[0], *kinds[1]), direct,
    )  # fmt: skip


@pytest.mark.long
def test_a_shared_name_gives_all_its_bearers(remote, plain, world_300):
    lines = (world_300 / "names.jsonl").read_text().splitlines()
    shared = [json.loads(line) for line in lines]
    for entry in sorted(shared, key=lambda entry: -len(entry["entities"]))[:4]:
        bearers = [bearer["id"] for bearer in entry["entities"]]
        found = remote.search(entry["name"], limit=20)
        wanted = [expected(plain, number, entry["name"]) for number in bearers]
        assert sorted(found) == sorted(wanted)
        assert [match.statements for match in found] == sorted(
            (match.statements for match in wanted), reverse=True
        )


def test_case_does_not_matter_and_words_of_a_name_suffice(remote, plain, world_300):
    entry = json.loads((world_300 / "names.jsonl").read_text().splitlines()[0])
    bearers = {bearer["id"] for bearer in entry["entities"]}
    lower, part = entry["name"].lower(), " ".join(entry["name"].lower().split()[1:])
    assert {match.id for match in remote.search(lower)} == bearers
    names = {plain.label(s).text for s, _ in plain.pairs("rdfs:label") if s.startswith("wd:Q")}
    assert sum(all(word in name.lower() for word in part.split()) for name in names) == 1
    assert {match.id for match in remote.search(part)} == bearers


@pytest.mark.parametrize(
    ("phrase", "number", "label"),
    [
        ("director", "P57", "director"),
        ("starred in", "P161", "cast member"),
        ("place of brith", "P19", "place of birth"),
    ],
)
def test_properties_are_found_by_alias_and_by_part(remote, phrase, number, label):
    first = remote.search(phrase, "property")[0]
    assert (first.id, first.label) == (number, label)


@pytest.mark.long
def test_items_and_properties_are_kept_apart(remote: RemoteKg) -> None:
    assert remote.search("cast member", "item") == []
    assert remote.search("cast member", "property")[0].id == "P161"
    assert remote.search("film", "item")[0].id == "Q11424"
    assert all(match.id.startswith("P") for match in remote.search("film", "property"))


def test_a_class_says_how_many_things_are_instances_of_it(remote: RemoteKg, plain: PlainKg) -> None:
    films = [subject for subject, kind in plain.pairs("wdt:P31") if kind == "wd:Q11424"]
    assert remote.search("film", "item")[0].members == len(films) > 0


@pytest.mark.parametrize("text", ['" } DROP ALL #\\', "\x00\n\r\t?!", "}" * 999, "ﬁlm\u202e'''"])
def test_any_text_is_only_a_text(remote: RemoteKg, text: str) -> None:
    assert remote.search(text) == []


def test_an_empty_text_is_refused(remote: RemoteKg) -> None:
    with pytest.raises(KgError, match="no text"):
        remote.search(" \n")
