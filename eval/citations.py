"""Citation precision and recall of free-text answers, and what citing everything would get.

CondAmbigQA compares, for an answer and the property that it is aligned with, the passages cited A
with the gold citations G. The paper scores recall, |A and G| / |G|; its published code scores
precision, |A and G| / |A|, and both average over aligned pairs only. Here both are shown, and
nothing vanishes: a question's precision is the mean over all predicted properties (0 for one that
is aligned with none or cites nothing), its recall the mean over all gold properties (0 for one
that was missed). Only a gold property without citations stays out of both, with the prediction
that is aligned with it: there is nothing to compare.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from branchwise.eval.properties import AlignedPair, Property


@dataclass(frozen=True)
class CitationScore:
    """Both 0 to 1; None where gold cites nothing, so that nothing could be found."""

    precision: float | None
    recall: float | None


def score_citations(
    predicted: Sequence[Property], gold: Sequence[Property], pairs: Iterable[AlignedPair]
) -> CitationScore:
    """Mean citation precision and recall of one question; 0 for an empty prediction."""
    citing = sum(1 for property in gold if property.citations)
    if not citing:
        return CitationScore(None, None)
    judged, precision, recall = len(predicted), 0.0, 0.0
    for pair in pairs:
        cited, expected = predicted[pair.predicted].citations, gold[pair.gold].citations
        if not expected:
            judged -= 1
        elif cited:
            precision += len(cited & expected) / len(cited)
            recall += len(cited & expected) / len(expected)
    return CitationScore(precision / judged if judged else 0.0, recall / citing)


def cite_everything(predicted: Sequence[Property], shown: Iterable[str]) -> tuple[Property, ...]:
    """The same answers, each citing every passage that the agent was shown.

    The baseline to read citation scores against: it has the highest recall that these answers
    can have, and the precision of not choosing.
    """
    everything = frozenset(shown)
    return tuple(replace(property, citations=everything) for property in predicted)
