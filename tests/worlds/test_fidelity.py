"""A world's passages and its graph say the same. Nothing here is shared with what makes worlds."""

import random

import pytest

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
from support.worlds.telling import claimed_in_vain, sample, untold
from support.worlds.world_reader import read_world

CLAIMS_READ = 8_000


def none_of(failures):
    """Passes where there are none; otherwise shows how many, and the first."""
    failures = list(failures)
    assert not failures, "\n".join([f"{len(failures)} failures", *failures[:12]])


@pytest.mark.long
def test_passages_tell_what_a_sample_of_every_property_says(world):
    none_of(untold(world, sample(world)))


def test_a_small_world_tells_every_statement(small_world):
    none_of(untold(small_world, small_world.kg.statements))


def test_every_statement_is_claimed_by_a_passage(world):
    claimed = {claim for passage in world.passages for claim in passage.claims}
    none_of(sorted(set(world.kg.statements) - claimed))


def test_passages_tell_what_they_claim(world):
    claims = [(passage, claim) for passage in world.passages for claim in passage.claims]
    none_of(claimed_in_vain(world, random.Random(7).sample(claims, CLAIMS_READ)))


def test_shared_names_are_exactly_those_of_the_labels(world, small_world):
    none_of([*misnamed(world), *misnamed(small_world)])


def test_titles_tell_apart_and_stand_in_the_corpus(world):
    none_of(unclear_titles(world))


def test_a_shared_name_is_told_apart_wherever_it_is_mentioned(world):
    none_of(unclear_mentions(world))


@pytest.mark.long
def test_a_world_of_shared_names_stays_clear(make_world):
    world = read_world(make_world(800, 5, "--ambiguity", "0.5"))
    assert sum(len(bearers) for bearers in world.titles.values()) > 400
    none_of([*misnamed(world), *unclear_titles(world), *unclear_mentions(world)])
    none_of(untold(world, world.kg.statements))
    assert not read_world(make_world(300, 5, "--ambiguity", "0")).titles


def test_no_alias_is_the_name_of_another(world):
    none_of(unclear_aliases(world))


def test_passages_bear_the_title_of_their_entity(world):
    none_of(p for p in world.passages if p.title != world.title(p.entity))


def test_names_after_directed_by_and_the_like_are_in_the_graph(world):
    none_of(strange_claims(world))


def test_dates_are_those_of_the_graph(world):
    none_of(strange_dates(world))


def test_years_are_those_of_the_graph(world):
    none_of(strange_years(world))


def test_numbers_are_those_of_the_graph(world):
    none_of(strange_numbers(world))


def test_descriptions_are_those_of_the_graph(world):
    none_of(strange_descriptions(world))


def test_pronouns_fit(world):
    none_of(strange_pronouns(world))


def test_nothing_happens_before_its_time_or_after_a_death(world, small_world):
    none_of([*impossible(world.kg), *impossible(small_world.kg)])
