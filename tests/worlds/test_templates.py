"""The template language of the prose files."""

import pytest

from branchwise.base.errors import InputError
from branchwise.worlds.telling.prose import Alternatives, Placeholder, parse, slots, variants

FACTS = frozenset({"director", "year"})


def test_parts_of_a_template():
    assert parse("{s} was [made|shot] by {director:1}.") == (
        Placeholder("s"),
        " was ",
        Alternatives((("made",), ("shot",))),
        " by ",
        Placeholder("director", ":1"),
        ".",
    )


@pytest.mark.parametrize("template", ["a]", "[a", "{s", "a|b", "[a|b", "}"])
def test_brackets_that_do_not_match_are_refused(template):
    with pytest.raises(InputError):
        parse(template)


def test_only_alternatives_with_facts_become_variants():
    found = variants(parse("[A|B] film[|, directed by {director}][|, of {year}]"), FACTS)
    assert [{slot.name for slot in slots(variant)} for variant in found] == [
        set(),
        {"year"},
        {"director"},
        {"director", "year"},
    ]
    assert all(isinstance(variant[0], Alternatives) for variant in found)


def test_too_many_variants_are_refused():
    with pytest.raises(InputError, match="has 128 variants"):
        variants(parse("[|{director}]" * 7), FACTS)
