"""Whether a search asks for something else of a passage that was extracted before."""

import pytest

from branchwise.graphs.extraction.materials import all_spans, asks_for_more, content_words
from branchwise.graphs.state import PassageExtract


def test_content_words_are_words_in_lower_case_without_the_common_ones() -> None:
    assert content_words("Who directed the King’s “Heat” (1995 film)?") == {
        *("directed", "king", "heat", "1995", "film")
    }
    assert content_words("") == content_words("Who is the …?") == frozenset()


@pytest.mark.parametrize(
    ("search", "more"),
    [
        ("Heat film", False),
        ("film of HEAT's", False),
        ("who directed Heat", False),  # the question says so
        ("Heat 1995", True),
        ("Heat director", True),
        ("", False),
    ],
)
def test_a_search_with_a_new_content_word_asks_for_something_else(search: str, more: bool) -> None:
    before = PassageExtract(words=("film", "heat"))
    assert asks_for_more([search], {"directed"}, before) is more
    assert asks_for_more(["Heat", search], {"directed"}, before) is more


def test_spans_of_all_extractions_come_in_the_order_of_the_passage_once() -> None:
    before = PassageExtract(spans=(("c d", "a"), ("a", "b", "d")))
    assert all_spans(before, "a b c d") == ("a", "b", "c d")
