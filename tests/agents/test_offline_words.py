"""Words and names as the offline model reads them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
def test_a_disambiguator_at_the_end_is_left_out(title: str, expected: str) -> None:
    assert base_name(title) == expected


@given(st.text("aB() \t\n\u2003", max_size=30))
def test_space_around_it_goes_with_it(title: str) -> None:
    assert base_name(title) == re.sub(r"\s*\([^()]*\)\s*$", "", title).strip()
