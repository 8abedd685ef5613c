"""Recall against effort: what more tool calls and more tokens bring."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any, Literal, get_args

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.branch_matches import GoldPair
from branchwise.eval.ceilings.traced import TracedItem, in_order, with_evidence
from branchwise.eval.errors.gold_evidence import EvidencePlace, GoldEvidence
from branchwise.eval.question_scores import aggregates_of

Effort = Literal["calls", "tokens"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

_EVERY_CALL = 24  # the default budget; after that, points grow apart


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

    Its last point is the run's ceiling over everything that was retrieved. Without any evidence in
    the whole run there is no point.
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
    found = aggregates_of(rows, [str(effort) for effort in grid], seed)
    points = [
        CurvePoint(effort, found[str(effort)], sum(last > before for last in lasts))
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
