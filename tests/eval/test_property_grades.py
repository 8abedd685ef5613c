"""Properties: graded pairs against brute force and the authors' rewrite, and citations by hand."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.eval.common_text import counts_f1, token_counts
from branchwise.eval.properties import (
    AlignedPair,
    CitationScore,
    ConditionalAnswer,
    Grades,
    PropertyGrade,
    PropertyPair,
    align_by_grades,
    cite_everything,
    graded_score,
    score_citations,
)
from branchwise.eval.tasks.condambigqa.graded import greedy_sums

GRADE = st.builds(
    PropertyGrade,
    st.integers(0, 10).map(lambda n: n / 10),
    st.integers(0, 10).map(lambda n: n / 10),
)


@st.composite
def matrices(draw: st.DrawFn, most: int = 5) -> tuple[Grades, int, int]:
    rows, columns = draw(st.integers(0, most)), draw(st.integers(1, most))
    pairs = [PropertyPair(p, g) for p in range(rows) for g in range(columns)]
    return {pair: draw(GRADE) for pair in pairs}, rows, columns


def table(*rows: list[tuple[float, float]]) -> Grades:
    return {
        PropertyPair(p, g): PropertyGrade(*grade)
        for p, row in enumerate(rows)
        for g, grade in enumerate(row)
    }


def best_sums(grades: Grades, rows: int, columns: int) -> tuple[float, float]:
    """The greatest sum of answer grades of a one-to-one alignment, then of condition grades."""
    size = max(rows, columns)
    nothing = PropertyGrade(0.0, 0.0)
    found = []
    for order in permutations(range(size)):
        chosen = [grades.get(PropertyPair(p, g), nothing) for p, g in enumerate(order)]
        answers, conditions = (sum(round(10 * c[k]) for c in chosen) / 10 for k in (1, 0))
        found.append((answers, conditions))
    return max(found)


@pytest.mark.slow
@given(matrices())
def test_the_alignment_is_the_best_of_all(matrix: tuple[Grades, int, int]) -> None:
    grades, rows, columns = matrix
    score = graded_score(grades, rows, columns)
    answers, conditions = best_sums(grades, rows, columns)
    assert score.answer == pytest.approx(answers / columns)
    assert score.condition == pytest.approx(conditions / columns)
    pairs = align_by_grades(grades)
    assert len({pair.predicted for pair in pairs}) == len({pair.gold for pair in pairs})
    assert score.surplus == rows - len(pairs)


A, B = "A", "B"


def said(*citations: str) -> list[ConditionalAnswer]:
    """Properties that cite the passages named by the letters of each text."""
    return [ConditionalAnswer("c", ("a",), frozenset(cited)) for cited in citations]


Case = tuple[str, Grades, list[str], list[str], tuple[float, ...], float]
GREEDY: dict[str, Case] = {
    # name: protocol, grades, predicted and gold citations; sums of condition, answer, citation and
    # the number scored; then our answer score, by the one-to-one optimum.
    "one to one": (
        "default", table([(0.5, 0.8)]), [A], [A], (0.5, 0.8, 1.0, 1), 0.8,
    ),
    "a missed gold property is not counted": (
        "default", table([(0.5, 0.8), (0.0, 0.0)]), [A], [A, B], (0.5, 0.8, 1.0, 1), 0.4,
    ),
    "the first in the model's order takes the best": (
        # .3*.2 + .5*.9 = .51 for the first gold, .3*.2 + .5*.8 = .46 for the second: the first
        # prediction takes the first, the second is left with (0, .1) where .9 was its own.
        "default", table([(0.2, 0.9), (0.2, 0.8)], [(0.2, 0.9), (0.0, 0.1)]), ["", ""], ["", ""],
        (0.2, 1.0, 0.0, 2), (0.8 + 0.9) / 2,
    ),
    "citations decide between like answers": (
        # .5*.6 + .2*1 = .5 for the second, .5*.7 = .35 for the first.
        "default", table([(0.0, 0.7), (0.0, 0.6)]), [B], [A, B], (0.0, 0.6, 1.0, 1), 0.35,
    ),
    "a pair is taken however small its sum": (
        "default", table([(0.0, 0.0)]), [B], [A], (0.0, 0.0, 0.0, 1), 0.0,
    ),
    "surplus is left out": (
        "default", table([(1.0, 1.0)], [(0.0, 0.2)]), [A, A], [A], (1.0, 1.0, 1.0, 1), 1.0,
    ),
    "surplus that comes first takes the place": (
        "default", table([(0.0, 0.2)], [(1.0, 1.0)]), [A, A], [A], (0.0, 0.2, 1.0, 1), 1.0,
    ),
    "standard weighs answers and citations alone": (
        # .7*.5 + .3*1 = .65 for the second, .7*.9 = .63 for the first, whatever the conditions.
        "standard", table([(1.0, 0.9), (0.0, 0.5)]), [B], [A, B], (0.0, 0.5, 1.0, 1), 0.45,
    ),
    "guided counts surplus as 0": (
        "guided", table([(0.0, 0.6)], [(0.0, 0.9)]), [A, A + B], [A], (0.0, 0.6, 1.0, 2), 0.9,
    ),
    "guided weighs citations more": (
        # .6*.3 + .4*.5 = .38 for the second, .6*.6 = .36 for the first.
        "guided", table([(0.0, 0.6), (0.0, 0.3)]), [A + B], ["C", B], (0.0, 0.3, 0.5, 1), 0.3,
    ),
    "closed goes by answers alone": (
        "closed", table([(0.0, 0.2), (0.0, 0.3)]), [""], [A, B], (0.0, 0.3, 0.0, 1), 0.15,
    ),
    "closed counts surplus as 0": (
        "closed", table([(0.0, 0.5)], [(0.0, 0.5)], [(0.0, 1.0)]), ["", "", ""], [""],
        (0.0, 0.5, 0.0, 3), 1.0,
    ),
    "nothing was said": ("default", {}, [], [A], (0.0, 0.0, 0.0, 0), 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", GREEDY)
def test_the_rewrites_arithmetic_beside_ours(name: str) -> None:
    protocol, grades, predicted, gold, expected, ours = GREEDY[name]
    sums, scored = greedy_sums(grades, said(*predicted), said(*gold), protocol)
    assert (*sums, scored) == pytest.approx(expected)
    assert graded_score(grades, len(predicted), len(gold)).answer == pytest.approx(ours)


def cites(*ids: str) -> ConditionalAnswer:
    return ConditionalAnswer("", ("x",), frozenset(ids))


def pair(predicted: int, gold: int) -> AlignedPair:
    return AlignedPair(predicted, gold, 1.0, 1.0)


PAIRED = [pair(0, 0), pair(1, 1)]


@pytest.mark.parametrize(
    ("predicted", "gold", "pairs", "score"),
    [
        # Precision (1/2 + 1 + 0) / 3, recall (1 + 1/4) / 2: the third stands for nothing.
        (["ab", "c", "z"], ["a", "cdef"], PAIRED, (0.5, 0.625, 2 / 5)),
        ([""], ["a"], [pair(0, 0)], (0.0, 0.0, 0.0)),
        (["a"], [""], [pair(0, 0)], (None, None)),
        # A gold property without citations is no part of either mean.
        (["ac", "b"], ["a", ""], PAIRED, (0.5, 1.0, 1.0)),
        (["b"], ["a", ""], [pair(0, 1)], (0.0, 0.0, 0.0)),
        ([], ["a"], [], (0.0, 0.0, 0.0)),
    ],
)
def test_precision_over_predicted_and_recall_over_gold_properties(predicted, gold, pairs, score):
    cited = [cites(*ids) for ids in predicted], [cites(*ids) for ids in gold]
    assert score_citations(*cited, pairs) == CitationScore(*score)


def test_citing_everything_keeps_the_answers_and_cites_all_that_was_shown() -> None:
    everything = cite_everything([cites("a"), cites()], ["a", "b", "c", "d"])
    assert [property.citations for property in everything] == [set("abcd"), set("abcd")]
    score = score_citations(everything, [cites("a"), cites("b", "c")], PAIRED)
    # Precision (1/4 + 2/4) / 2, recall 1.
    assert score == CitationScore(0.375, 1.0, 1.0)


@pytest.mark.parametrize(
    ("text", "other", "f1"),
    [
        # Tokens: spain won in 2010 (4) and spain won world cup in 2010 (6); 4 shared.
        ("Spain won in 2010.", "Spain won the World Cup in 2010", 2 * 4 / 10),
        ("tora tora tora", "tora tora", 2 * 2 / 5),
        ("北京大学", "北京", 2 * 2 / 6),
        # SQuAD's would be "spiderman" and "spider", "man", which share nothing.
        ("Spider-Man", "spider man", 1),
        ("", "a word", 0),
        ("", "", 0),
    ],
)
def test_shared_tokens_over_all_tokens(text: str, other: str, f1: float) -> None:
    assert counts_f1(token_counts(text), token_counts(other)) == pytest.approx(f1)


@given(st.text(), st.text())
def test_is_symmetric_and_one_only_for_the_same_tokens(text: str, other: str) -> None:
    ours, theirs = token_counts(text), token_counts(other)
    assert 0 <= counts_f1(ours, theirs) == counts_f1(theirs, ours) <= 1
    assert counts_f1(ours, ours) == (1 if ours else 0)
