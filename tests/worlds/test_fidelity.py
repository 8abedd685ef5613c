"""A world's passages and its graph say the same. Nothing here is shared with what makes worlds."""

import random

import pytest

from support.worlds.bare_names import unclear_bare_mentions, unclear_passages
from support.worlds.chronology import impossible
from support.worlds.contradictions import (
    strange_claims,
    strange_dates,
    strange_descriptions,
    strange_numbers,
    strange_pronouns,
    strange_years,
)
from support.worlds.shared_names import misnamed, unclear_aliases, unclear_mentions, unclear_titles
from support.worlds.telling import claimed_in_vain, sample, tells_former, untold
from support.worlds.world_reader import read_world

CLAIMS_READ = 8_000


def none_of(failures):
    """Passes where there are none; otherwise shows how many, and the first."""
    failures = list(failures)
    assert not failures, "\n".join([f"{len(failures)} failures", *failures[:12]])


@pytest.mark.long
def test_passages_tell_what_a_sample_of_every_property_says(any_world):
    none_of(untold(any_world, sample(any_world)))


def test_a_small_world_tells_every_statement(small_world):
    none_of(untold(small_world, small_world.kg.statements))


def test_every_statement_is_claimed_by_a_passage(any_world):
    claimed = {claim for passage in any_world.passages for claim in passage.claims}
    none_of(sorted(set(any_world.kg.statements) - claimed))


def test_passages_tell_what_they_claim(any_world):
    claims = [(passage, claim) for passage in any_world.passages for claim in passage.claims]
    none_of(claimed_in_vain(any_world, random.Random(7).sample(claims, CLAIMS_READ)))


def test_shared_names_are_exactly_those_of_the_labels(world, small_world):
    none_of([*misnamed(world), *misnamed(small_world)])


def test_titles_tell_apart_and_stand_in_the_corpus(any_world):
    none_of(unclear_titles(any_world))


def test_a_shared_name_is_told_apart_wherever_it_is_mentioned(any_world):
    none_of(unclear_mentions(any_world))


@pytest.mark.long
def test_a_world_of_shared_names_stays_clear(make_world):
    world = read_world(make_world(800, 5, "--ambiguity", "0.5"))
    assert sum(len(bearers) for bearers in world.titles.values()) > 400
    none_of([*misnamed(world), *unclear_titles(world), *unclear_mentions(world)])
    none_of(untold(world, world.kg.statements))
    assert not read_world(make_world(300, 5, "--ambiguity", "0")).titles


@pytest.mark.long
def test_a_world_of_hubs_namesakes_and_former_values_agrees_with_itself(make_world):
    dials = ("--dial", "hubs=60", "--dial", "namesakes=60", "--dial", "former=80")
    world = read_world(make_world(1500, 7, "--ambiguity", "0.3", *dials))
    claims = [(passage, claim) for passage in world.passages for claim in passage.claims]
    none_of(untold(world, sample(world)))
    none_of(claimed_in_vain(world, random.Random(7).sample(claims, CLAIMS_READ)))
    none_of([*misnamed(world), *unclear_titles(world), *unclear_mentions(world)])
    none_of([*unclear_aliases(world), *strange_claims(world), *strange_descriptions(world)])
    none_of([*strange_dates(world), *strange_years(world), *strange_numbers(world)])
    none_of([*strange_pronouns(world), *impossible(world.kg)])
    none_of(untold_former(world))


def test_no_alias_is_the_name_of_another(any_world):
    none_of(unclear_aliases(any_world))


def test_passages_say_whom_they_are_about(any_world):
    none_of([*unclear_passages(any_world), *unclear_bare_mentions(any_world)])


def test_passages_of_an_easy_world_bear_the_title_of_their_entity(world):
    none_of(p for p in world.passages if p.title != world.title(p.entity))


def test_names_after_directed_by_and_the_like_are_in_the_graph(any_world):
    none_of(strange_claims(any_world))


def test_dates_are_those_of_the_graph(any_world):
    none_of(strange_dates(any_world))


def test_years_are_those_of_the_graph(any_world):
    none_of(strange_years(any_world))


def test_numbers_are_those_of_the_graph(any_world):
    none_of(strange_numbers(any_world))


def test_descriptions_are_those_of_the_graph(any_world):
    none_of(strange_descriptions(any_world))


def test_pronouns_fit(any_world):
    none_of(strange_pronouns(any_world))


def test_nothing_happens_before_its_time_or_after_a_death(any_world, small_world):
    none_of([*impossible(any_world.kg), *impossible(small_world.kg)])


def test_what_was_so_before_is_told_with_its_year_and_is_no_longer_so(turned_up):
    none_of(untold_former(turned_up))


def untold_former(world):
    """Former values that no passage tells, or that one tells otherwise, or of what is so now."""
    former = world.kg.former
    assert len(former) > 300
    claimed = [(passage, claim) for passage in world.passages for claim in passage.former]
    yield from (str(claim) for claim in former.keys() ^ {claim for _, claim in claimed})
    for passage, claim in claimed:
        if not tells_former(world, passage, claim):
            yield f"{passage.title} does not tell {claim}: {passage.text}"
    yield from map(str, former.keys() & set(world.kg.statements))
    yield from map(str, former.keys() & world.claimed_in.keys())


def test_what_replaced_another_began_when_that_ended(turned_up):
    kg = turned_up.kg
    assert len(kg.former) > 500
    for (subject, prop, value), ((time),) in kg.former.items():
        (now,) = kg.of(subject, prop)
        assert kg.times[subject, prop, now] == [{"P580": time["P582"]}]
        ranks = kg.ranks[subject, prop, now], kg.ranks[subject, prop, value]
        assert ranks == ("PreferredRank", "NormalRank")
