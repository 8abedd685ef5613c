"""Ceilings: the recall that a perfect reader would have had, at each place on the way.

What the tools could have given (reach) bounds what was retrieved, that bounds what extraction left,
that bounds what the agent was shown, and beside them stands the answer's own strict recall. The
differences are what was lost on the way. All are shares of the same gold pairs (branch, entity). A
perfect reader takes every gold answer that the evidence mentions and knows its branch, so a ceiling
is an upper bound: a mention need not state the answer. Curves say what more tool calls, or tokens,
brought of what was retrieved.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import count, pairwise, takewhile
from typing import Any, Literal, TypeVar, get_args

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.branch_scores import BranchMatches, GoldPair
from branchwise.eval.errors.gold_evidence import GoldEvidence
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
    """An item as it was scored, and its evidence; None for answers from a file, without a trace."""

    matches: BranchMatches
    evidence: GoldEvidence | None = None

    @cached_property
    def right(self) -> frozenset[GoldPair]:
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
        given = self.retrieved or self.item.evidence.passages
        return self.evidence is not None and bool(given or self.evidence.calls)

    def share(self, pairs: frozenset[GoldPair]) -> float | None:
        """|pairs| / |all gold pairs|; None without gold."""
        return len(pairs) / len(self.pairs) if self.pairs else None

    def row(self, metrics: Metrics) -> ItemScore:
        item = self.item
        return ItemScore(*self.key, item.question.ambiguous, metrics, gold_set=item.gold_set)


_Item = TypeVar("_Item", bound=ScoredItem)


def in_order(items: Iterable[_Item]) -> list[_Item]:
    """By question and epoch, so that the order in which items come changes no interval."""
    return sorted(items, key=lambda item: item.key)


def with_evidence(items: Sequence[TracedItem]) -> list[TracedItem]:
    """The items whose evidence is known: none where no item recorded any, as without tools. Where
    others searched, to leave out an item that found nothing would flatter the system."""
    known = any(item.has_evidence for item in items)
    return [item for item in items if known and item.evidence is not None]


def ceiling_metrics(recall: str) -> tuple[str, ...]:
    """The ceilings, the answer's own recall under its task's key, and the losses.

    All are shares of an item's gold pairs: reach >= retrieved >= extracted >= shown. Recall may be
    above shown: the model knew an answer by heart. Each loss is the ceiling at its place in
    `CEILINGS` less what comes after it:

    * retrieval: what the tools had and no call brought.
    * extraction: what extraction cut off everywhere; 0 without that module.
    * context: what was in no request that the model answered. That is results that never fitted the
      context window, those that an item which failed had last, and what plug-ins' nodes took out.
    * reasoning: what the agent saw and did not answer. A net number, negative where it answered
      more than it was shown: what was known by heart makes up for what was overlooked.
    """
    return (*CEILINGS, recall, *LOSSES)


@dataclass(frozen=True)
class CeilingScores:
    """Ceilings of a run: `ceiling_metrics` of every item, and their means by subset, as in
    `Scores`. `recall`: the key of the answers' own recall. `unknown`: what reach leaves open."""

    recall: str
    aggregates: Mapping[str, Mapping[str, Aggregate]]
    items: tuple[ItemScore, ...]
    unknown: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        items = [{**vars(item), "metrics": dict(item.metrics)} for item in self.items]
        for item in items:
            if item["gold_set"] is None:
                del item["gold_set"]
        return {
            "aggregates": {
                subset: {metric: value.to_json() for metric, value in metrics.items()}
                for subset, metrics in self.aggregates.items()
            },
            "items": items,
            "unknown": list(self.unknown),
        }


def ceilings(
    items: Iterable[TracedItem], reach: Reach | None = None, *, recall: str
) -> CeilingScores:
    """Ceilings of the items of one run; their order changes nothing. `recall`: the task's key for
    the share of gold pairs that the answer has. Where no item recorded any evidence (no tools,
    answers from a file) there are no ceilings, only the recall. In a run that searched, an item
    that found nothing, even one that failed, counts 0. Without `reach` it is unscored, and the loss
    of retrieval with it."""
    ordered = in_order(items)
    known = {item.key for item in with_evidence(ordered)}
    retrieved = found_in_any_epoch(ordered)
    rows = []
    for item in ordered:
        shares: tuple[float | None, ...] = (None,) * len(CEILINGS)
        if item.key in known:
            shares = _ceilings(item, reach, retrieved[item.item.gold_key])
        shares = (*shares, item.share(item.right))
        losses = (
            None if high is None or low is None else high - low for high, low in pairwise(shares)
        )
        rows.append(item.row(dict(zip(ceiling_metrics(recall), (*shares, *losses), strict=True))))
    means = aggregates_by_subset(rows, ceiling_metrics(recall))
    return CeilingScores(recall, means, tuple(rows), reach.unknown if reach else ())


def _ceilings(
    item: TracedItem, reach: Reach | None, retrieved: AbstractSet[GoldPair]
) -> tuple[float | None, ...]:
    """`CEILINGS` of one item that has a trace. What was retrieved in any epoch was within reach.
    Reach is None where it is unknown for any gold pair: to count such items only where the pair
    happened to be retrieved would flatter retrieval."""
    of_reach = None
    if reach:
        within = {pair: reach.of(item.item.gold_key, pair) for pair in item.pairs}
        if None not in within.values():
            had = retrieved | item.retrieved
            of_reach = item.share(frozenset(p for p, is_in in within.items() if is_in or p in had))
    return (of_reach, *map(item.share, (item.retrieved, item.extracted, item.shown)))


def found_in_any_epoch(items: Sequence[TracedItem]) -> dict[GoldKey, set[GoldPair]]:
    retrieved: dict[GoldKey, set[GoldPair]] = defaultdict(set)
    for item in items:
        retrieved[item.item.gold_key] |= item.retrieved
    return retrieved


@dataclass(frozen=True)
class CurvePoint:
    """The perfect reader's mean recall over all questions, when so many calls were made, or tokens
    spent. `searching`: items that made a call after the point before, and so could still gain."""

    effort: int
    recall: Aggregate
    searching: int

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self)) | {"recall": self.recall.to_json()}


@dataclass(frozen=True)
class Curve:
    """Recall over what was retrieved, up to the run's ceiling; no points without evidence."""

    by: Effort
    points: tuple[CurvePoint, ...]

    def to_json(self) -> dict[str, Any]:
        return {"by": self.by, "points": [point.to_json() for point in self.points]}


def recall_curve(items: Iterable[TracedItem], by: Effort) -> Curve:
    """Recall of a perfect reader over what was retrieved so far, against tool calls or tokens.

    By calls the points are 0 (what the question brought), 1, 2, 3 ... up to the most that an item
    made; beyond 24 they grow apart. By tokens they are 0, 100, 200, 500, 1,000 ...: a call counts
    with what had been spent on the item before it was made. Means as in `ceilings`.

    The agent's own recall by what it spent is `breakdown("calls", ...)` and `("tokens", ...)`.
    """
    ordered = in_order(items)
    # The effort at which each item first saw each pair, and made its last call (-1: it made none).
    seen: dict[tuple[str, int], dict[GoldPair, int]] = {}
    lasts: list[int] = []
    for item in with_evidence(ordered):
        evidence = item.evidence
        assert evidence is not None  # `with_evidence` left the others out
        efforts = [0, *(call.tokens for call in evidence.calls)]
        if by == "calls":
            efforts = list(range(len(efforts)))
        seen[item.key] = {
            pair: min(efforts[place.call] for place in evidence.places[pair])
            for pair in item.retrieved
        }
        lasts.append(max(efforts[1:], default=-1))
    grid = list((_call_grid if by == "calls" else _token_grid)(max(0, *lasts))) if lasts else []
    rows = []
    for item in ordered:
        # The others have rows too, unscored, so that the draws are those of the other ceilings.
        shares: dict[str, float | None] = dict.fromkeys(map(str, grid))
        if (first := seen.get(item.key)) is not None:
            for effort in grid:
                had = frozenset(pair for pair, at in first.items() if at <= effort)
                shares[str(effort)] = item.share(had)
        rows.append(item.row(shares))
    recalls = aggregates_of(rows, [str(effort) for effort in grid])
    points = [
        CurvePoint(effort, recalls[str(effort)], sum(last > before for last in lasts))
        for before, effort in zip([-1, *grid], grid, strict=False)
    ]
    return Curve(by, tuple(points))


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
