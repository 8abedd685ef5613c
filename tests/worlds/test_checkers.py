"""The checks of fidelity themselves: they pass a right world and see what is wrong in others."""

import pytest

from support.worlds.chronology import impossible
from support.worlds.contradictions import (
    repeated_share,
    strange_claims,
    strange_dates,
    strange_descriptions,
    strange_numbers,
    strange_pronouns,
    strange_years,
)
from support.worlds.kg_reader import parse_triple
from support.worlds.little_world import (
    ARTICLES,
    HARBOR,
    ILSE,
    MARA,
    PRIZE,
    REMAKE,
    STATEMENTS,
    write_world,
)
from support.worlds.name_finder import NameFinder
from support.worlds.shared_names import misnamed, unclear_aliases, unclear_mentions, unclear_titles
from support.worlds.telling import claimed_in_vain, untold
from support.worlds.world_reader import read_world

CHECKS = (
    misnamed, unclear_titles, unclear_aliases, unclear_mentions, strange_claims, strange_dates,
    strange_years, strange_numbers, strange_pronouns, strange_descriptions,
)  # fmt: skip


def claims_of(world):
    return [(passage, claim) for passage in world.passages for claim in passage.claims]


def test_a_right_world_passes_every_check(tmp_path):
    world = read_world(write_world(tmp_path / "w"))
    assert untold(world, world.kg.statements) == []
    assert claimed_in_vain(world, claims_of(world)) == []
    assert [line for check in CHECKS for line in check(world)] == []
    assert list(impossible(world.kg)) == []
    assert world.kg.aliases[MARA] == ["M. Vöss"]


@pytest.mark.parametrize(
    ("entity", "old", "new", "missed"),
    [
        (REMAKE, "Ilse Brandt", "Mara Voss", "P57 director | Ilse Brandt"),
        (MARA, "She directed", "She saw", "P57 director | Mara Voss"),
        (MARA, "(1976 film)", "(1998 film)", "P57 director | Mara Voss"),
        (MARA, "(1976 film)", "(film)", "P57 director | Mara Voss"),
        (PRIZE, "1977", "1978", "P166 award received | Orlan Prize"),
        (HARBOR, "14 March", "15 March", "P577 publication date | 1976-03-14"),
        (HARBOR, "118", "1,118", "P2047 duration | 118"),
        (ILSE, "Her birth", "A birth", "P21 sex or gender | female"),
    ],
)
def test_a_statement_told_otherwise_is_found(tmp_path, entity, old, new, missed):
    changed = {**ARTICLES, entity: ARTICLES[entity].replace(old, new)}
    world = read_world(write_world(tmp_path / "w", articles=changed))
    (failure,) = untold(world, world.kg.statements)
    assert missed in failure
    assert len(claimed_in_vain(world, claims_of(world))) == 1


def test_a_claim_that_the_graph_lacks_is_found(tmp_path):
    fewer = [s for s in STATEMENTS if s != (REMAKE, "P577", "1998-10-01")]
    world = read_world(write_world(tmp_path / "w", fewer))
    (failure,) = claimed_in_vain(world, claims_of(world))
    assert "claims what the graph has not" in failure
    assert "(1998 film) is described as '1998 film'" in next(strange_descriptions(world))
    assert "1998-10-01 is no date of The Silent Harbor (1998 film)" in next(strange_dates(world))


def test_a_shared_name_without_one_of_its_bearers_is_found(tmp_path):
    world = read_world(write_world(tmp_path / "w", bearers=(HARBOR,)))
    assert any("'The Silent Harbor'" in line for line in misnamed(world))
    assert any("1998 film" in line for line in unclear_titles(world)) is False
    assert read_world(tmp_path / "w").title(REMAKE) == "The Silent Harbor"


@pytest.mark.parametrize(
    ("check", "entity", "sentence"),
    [
        (unclear_mentions, ILSE, " The Silent Harbor is a favourite of hers."),
        (unclear_mentions, ILSE, " The film The Silent Harbor is a favourite of hers."),
        (unclear_mentions, ILSE, " The Silent Harbor (film) is a favourite of hers."),
        (unclear_mentions, ILSE, " The 1998 film The Silent Harbor is a favourite of hers."),
        (strange_claims, REMAKE, " Directed by Mara Voss."),
        (strange_claims, ILSE, " She directed The Silent Harbor (1998 film) and Orlan Prize."),
        (strange_dates, MARA, " A gala took place on 3 June 1976."),
        (strange_years, MARA, " A gala took place in 1983."),
        (strange_numbers, ILSE, " She had 12 assistants."),
        (strange_pronouns, ILSE, " He worked at night."),
    ],
)
def test_a_sentence_against_the_graph_is_found(tmp_path, check, entity, sentence):
    changed = {**ARTICLES, entity: ARTICLES[entity] + sentence}
    world = read_world(write_world(tmp_path / "w", articles=changed))
    (failure,) = check(world)
    assert sentence.strip() in failure


def test_a_film_of_an_unborn_director_is_found(tmp_path):
    later = [(s, p, "1970-01-01" if (s, p) == (MARA, "P569") else v) for s, p, v in STATEMENTS]
    world = read_world(write_world(tmp_path / "w", later))
    assert "Q2000000003 was born on 1970-01-01" in next(impossible(world.kg))


def test_names_inside_names_are_not_found_and_no_sentence_ends_in_one():
    finder = NameFinder(["Harbor", "The Silent Harbor", "St. Orme's College", "J. Voss"])
    text = "The Silent Harbor opened. J. Voss left St. Orme's College; Harbor's mayor stayed! Why?"
    first, second, third = finder.sentences(text)
    assert [m.name for m in first.mentions] == ["The Silent Harbor"]
    assert [m.name for m in second.mentions] == ["J. Voss", "St. Orme's College", "Harbor"]
    assert second.masked == "@ left @; @'s mayor stayed!"
    assert third.text == "Why?"


def test_repeated_sentences_count_however_their_names_differ(tmp_path):
    again = {**ARTICLES, MARA: "Mara Voss sang. " * 3 + "Ilse Brandt sang. She slept. It rained."}
    world = read_world(write_world(tmp_path / "w", articles=again))
    others = sum(len(p.sentences) for p in world.passages) - 6
    assert repeated_share(world, often=3) == 4 / (6 + others)
    assert repeated_share(world, often=4) == 0


@pytest.mark.parametrize(
    "line",
    [
        '<http://x/a b> <http://x/p> "v" .\n',
        '<http://x/a> <http://x/p> "one " two" .\n',
        '<http://x/a> <http://x/p> "\\q" .\n',
        "<http://x/a> <http://x/p> <http://x/b>\n",
        '<http://x/a> <http://x/p> "v"@en . \n',
    ],
)
def test_a_line_that_is_not_n_triples_is_refused(line):
    with pytest.raises(ValueError, match="not an N-Triples line"):
        parse_triple(line)
