"""Which words count as forms of one."""

import pytest

from branchwise.kg.names.forms import other_forms, root


@pytest.mark.parametrize(
    "forms",
    [
        "own owns owned owner", "direct directed director direction",
        "compose composed composer composition", "write writes wrote written writer",
        "win won winner", "run ran runner runs", "publish published publisher publication",
        "nominated nominee nomination", "lyrics lyricist", "height tall",
    ],
)  # fmt: skip
def test_forms_of_a_word_have_one_root(forms):
    assert len({root(word) for word in forms.split()}) == 1


@pytest.mark.parametrize(
    ("left", "right"),
    [("country", "county"), ("actor", "author"), ("league", "label"), ("born", "band")],
)
def test_other_words_have_roots_of_their_own(left, right):
    assert root(left) != root(right)


def test_short_words_keep_what_an_ending_would_take():
    assert (root("user"), root("her"), root("city")) == ("user", "her", "citi")


def test_irregular_forms_are_known_of_each_other():
    assert "wrote" in other_forms("written")
    assert other_forms("league") == ()
