"""Ceilings: the recall that a perfect reader would have had, at each place on the way.

What the tools could have given (reach) bounds what was retrieved, that bounds what extraction left,
that bounds what the agent was shown, and beside them stands the answer's own strict recall. The
differences are what was lost on the way. All are shares of the same gold pairs (branch, entity). A
perfect reader takes every gold answer that the evidence mentions and knows its branch, so a ceiling
is an upper bound: a mention need not state the answer.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.branch_matches import GoldPair
from branchwise.eval.ceilings.reach import Reach
from branchwise.eval.ceilings.traced import TracedItem, in_order, with_evidence
from branchwise.eval.items import GoldKey
from branchwise.eval.question_scores import ItemScore, aggregates_by_subset

CEILINGS = ("ceiling_reach", "ceiling_retrieved", "ceiling_extracted", "ceiling_shown")
LOSSES = ("retrieval_loss", "extraction_loss", "context_loss", "reasoning_loss")


def ceiling_metrics(recall: str) -> tuple[str, ...]:
    """The ceilings, the answer's own recall under its task's key, and the losses.

    Each loss is the ceiling at its place in `CEILINGS` less what comes after it.
    """
    return (*CEILINGS, recall, *LOSSES)


@dataclass(frozen=True)
class Ceilings:
    """Shares of an item's gold pairs, 0 to 1; None is unknown, or the question has no gold.

    reach >= retrieved >= extracted >= shown. `recall` may be above `shown`: the model knew an
    answer by heart.
    """

    reach: float | None = None
    retrieved: float | None = None
    extracted: float | None = None
    shown: float | None = None
    recall: float | None = None

    @property
    def retrieval_loss(self) -> float | None:
        """reach - retrieved: what the tools had and no call brought."""
        return _difference(self.reach, self.retrieved)

    @property
    def extraction_loss(self) -> float | None:
        """retrieved - extracted: what extraction cut off everywhere; 0 without that module."""
        return _difference(self.retrieved, self.extracted)

    @property
    def context_loss(self) -> float | None:
        """extracted - shown: what was in no request that the model answered.

        Results that never fitted the context window, those that an item which failed had last, and
        what plug-ins' nodes took out.
        """
        return _difference(self.extracted, self.shown)

    @property
    def reasoning_loss(self) -> float | None:
        """shown - recall: what the agent saw and did not answer.

        Negative where it answered more than it was shown, by heart. It is a net number: what was
        known by heart makes up for what was overlooked.
        """
        return _difference(self.shown, self.recall)

    def metrics(self, recall: str) -> dict[str, float | None]:
        """The shares and losses by the names in `ceiling_metrics(recall)`."""
        shares = (self.reach, self.retrieved, self.extracted, self.shown, self.recall)
        losses = map(_difference, shares, shares[1:])
        return dict(zip(ceiling_metrics(recall), (*shares, *losses), strict=True))


@dataclass(frozen=True)
class CeilingScores:
    """Ceilings of a run: `ceiling_metrics` of every item, and their means by subset.

    `recall`: the key under which the answers' own recall stands beside them.
    As in `Scores`, means are over questions, epochs of one question averaged first. A loss is the
    mean of the items' differences, over those where both sides are known. `unknown`: in words,
    what reach could not be found out about.
    """

    recall: str
    aggregates: Mapping[str, Mapping[str, Aggregate]]
    items: tuple[ItemScore, ...]
    unknown: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable: aggregates by subset and metric, items, what is unknown."""
        return {
            "aggregates": {
                subset: {metric: found.to_json() for metric, found in metrics.items()}
                for subset, metrics in self.aggregates.items()
            },
            "items": [_record(item) for item in self.items],
            "unknown": list(self.unknown),
        }


def ceilings(
    items: Iterable[TracedItem], reach: Reach | None = None, *, recall: str, seed: int = 0
) -> CeilingScores:
    """Ceilings of the items of one run; their order changes nothing.

    `recall`: the task's key for the share of gold pairs that the answer has. Where no item
    recorded any evidence (no tools, answers from a file) there are no ceilings, only the recall. In
    a run that searched, an item that found nothing, even one that failed, counts 0. Without `reach`
    it is unscored, and the loss of retrieval with it.
    """
    ordered = in_order(items)
    known = {item.key for item in with_evidence(ordered)}
    found = found_in_any_epoch(ordered)
    rows = tuple(
        item.row(
            item_ceilings(item, reach, found[item.item.gold_key]).metrics(recall)
            if item.key in known
            else Ceilings(recall=item.share(item.right)).metrics(recall)
        )
        for item in ordered
    )
    means = aggregates_by_subset(rows, ceiling_metrics(recall), seed)
    return CeilingScores(recall, means, rows, reach.unknown if reach else ())


def item_ceilings(
    item: TracedItem, reach: Reach | None = None, found: AbstractSet[GoldPair] = frozenset()
) -> Ceilings:
    """Ceilings of one item that has a trace.

    What was retrieved here, or in another epoch (`found`), was within reach, whatever gold says of
    its passages. Reach is None where it is unknown for any gold pair: to count such items where
    the pair happened to be retrieved, and only these, would flatter retrieval.
    """
    return Ceilings(
        reach=_reach(item, reach, found | item.retrieved) if reach else None,
        retrieved=item.share(item.retrieved),
        extracted=item.share(item.extracted),
        shown=item.share(item.shown),
        recall=item.share(item.right),
    )


def _reach(item: TracedItem, reach: Reach, found: AbstractSet[GoldPair]) -> float | None:
    within = {pair: reach.of(item.item.gold_key, pair) for pair in item.pairs}
    if None in within.values():
        return None
    return item.share(frozenset(pair for pair, is_in in within.items() if is_in or pair in found))


def found_in_any_epoch(items: Sequence[TracedItem]) -> dict[GoldKey, set[GoldPair]]:
    """The gold pairs that were retrieved, by question and gold set, whatever the epoch."""
    found: dict[GoldKey, set[GoldPair]] = defaultdict(set)
    for item in items:
        found[item.item.gold_key] |= item.retrieved
    return found


def _record(item: ItemScore) -> dict[str, Any]:
    record = {**vars(item), "metrics": dict(item.metrics)}
    if item.gold_set is None:
        del record["gold_set"]
    return record


def _difference(high: float | None, low: float | None) -> float | None:
    return None if high is None or low is None else high - low
