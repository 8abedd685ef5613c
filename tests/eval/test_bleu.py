"""BLEU from summed counts against sacrebleu, and by hand."""

from math import exp, log

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from branchwise.eval.tasks.cambignq.clarifications import bleu_counts, bleu_names, corpus_bleu

SAID, GOLD = "Which version: the film, or the book?", "Which version: the 2002 film, or the book?"
texts = st.lists(st.sampled_from(["the", "film", "book", "or", ","]), max_size=9).map(" ".join)


def test_bleu_is_what_the_definition_gives_by_hand() -> None:
    # 10 tokens against 11. All words are gold's, 8 of 9 pairs, 6 of 8 triples, 4 of 7 of four.
    counts = bleu_counts(SAID, GOLD, 4)
    assert counts == (10, 11, 10, 8, 6, 4, 10, 9, 8, 7)
    mean = (log(1) + log(8 / 9) + log(6 / 8) + log(4 / 7)) / 4
    assert corpus_bleu(*counts) == pytest.approx(exp(1 - 11 / 10 + mean))
    assert len(bleu_names(4)) == len(counts)


@given(st.lists(st.tuples(texts, texts.filter(bool)), min_size=1, max_size=5))
@pytest.mark.parametrize("order", [1, 4])
def test_sums_give_sacrebleus_corpus_score(order: int, pairs: list[tuple[str, str]]) -> None:
    said, gold = zip(*pairs, strict=True)
    sums = map(sum, zip(*(bleu_counts(*pair, order) for pair in pairs), strict=True))
    metric = sacrebleu.BLEU(smooth_method="none", max_ngram_order=order)
    assert corpus_bleu(*sums) == pytest.approx(metric.corpus_score(said, [gold]).score / 100)


def test_the_score_does_not_depend_on_how_often_everything_is_counted() -> None:
    counts = bleu_counts(SAID, GOLD, 4)
    assert corpus_bleu(*(count / 3 for count in counts)) == pytest.approx(corpus_bleu(*counts))


def test_nothing_said_is_zero_and_no_gold_is_undefined() -> None:
    assert corpus_bleu(*bleu_counts("", GOLD, 4)) == 0
    assert corpus_bleu(*[0.0] * 10) is None
