import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.eval.properties import (
    AlignedPair,
    CitationScore,
    ConditionalAnswer,
    cite_everything,
    score_citations,
)


def cites(*ids: str) -> ConditionalAnswer:
    return ConditionalAnswer("", ("x",), frozenset(ids))


def pair(predicted: int, gold: int) -> AlignedPair:
    return AlignedPair(predicted, gold, 1.0, 1.0)


def test_precision_over_predicted_and_recall_over_gold_properties() -> None:
    predicted = [cites("a", "b"), cites("c"), cites("z")]
    gold = [cites("a"), cites("c", "d", "e", "f")]
    # Precision (1/2 + 1 + 0) / 3, recall (1 + 1/4) / 2: the third prediction stands for nothing.
    score = score_citations(predicted, gold, [pair(0, 0), pair(1, 1)])
    assert score == CitationScore(precision=0.5, recall=0.625, of_question=2 / 5)


def test_a_missed_property_lowers_recall_only() -> None:
    gold = [cites("a"), cites("b")]
    assert score_citations([cites("a")], gold, [pair(0, 0)]) == CitationScore(1.0, 0.5, 0.5)


def test_an_answer_that_cites_nothing_has_no_precision() -> None:
    assert score_citations([cites()], [cites("a")], [pair(0, 0)]) == CitationScore(0.0, 0.0, 0.0)


def test_gold_without_citations_is_unscored() -> None:
    assert score_citations([cites("a")], [cites()], [pair(0, 0)]) == CitationScore(None, None)


def test_a_gold_property_without_citations_is_no_part_of_either_mean() -> None:
    gold = [cites("a"), cites()]
    score = score_citations([cites("a", "c"), cites("b")], gold, [pair(0, 0), pair(1, 1)])
    assert score == CitationScore(0.5, 1.0, 1.0)
    assert score_citations([cites("b")], gold, [pair(0, 1)]) == CitationScore(0.0, 0.0, 0.0)


def test_an_empty_prediction_scores_zero() -> None:
    assert score_citations([], [cites("a")], []) == CitationScore(0.0, 0.0, 0.0)


def test_citing_everything_keeps_the_answers_and_cites_all_that_was_shown() -> None:
    everything = cite_everything([cites("a"), cites()], ["a", "b", "c", "d"])
    assert [property.citations for property in everything] == [set("abcd"), set("abcd")]
    score = score_citations(everything, [cites("a"), cites("b", "c")], [pair(0, 0), pair(1, 1)])
    # Precision (1/4 + 2/4) / 2, recall 1.
    assert score == CitationScore(0.375, 1.0, 1.0)


IDS = st.frozensets(st.sampled_from("abcdef"))


@given(st.lists(IDS, min_size=1, max_size=4), st.lists(IDS, min_size=1, max_size=4))
def test_no_choice_among_the_passages_shown_beats_citing_everything_in_recall(
    cited: list[frozenset[str]], expected: list[frozenset[str]]
) -> None:
    predicted, gold = [cites(*ids) for ids in cited], [cites(*ids) for ids in expected]
    pairs = [pair(i, i) for i in range(min(len(predicted), len(gold)))]
    chosen = score_citations(predicted, gold, pairs)
    everything = score_citations(cite_everything(predicted, "abcdef"), gold, pairs)
    if chosen.recall is None:
        assert everything.recall is None
    else:
        assert everything.recall == pytest.approx(
            len([p for p in pairs if expected[p.gold]]) / len([e for e in expected if e])
        )
        assert everything.recall >= chosen.recall
