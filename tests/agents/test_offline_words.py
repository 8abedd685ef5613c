"""Words and names as the offline model reads them."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from branchwise.agents.offline import kg
from branchwise.agents.offline.words import base_name


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Heat (1995 film)", "Heat"),
        ("Heat (1995 film) ", "Heat"),
        ("Heat (a) (b)", "Heat (a)"),
        ("Heat (a (b))", "Heat (a (b))"),
        ("(1995)", ""),
        ("J" + " " * 200_000 + "K", "J" + " " * 200_000 + "K"),
        ("J" + " (" * 200_000, "J" + " (" * 200_000),
    ],
)
def test_a_disambiguator_at_the_end_is_left_out(title, expected):
    assert base_name(title) == expected


@given(st.lists(st.sampled_from(["by", "ink", " ", "\t", "in"])).map("".join))
@example("film" + " " * 200_000 + "about")
def test_what_a_thing_is_ends_before_its_details(description):
    found = re.search(r"(?<!\s)\s++(by|directed|from|in|of|with|for)\b", description)
    thing = kg.KgEntity("Q1", "Heat", "", description)
    kind = description[: found.start()] if found else description
    assert thing.reading == (f"Heat ({kind})" if kind else "Heat")
