"""Ceilings: the recall that a perfect reader would have had, at each place on the way.

What the tools could have given (reach) bounds what was retrieved, that bounds what extraction left,
that bounds what the agent was shown, and beside them stands the answer's own strict recall. The
differences are what was lost on the way. All are shares of the same gold pairs (branch, entity). A
perfect reader takes every gold answer that the evidence mentions and knows its branch, so a ceiling
is an upper bound: a mention need not state the answer. Curves say what more tool calls, or tokens,
brought of what was retrieved.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import count, takewhile
from typing import Any, Literal, TypeVar, get_args

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.branch_scores import BranchMatches, GoldPair
from branchwise.eval.errors.gold_evidence import EvidencePlace, GoldEvidence
from branchwise.eval.grouping import ScoredItem
from branchwise.eval.items import GoldKey
from branchwise.eval.reach import Reach
from branchwise.eval.scores import ItemScore, aggregates_by_subset, aggregates_of
from branchwise.eval.tasks import Metrics

CEILINGS = ("ceiling_reach", "ceiling_retrieved", "ceiling_extracted", "ceiling_shown")
LOSSES = ("retrieval_loss", "extraction_loss", "context_loss", "reasoning_loss")
Effort = Literal["calls", "tokens"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

_EVERY_CALL = 24  # the default budget; after that, points grow apart


@dataclass(frozen=True)
class TracedItem(ScoredItem):
    """An item as it was scored (`matches`, `metrics`), and its evidence.

    `evidence` is None for answers from a file, which have no trace.
    """

    matches: BranchMatches
    evidence: GoldEvidence | None = None

    @cached_property
    def right(self) -> frozenset[GoldPair]:
        """The gold pairs that the answer has."""
        return frozenset(match.pair for match in self.matches.right)

    @cached_property
    def pairs(self) -> frozenset[GoldPair]:
        """All gold pairs, as strict recall counts them."""
        return self.right | frozenset(self.matches.missing)

    @cached_property
    def retrieved(self) -> frozenset[GoldPair]:
        """The gold pairs that were anywhere in what the tools returned or the question brought."""
        places = self.evidence.places if self.evidence else {}
        return self.pairs & {pair for pair, own in places.items() if own}

    @cached_property
    def extracted(self) -> frozenset[GoldPair]:
        """The retrieved pairs that extraction left somewhere; all where there was none."""
        if self.evidence is None or not self.evidence.extracted:
            return self.retrieved
        dropped, places = self.evidence.dropped, self.evidence.places
        return frozenset(pair for pair in self.retrieved if not all(map(dropped, places[pair])))

    @cached_property
    def shown(self) -> frozenset[GoldPair]:
        """The gold pairs that the agent had before it, in a request that was answered."""
        places = self.evidence.places if self.evidence else {}
        seen = {pair for pair, own in places.items() if any(place.shown for place in own)}
        shown = self.pairs & seen
        # Nearly always all of them: one set less to hold.
        return self.retrieved if shown == self.retrieved else shown

    @property
    def has_evidence(self) -> bool:
        """Whether a tool was called or the question came with passages."""
        given = bool(self.retrieved or self.item.evidence.passages)
        return self.evidence is not None and (given or bool(self.evidence.calls))

    def share(self, pairs: frozenset[GoldPair]) -> float | None:
        """|pairs| / |all gold pairs|; None without gold."""
        return len(pairs) / len(self.pairs) if self.pairs else None

    def row(self, metrics: Metrics) -> ItemScore:
        """Numbers of this item, to be averaged."""
        item = self.item
        return ItemScore(*self.key, item.question.ambiguous, metrics, gold_set=item.gold_set)


_Item = TypeVar("_Item", bound=ScoredItem)


def in_order(items: Iterable[_Item]) -> list[_Item]:
    """By question and epoch, so that the order in which items come changes no interval."""
    return sorted(items, key=lambda item: item.key)


def with_evidence(items: Sequence[TracedItem]) -> list[TracedItem]:
    """The items whose evidence is known: none where no item of the set recorded any.

    That is a system without tools, or answers from a file. Where others searched, an item that
    did not is known to have found nothing.
    """
    if not any(item.has_evidence for item in items):
        return []
    return [item for item in items if item.evidence is not None]


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
    retrieved = found_in_any_epoch(ordered)
    rows = tuple(
        item.row(
            item_ceilings(item, reach, retrieved[item.item.gold_key]).metrics(recall)
            if item.key in known
            else Ceilings(recall=item.share(item.right)).metrics(recall)
        )
        for item in ordered
    )
    means = aggregates_by_subset(rows, ceiling_metrics(recall), seed)
    return CeilingScores(recall, means, rows, reach.unknown if reach else ())


def item_ceilings(
    item: TracedItem, reach: Reach | None = None, retrieved: AbstractSet[GoldPair] = frozenset()
) -> Ceilings:
    """Ceilings of one item that has a trace.

    What was retrieved here, or in another epoch (`retrieved`), was within reach, whatever gold says
    of its passages. Reach is None where it is unknown for any gold pair: to count such items where
    the pair happened to be retrieved, and only these, would flatter retrieval.
    """
    return Ceilings(
        reach=_reach(item, reach, retrieved | item.retrieved) if reach else None,
        retrieved=item.share(item.retrieved),
        extracted=item.share(item.extracted),
        shown=item.share(item.shown),
        recall=item.share(item.right),
    )


def _reach(item: TracedItem, reach: Reach, retrieved: AbstractSet[GoldPair]) -> float | None:
    within = {pair: reach.of(item.item.gold_key, pair) for pair in item.pairs}
    if None in within.values():
        return None
    return item.share(
        frozenset(pair for pair, is_in in within.items() if is_in or pair in retrieved)
    )


def found_in_any_epoch(items: Sequence[TracedItem]) -> dict[GoldKey, set[GoldPair]]:
    """The gold pairs that were retrieved, by question and gold set, whatever the epoch."""
    retrieved: dict[GoldKey, set[GoldPair]] = defaultdict(set)
    for item in items:
        retrieved[item.item.gold_key] |= item.retrieved
    return retrieved


def _record(item: ItemScore) -> dict[str, Any]:
    record = {**vars(item), "metrics": dict(item.metrics)}
    if item.gold_set is None:
        del record["gold_set"]
    return record


def _difference(high: float | None, low: float | None) -> float | None:
    return None if high is None or low is None else high - low


@dataclass(frozen=True)
class CurvePoint:
    """The perfect reader's mean recall when so many calls were made, or tokens spent.

    `searching`: items that made a tool call after the point before this one, and so could still
    gain; the others keep their last value. `recall` is over all questions, at every point.
    """

    effort: int
    recall: Aggregate
    searching: int

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return dict(vars(self)) | {"recall": self.recall.to_json()}


@dataclass(frozen=True)
class Curve:
    """Recall over what was retrieved, point by point; non-decreasing.

    Its last point is the run's ceiling over everything that was retrieved. A run without any
    evidence has no points.
    """

    by: Effort
    points: tuple[CurvePoint, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return {"by": self.by, "points": [point.to_json() for point in self.points]}


def recall_curve(items: Iterable[TracedItem], by: Effort, *, seed: int = 0) -> Curve:
    """Recall of a perfect reader over what was retrieved so far, against tool calls or tokens.

    By calls the points are 0 (what the question brought), 1, 2, 3 ... up to the most that an item
    made; beyond 24 they grow apart. By tokens they are 0, 100, 200, 500, 1,000 ...: a call counts
    with what had been spent on the item before it was made. Means as in `ceilings`.

    The agent's own recall by what it spent is `breakdown("calls", ...)` and `("tokens", ...)`.
    """
    ordered = in_order(items)
    known = with_evidence(ordered)
    lasts = [_last_call(item, by) for item in known]
    grid = list(_GRIDS[by](max(0, *lasts))) if known else []
    seen = {item.key: _first_seen(item, by) for item in known}
    # The others have rows too, unscored, so that the draws are those of the other ceilings.
    rows = [item.row(_recall_at(grid, item, seen.get(item.key))) for item in ordered]
    recalls = aggregates_of(rows, [str(effort) for effort in grid], seed)
    points = [
        CurvePoint(effort, recalls[str(effort)], sum(last > before for last in lasts))
        for before, effort in zip([-1, *grid], grid, strict=False)
    ]
    return Curve(by, tuple(points))


def _recall_at(
    grid: Sequence[int], item: TracedItem, seen: Mapping[GoldPair, int] | None
) -> dict[str, float | None]:
    """Point to the share of gold pairs that were seen with no more than its effort."""
    if seen is None:
        return dict.fromkeys(map(str, grid))
    return {
        str(effort): item.share(frozenset(pair for pair, at in seen.items() if at <= effort))
        for effort in grid
    }


def _first_seen(item: TracedItem, by: Effort) -> dict[GoldPair, int]:
    """The least effort at which each retrieved pair was there."""
    evidence = item.evidence
    assert evidence is not None  # `with_evidence` left the others out
    return {
        pair: min(_effort(evidence, place, by) for place in evidence.places[pair])
        for pair in item.retrieved
    }


def _effort(evidence: GoldEvidence, place: EvidencePlace, by: Effort) -> int:
    if by == "calls" or place.call == 0:
        return place.call
    return evidence.calls[place.call - 1].tokens


def _last_call(item: TracedItem, by: Effort) -> int:
    """The effort at which an item made its last call; -1 where it made none."""
    calls = item.evidence.calls if item.evidence else ()
    if not calls:
        return -1
    return len(calls) if by == "calls" else max(call.tokens for call in calls)


def _call_grid(most: int) -> Iterator[int]:
    """0, 1, 2 ... 24, 32, 48, 64, 96 ... and the most."""
    yield from range(min(most, _EVERY_CALL) + 1)
    if most > _EVERY_CALL:
        wide = (step * 2**power for power in count(4) for step in (2, 3))
        yield from takewhile(lambda effort: effort < most, wide)
        yield most


def _token_grid(most: int) -> Iterator[int]:
    """0, 100, 200, 500, 1,000 ... up to the first that is not below the most."""
    yield 0
    for step in (digit * 10**power for power in count(2) for digit in (1, 2, 5)):
        if most <= 0:
            return
        yield step
        if step >= most:
            return


_GRIDS: Mapping[Effort, Callable[[int], Iterator[int]]] = {
    "calls": _call_grid,
    "tokens": _token_grid,
}
