"""The prose files: all that is asked of them, and what is refused."""

import pytest

from branchwise.base.errors import InputError
from branchwise.worlds.domains import DOMAINS, world_schema
from branchwise.worlds.telling import prose
from branchwise.worlds.telling.prose import Wording, type_prose
from branchwise.worlds.world import World

CITY = {
    "description": ["city in {city_country}"],
    "title": "{city_country}",
    "hint": "the {city_country.adj} city of {name}",
    "lead": ["{s} is a city."],
    "plain": ["{s} is a city."],
    "tell": ["{s} lies in {city_country}.", "{s} has {city_population} people.", "Or {alias}."],
    "asides": ["It rains."],
    "former": ["In {then}, {n} had {city_population} people."],
    "dated": ["Atlas of {then}: {name}"],
    "since": ["That has been so since {since}."],
    "retold": {"Guide: {name}": "guide"},
    "frames": {"guide": "{n} is in the guide."},
    "clause": ["in {city_country}", "with {city_population} people"],
}
FACTS = ["instance_of", "city_country", "city_population"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_type_can_be_told_with_its_domain_alone(domain):
    world = World(800, 1, 0.1, [domain])
    for kind, facts in zip(world.population.types, world.facts, strict=True):
        assert type_prose(world.schema, kind, [fact.name for fact in facts]).leads


@pytest.fixture
def told(monkeypatch):
    """The prose of a city worded so."""

    def tell(**changes):
        wording = Wording.model_validate(CITY | changes)
        monkeypatch.setattr(prose, "_files", lambda: {"test.yaml": {"city": wording}})
        return type_prose(world_schema(), "city", FACTS)

    return tell


def test_facts_are_told_in_the_order_that_the_wording_gives(told):
    assert list(told().bits) == ["alias", "city_country", "city_population"]
    assert list(told(last=["city_country"]).bits) == ["alias", "city_population", "city_country"]


def test_a_variant_knows_what_it_tells_and_what_it_mentions(told):
    tell = ["{s}, in {city_country.adj} hands, has {city_population}.", *CITY["tell"]]
    first = told(tell=tell).tells[0]
    bits = told().bits
    assert first.needs == 1 << bits["city_population"]
    assert first.mentions == 1 << bits["city_country"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lead": []}, "the type 'city' has no `lead`"),
        ({"title": ""}, "the type 'city' has no `title`"),
        ({"hint": ""}, "the type 'city' has no `hint`"),
        ({"retold": {}}, "the type 'city' has no `retold`"),
        ({"retold": {"Atlas: {name}": "atlas"}}, "there is no frame 'atlas'"),
        ({"retold": {"Cities of {city_country}": "guide"}}, "no title of `retold` stands without"),
        ({"clause": CITY["clause"][1:]}, "no `clause` tells 'city_country' of the type 'city'"),
        ({"former": []}, "no `former` tells 'city_population' of the type 'city'"),
        ({"asides": []}, "the type 'city' has no `asides`"),
        ({"tell": CITY["tell"][1:]}, "no template tells 'city_country' of the type 'city' alone"),
        ({"lead": ["{s} is {contry}."]}, r"there is no slot \{contry\}"),
        ({"title": "{contry}"}, r"there is no slot \{contry\}"),
        ({"lead": ["{s} in {city_country.nam}."]}, r"there is no form '\.nam'"),
        ({"last": ["contry"]}, r"there is no slot \{contry\}"),
        ({"lead": ["{s} [is"]}, r"a \[ is not closed"),
    ],
)
def test_a_slip_in_the_wording_is_refused(told, changes, says):
    with pytest.raises(InputError, match=says):
        told(**changes)
