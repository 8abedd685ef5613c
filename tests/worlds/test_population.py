"""Who is in a world, and who shares a name with whom."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.kg.dials import EASY, Dials
from branchwise.worlds.domains import DOMAINS, world_schema
from branchwise.worlds.facts import draw_links
from branchwise.worlds.population import populate


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.integers(80, 4000),
    st.integers(0, 2**32),
    st.floats(0, 0.7),
    st.sets(st.sampled_from(DOMAINS), min_size=1),
)
def test_any_world_has_as_many_entities_as_asked_for(entities, seed, ambiguity, domains):
    schema = world_schema(sorted(domains))
    population = populate(schema, entities, seed, ambiguity)
    assert len(population) == len(population.years) == len(population.name_numbers) == entities
    for kind in population.types:
        first, end = population.range_of(kind)
        declared = schema.types[kind]
        assert declared.at_least <= end - first <= declared.at_most
    sizes = np.diff(population.groups.starts)
    assert all(2 <= size <= 14 for size in sizes)
    bearers = Counter(population.name_numbers.tolist())
    assert sorted(n for n in bearers.values() if n > 1) == sorted(sizes.tolist())


def test_the_share_of_shared_names_is_that_asked_for():
    population = populate(world_schema(), 20_000, 3, 0.2)
    bearers = Counter(population.name_numbers.tolist())
    shared = sum(count > 1 for count in bearers.values())
    assert shared / len(bearers) == pytest.approx(0.2, abs=0.01)


def test_too_few_entities_are_refused_with_the_least():
    with pytest.raises(InputError, match="ask for at least 50, or for fewer domains"):
        populate(world_schema(), 12, 1, 0.1)


def test_same_named_entities_have_different_years():
    population = populate(world_schema(), 5_000, 1, 0.5)
    groups = population.groups
    for members in np.split(groups.members, groups.starts[1:-1]):
        assert len(set(population.years[members])) == len(members)


def test_same_named_cities_are_in_different_countries():
    population = populate(world_schema(), 3_000, 5, 0.6)
    links = draw_links(population)["city_country"]
    country = dict(zip(links.subjects.tolist(), links.objects.tolist(), strict=True))
    first, end = population.range_of("city")
    groups = population.groups
    shared = 0
    for members in np.split(groups.members, groups.starts[1:-1]):
        cities = [int(m) for m in members if first <= m < end]
        shared += len(cities) > 1
        assert len({country[city] for city in cities}) == len(cities)
    assert shared


def test_every_country_has_a_city_and_a_capital_of_its_own():
    population = populate(world_schema(), 3_000, 5, 0.6)
    links = draw_links(population)
    first, end = population.range_of("country")
    assert set(links["city_country"].objects.tolist()) == set(range(first, end))
    assert links["capital"].subjects.tolist() == list(range(first, end))
    assert len(set(links["capital"].objects.tolist())) == end - first


def of_kinds(schema, population, members):
    """The kinds of names whose types the bearers of a name are of."""
    types = [population.types[np.searchsorted(population.starts, m, "right") - 1] for m in members]
    return {schema.resolved(name).shares for name in types}


def test_so_many_of_the_shared_names_go_across_kinds():
    schema = world_schema()
    population = populate(schema, 8_000, 7, 0.1, Dials(namesakes=60))
    groups = population.groups
    names = np.split(groups.members, groups.starts[1:-1])
    across = [name for name in names if len(of_kinds(schema, population, name)) > 1]
    assert len(across) / len(names) == pytest.approx(0.6, abs=0.02)
    assert {len(of_kinds(schema, population, name)) for name in across} == {2, 3, 4}
    assert max(map(len, across)) > 10
    assert len(np.unique(groups.members)) == len(groups.members)


def test_same_named_cities_are_in_different_countries_whoever_else_has_the_name():
    population = populate(world_schema(), 3_000, 5, 0.6, Dials(namesakes=100))
    links = draw_links(population)["city_country"]
    country = dict(zip(links.subjects.tolist(), links.objects.tolist(), strict=True))
    first, end = population.range_of("city")
    groups = population.groups
    for members in np.split(groups.members, groups.starts[1:-1]):
        cities = [int(m) for m in members if first <= m < end]
        assert len({country[city] for city in cities}) == len(cities)


@pytest.mark.parametrize(
    ("relation", "hubs"),
    [("album_label", 1), ("educated_at", 4), ("birthplace", 8), ("employer", 2)],
)
def test_hubs_have_hundreds_of_links_and_the_others_what_is_left(relation, hubs):
    population = populate(world_schema(), 8_000, 7, 0.1, Dials(hubs=60))
    links = Counter(draw_links(population)[relation].objects.tolist())
    plain = Counter(draw_links(replace(population, dials=EASY))[relation].objects.tolist())
    most = [count for _, count in links.most_common(hubs)]
    assert min(most) >= 150
    assert sum(most) > 0.4 * links.total()
    assert max(plain.values()) < max(most)
    assert 0.85 * plain.total() < links.total() <= plain.total()


@pytest.mark.parametrize("relation", ["members", "head_coach", "city_country", "home_venue"])
def test_what_belongs_to_few_at_a_time_has_no_hubs(relation):
    population = populate(world_schema(), 8_000, 7, 0.1, Dials(hubs=100))
    plain = draw_links(replace(population, dials=EASY))[relation]
    assert np.array_equal(draw_links(population)[relation].objects, plain.objects)


def test_nobody_coaches_two_clubs():
    links = draw_links(populate(world_schema(), 5_000, 9, 0.1))["head_coach"]
    assert len(links.subjects) > 30
    assert len(set(links.objects.tolist())) == len(links.objects)
