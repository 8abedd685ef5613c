"""What each dial of a world does, read from its files alone."""

from collections import Counter

import pytest

from branchwise.corpora.folder import Corpus, Titles
from branchwise.kg.build import build_kg
from branchwise.kg.open import EmbeddedKg
from branchwise.worlds.questions.support import Support
from support.worlds.bare_names import unclear_bare_mentions, unclear_passages
from support.worlds.shared_names import misnamed, unclear_titles
from support.worlds.telling import untold
from support.worlds.world_reader import read_world

pytestmark = pytest.mark.slow

# SHA-256 of the contents of a world of 300 entities, seed 7, ambiguity 0.35, before any dial was.
EASY = {
    "kg.nt.gz": "fba65acdcbd31d3899d389abf8432f2f96d8bc0ec0023864b8bea622157ffc49",
    "corpus.jsonl": "a597570ca19b4321368ca1664bb60f69d07aee2aabe2e5a8fe5d7c2b0be6fce7",
    "names.jsonl": "f349d87e6e6b6a329b6e98398c0f91e03da00636f1658868f104613e38122751",
}


@pytest.fixture(scope="module")
def turned(make_world):
    """A world of 600 entities with some dials turned: `turned("one_side=100")`."""

    def read(*dials, entities=600):
        options = [part for dial in dials for part in ("--dial", dial)]
        return read_world(make_world(entities, 7, "--ambiguity", "0.35", *options))

    return read


def test_an_easy_world_is_what_it_was_before_there_were_dials(turned):
    files = turned(entities=300).facts["files"]
    assert {name: noted["sha256"] for name, noted in files.items()} == EASY


def test_one_side_tells_each_link_once_as_often_about_either_side(turned):
    world = turned("one_side=100")
    told = Counter(claim for passage in world.passages for claim in passage.claims)
    of_object = {claim for p in world.passages for claim in p.claims if claim[2] == p.entity}
    two_sided = {prop for _, prop, _ in of_object}
    links = [claim for claim in told if claim[1] in two_sided and claim[2] in world.kg.labels]
    assert {claim: told[claim] for claim in links if told[claim] != 1} == {}
    exact = [claim for claim in links if claim[1] in ("P57", "P161", "P50", "P175")]
    assert len(exact) > 500
    assert 0.4 < sum(claim in of_object for claim in exact) / len(exact) < 0.6


def test_bare_titles_are_told_apart_in_every_passage(turned):
    world = turned("bare_titles=100")
    assert world.bare == set(world.shared)
    assert [*unclear_passages(world), *unclear_bare_mentions(world)] == []
    assert [*misnamed(world), *unclear_titles(world)] == []
    assert untold(world, world.kg.statements) == []
    assert len({passage.id for passage in world.passages}) == len(world.passages)


def test_so_many_of_the_shared_names_are_bare(turned):
    world = turned("bare_titles=40")
    assert 0.25 < len(world.bare) / len(world.shared) < 0.55
    assert list(unclear_passages(world)) == []


def test_open_passages_opens_all_who_bear_a_title(turned):
    world = turned("bare_titles=100")
    titles = Titles(Corpus.open(world.folder))
    for name, bearers in world.shared.items():
        articles = [p.id for b in bearers for p in world.articles[b["id"]]]
        assert sorted(passage.id for passage in titles.passages(name)) == sorted(articles)


def test_so_many_facts_stand_in_the_articles_of_others_alone(turned):
    world = turned("astray=40")
    own = ("P31", "P21", "P106")  # which every article begins with
    told = {claim: ps for claim, ps in world.claimed_in.items() if claim[1] not in own}
    astray = {s: ps for s, ps in told.items() if all(p.entity not in (s[0], s[2]) for p in ps)}
    assert 0.35 < len(astray) / len(told) < 0.42
    assert {len(passages) for passages in astray.values()} == {1}
    related = world.kg.related
    for (subject, _, _), (passage,) in astray.items():
        near = related[subject]
        assert passage.entity in near.union(*(related[entity] for entity in near))


def test_retellings_tell_a_part_again_in_other_words(turned):
    world = turned("retellings=50")
    retold = [passage for passage in world.passages if world.is_retelling(passage)]
    assert 0.42 < len(retold) / len(world.entities) < 0.58
    assert len({passage.entity for passage in retold}) == len(retold)
    same = all_sentences = 0
    for passage in retold:
        article = [p for p in world.articles[passage.entity] if p is not passage]
        assert set(passage.claims) <= {claim for p in article for claim in p.claims}
        said = {sentence.text for p in article for sentence in p.sentences}
        same += sum(sentence.text in said for sentence in passage.sentences)
        all_sentences += len(passage.sentences)
    assert same / all_sentences < 0.02
    told = sum(len(p.claims) for p in retold)
    all_told = sum(len(p.claims) for r in retold for p in world.articles[r.entity] if p is not r)
    assert 0.4 < told / all_told < 0.8


def test_obituaries_are_of_the_dead(turned):
    world = turned("retellings=100")
    obituaries = [p for p in world.passages if p.title.startswith("Obituary: ")]
    assert obituaries
    assert [p for p in obituaries if not world.kg.of(p.entity, "P570")] == []


def test_former_values_are_as_many_as_dates_allow(turned):
    some, all_ = turned("former=30").kg.former, turned("former=100").kg.former
    assert 0.2 < len(some) / len(all_) < 0.4
    assert {prop for _, prop, _ in all_} >= {"P27", "P127", "P159", "P169", "P286", "P1128"}


def test_support_tells_what_is_so_now_from_what_was_so_before(turned):
    world = turned("former=100")
    support = Support.load(world.folder / "corpus.jsonl")
    assert [claim for claim in world.kg.former if support.ids(*claim)] == []
    replaced = [(s, p, v) for s, p, _ in world.kg.former for v in world.kg.of(s, p)]
    assert [claim for claim in replaced if not support.ids(*claim)] == []
    told = {claim: p.id for p in world.passages for claim in p.former}
    kept = {(s, p, v): support.ids(s, f"{p} ended", v) for s, p, v in world.kg.former}
    assert [claim for claim, ids in kept.items() if told[claim] not in ids] == []


def test_a_graph_with_former_values_answers_with_both(turned, tmp_path):
    world = turned("former=100")
    subject, prop, value = next(claim for claim in world.kg.former if claim[1] == "P127")
    build_kg([world.folder], tmp_path / "kg")
    kg = EmbeddedKg(tmp_path / "kg")
    now = kg.query(f"SELECT ?x {{ wd:{subject} wdt:{prop} ?x }}")
    ended = kg.query(f"SELECT ?x {{ wd:{subject} p:{prop} ?s . ?s ps:{prop} ?x ; pq:P582 ?end }}")
    kg.close()
    found = [[term.value.rpartition("/")[2] for (term,) in rows.rows] for rows in (now, ended)]
    assert found == [world.kg.of(subject, prop), [value]]
