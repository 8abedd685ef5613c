"""The forms that the grammar's words take: verbs, bounds, articles, lists."""

import pytest

from branchwise.worlds.questions.plans import Amount, Years
from branchwise.worlds.questions.wording.vocabulary import (
    Verb,
    amount_in_words,
    listed,
    with_article,
    years_in_words,
)


@pytest.mark.parametrize(
    ("phrase", "plural", "singular", "denied", "reduced"),
    [
        (
            "were directed by {}",
            "were directed by X",
            "was directed by X",
            "was not directed by X",
            "directed by X",
        ),
        ("win/won {}", "won X", "won X", "did not win X", ""),
        ("run/run {}", "run X", "runs X", "does not run X", ""),
        ("have {} seats", "have X seats", "has X seats", "does not have X seats", "with X seats"),
        (
            "are the capital[s] of {}",
            "are the capitals of X",
            "is the capital of X",
            "is not the capital of X",
            "",
        ),
        (
            "have {} among [their|its] citizens",
            "have X among their citizens",
            "has X among its citizens",
            "does not have X among its citizens",
            "with X among their citizens",
        ),
    ],
)
def test_verbs_take_their_forms(phrase, plural, singular, denied, reduced):
    verb = Verb.read(phrase)
    assert verb.finite("X") == plural
    assert verb.finite("X", plural=False) == singular
    assert not denied or verb.negated("X", plural=False) == denied
    assert verb.reduced("X") == reduced


def test_bounds_are_both_included() -> None:
    assert years_in_words(Years(first=1991)) == "after 1990"
    assert years_in_words(Years(last=1979)) == "before 1980"
    assert years_in_words(Years(first=1985, last=1985)) == "in 1985"
    assert years_in_words(Years(first=1980, last=1989)) == "between 1980 and 1989"
    assert amount_in_words(Amount(least=1500)) == "at least 1,500"
    assert amount_in_words(Amount(most=1.5)) == "at most 1.5"
    assert amount_in_words(Amount(least=90, most=120)) == "between 90 and 120"


def test_articles_go_by_sound() -> None:
    words = ["film", "album", "university", "hour", "one"]
    said = ["a film", "an album", "a university", "an hour", "a one"]
    assert [with_article(word) for word in words] == said
    assert listed(["A", "B", "C"], "or") == "A, B or C"
