"""BLEU of a question set as a function of counts that are summed over its questions (sacrebleu).

Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation"; tokens and
signature are sacrebleu's (Post 2018). It is not smoothed: n-grams that are nowhere right make it 0,
and multiplying all counts by one number changes nothing.
"""

from functools import cache
from math import exp, log
from typing import TYPE_CHECKING

from branchwise.eval.common_text import compared

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


def bleu_names(order: int) -> tuple[str, ...]:
    """What the counts of `bleu_counts` are called."""
    counted = (f"{what}{n}" for what in ("right", "said") for n in range(1, order + 1))
    return tuple(f"bleu{order}_{name}" for name in ("length", "gold_length", *counted))


def bleu_counts(text: str, gold: str, order: int) -> tuple[float, ...]:
    """A question's addends: tokens of both texts, n-grams that are right by n, n-grams by n.

    Of each text, no more than `compared` counts.
    """
    found = _bleu(order).corpus_score([compared(text)], [[compared(gold)]])
    return tuple(map(float, (found.sys_len, found.ref_len, *found.counts, *found.totals)))


def corpus_bleu(length: float, gold_length: float, *counts: float) -> float | None:
    """BLEU, 0 to 1, of such counts summed over questions; None without any gold text.

    Its own arithmetic, as sacrebleu's takes whole numbers alone, and means over epochs are none.
    """
    if not gold_length:
        return None
    order = len(counts) // 2
    right, said = counts[:order], counts[order:]
    if not all(right):
        return 0.0
    brevity = min(0.0, 1 - gold_length / length)
    return exp(brevity + sum(log(r / s) for r, s in zip(right, said, strict=True)) / order)


@cache
def _bleu(order: int) -> "BLEU":
    # Loading it takes a tenth of a second, which only these scores should cost.
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(smooth_method="none", max_ngram_order=order)
