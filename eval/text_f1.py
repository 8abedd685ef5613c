"""Token F1: how much two free texts have in common."""

from collections import Counter

from branchwise.eval.normalise import tokens


def text_f1(predicted: str, gold: str) -> float:
    """Harmonic mean of token precision and recall over multisets, 0 to 1.

    F1 = 2 |P and G| / (|P| + |G|) with P, G the tokens after normalisation (Rajpurkar et al. 2016,
    section 6.1). 0 where either text has no token.
    """
    return counts_f1(token_counts(predicted), token_counts(gold))


def token_counts(text: str) -> Counter[str]:
    """The multiset of a text's tokens."""
    return Counter(tokens(text))


def counts_f1(predicted: Counter[str], gold: Counter[str]) -> float:
    """`text_f1` of texts already counted."""
    if not predicted or not gold:
        return 0.0
    return 2 * (predicted & gold).total() / (predicted.total() + gold.total())
