"""The files that a world is made of, and their shape."""

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
from statistics import median

import pytest

from branchwise.worlds.questions.sources import open_source
from support.worlds.kg_reader import FIRST_NUMBER, PROP
from support.worlds.world_reader import read_world

FILES = ("kg.nt.gz", "corpus.jsonl", "names.jsonl", "world.json")
ACTOR = "Q33999"
# What a world of films and football alone may hold.
CLASSES = {
    *("human", "country", "city", "film", "film production company", "film award"),
    *("association football club", "association football league", "stadium"),
}
OCCUPATIONS = {
    *("actor", "film director", "screenwriter", "film score composer"),
    *("association football player", "association football manager"),
}
_BASIC = (17, 19, 21, 27, 31, 36, 50, 118, 123, 131, 159, 175, 569, 570, 571, 577)
_FIGURES = (740, 1082, 1083, 1104, 1128, 1619, 2047, 2048, 2196)
SINGLE = {f"P{number}" for number in _BASIC + _FIGURES}


def contents(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.long
def test_the_same_seed_gives_the_same_bytes(make_world, small_world):
    first = contents(small_world.folder)
    assert contents(make_world(600, 7)) == first
    for hash_seed in ("1", "4242"):
        env = os.environ | {"PYTHONHASHSEED": hash_seed, "LC_ALL": "C", "TZ": "Asia/Tokyo"}
        assert contents(make_world(600, 7, env=env)) == first


@pytest.mark.slow
def test_dials_at_0_make_the_world_that_was_made_before_there_were_any(small_world):
    read = {name: (small_world.folder / name).read_bytes() for name in FILES[:3]}
    read["kg.nt.gz"] = gzip.decompress(read["kg.nt.gz"])
    digests = {name: hashlib.sha256(data).hexdigest()[:16] for name, data in read.items()}
    assert digests == {
        "kg.nt.gz": "4932fc8d49a8811e",
        "corpus.jsonl": "8e35f4a4252a3eb8",
        "names.jsonl": "75931659ad1b48ba",
    }


@pytest.mark.long
def test_a_world_turned_up_is_the_same_on_every_machine(make_turned_up, turned_up):
    env = os.environ | {"PYTHONHASHSEED": "4242", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    assert contents(make_turned_up(env=env)) == contents(turned_up.folder)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["small_world", "turned_up"])
def test_what_is_kept_for_questions_is_what_the_finished_files_say(request, tmp_path, which):
    folder = request.getfixturevalue(which).folder
    read = tmp_path / "w"
    read.mkdir()
    for name in FILES:  # as another program unpacks them: the times are new, nothing is kept
        (read / name).write_bytes((folder / name).read_bytes())
    open_source(str(read))
    for kept in ("facts", "support"):
        made = {file.name: file.read_bytes() for file in (folder / kept).glob("*.npy")}
        assert made == {file.name: file.read_bytes() for file in (read / kept).glob("*.npy")}
        assert len(made) > 3


@pytest.mark.slow
def test_a_finished_world_is_not_read_again(make_world):
    folder = make_world(300, 2, "--domains", "book,science")
    for name, kept in (("kg.nt.gz", "facts"), ("corpus.jsonl", "support")):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(b"none" + whole[4:])  # of the same size ...
        origin = json.loads((folder / kept / "arrays.json").read_bytes())["origin"]
        ((_, written),) = [pair for pair in origin.items() if pair[0] != "properties"]
        os.utime(folder / name, ns=(written["modified_ns"],) * 2)  # ... and time
    source = open_source(str(folder))
    assert len(source.facts.members("novel")) > 20
    novel = source.facts.members("novel")[0]
    assert source.support.ids(novel, "P31", "Q8261")


def test_another_seed_gives_other_names(make_world, small_world):
    other = read_world(make_world(600, 8))
    common = other.bearers.keys() & small_world.bearers.keys()
    assert len(common) < 0.05 * len(small_world.bearers)
    assert {p.id for p in other.passages}.isdisjoint(p.id for p in small_world.passages)


def test_graph_has_no_triple_twice(world):
    assert len(set(world.kg.lines)) == len(world.kg.lines)


def test_every_entity_has_one_label_one_description_and_one_class(world):
    kg = world.kg
    assert [e for e in world.entities if len(kg.labels[e]) != 1] == []
    assert [e for e in world.entities if len(kg.descriptions.get(e, ())) != 1] == []
    assert [e for e in world.entities if len(kg.of(e, "P31")) != 1] == []


def test_what_has_one_value_by_nature_has_one(world):
    several = [
        (entity, prop, values)
        for entity, held in world.kg.values.items()
        for prop, values in held.items()
        if prop in SINGLE and len(values) != 1
    ]
    assert several == []


def test_everything_in_the_graph_has_a_label(world):
    held = {v for _, _, v in world.kg.statements if v.startswith("Q")}
    held |= {e for s, p, _ in world.kg.statements for e in (s, p)}
    assert sorted(held - world.kg.labels.keys()) == []


def test_properties_say_which_predicate_is_theirs(world):
    properties = {prop for _, prop, _ in world.kg.statements}
    assert properties <= world.kg.direct_claims.keys()
    assert all(v == f"{PROP}direct/{p}" for p, v in world.kg.direct_claims.items())


def test_entities_have_numbers_that_wikidata_has_not(world):
    numbers = sorted(int(entity[1:]) for entity in world.entities)
    assert numbers == list(range(FIRST_NUMBER, FIRST_NUMBER + 5000))
    assert [s for s in world.kg.values if int(s[1:]) < FIRST_NUMBER] == []


def test_no_two_names_differ_in_case_alone(world):
    folded = {}
    for name in world.bearers:
        folded.setdefault(name.casefold(), set()).add(name)
    assert [names for names in folded.values() if len(names) > 1] == []


def test_passages_have_ids_of_their_own(world):
    ids = [passage.id for passage in world.passages]
    assert len(set(ids)) == len(ids)
    assert [i for i in ids if not re.fullmatch(r"[0-9a-f]{16}", i)] == []


def test_every_entity_has_an_article(world):
    assert sorted(set(world.entities) ^ world.articles.keys()) == []


def test_degrees_have_a_long_tail(world):
    films = {e: 0 for e in world.entities if ACTOR in world.kg.of(e, "P106")}
    for _, prop, value in world.kg.statements:
        if prop == "P161":
            films[value] += 1
    counts = sorted(films.values(), reverse=True)
    stars = counts[: max(1, len(counts) // 100)]
    assert stars[-1] >= 5 * max(1, median(counts)), (stars, median(counts))
    assert len(counts) > 300


def test_only_the_domains_asked_for(make_world):
    world = read_world(make_world(400, 3, "--domains", "movie,sports"))
    kg = world.kg
    assert {kg.label(v) for _, p, v in kg.statements if p == "P31"} == CLASSES
    occupations = {kg.label(v) for _, p, v in kg.statements if p == "P106"}
    assert occupations <= OCCUPATIONS
    assert occupations >= {"actor", "association football player"}
    assert not {"P50", "P175", "P169", "P184", "P69"} & {p for _, p, _ in kg.statements}


def test_world_json_has_the_size_and_digest_of_every_file(world):
    files = world.facts["files"]
    assert set(files) == set(FILES) - {"world.json"}
    for name, noted in files.items():
        data = (world.folder / name).read_bytes()
        plain = gzip.decompress(data) if name.endswith(".gz") else data
        assert noted["sha256"] == hashlib.sha256(plain).hexdigest(), name
        assert noted["bytes"] in (len(data), len(plain)), name
    assert world.facts["seed"] == 7


@pytest.mark.parametrize("command", ["corpus", "world"])
def test_a_world_opens_as_what_it_is(small_world, command):
    info = (sys.executable, "-m", "branchwise", command, "info", str(small_world.folder))
    shown = subprocess.run(info, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    passages = len(small_world.passages)
    assert str(passages) in shown.stdout.replace(",", "") if command == "corpus" else shown.stdout
