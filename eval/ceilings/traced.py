"""What ceilings, curves and breakdowns read: an item, its score and its evidence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from branchwise.eval.branch_matches import BranchMatches, GoldPair
from branchwise.eval.errors.gold_evidence import GoldEvidence
from branchwise.eval.grouping import ScoredItem
from branchwise.eval.question_scores import ItemScore
from branchwise.eval.tasks import Metrics


@dataclass(frozen=True)
class TracedItem(ScoredItem):
    """An item as it was scored (`matches`, `metrics`), and its evidence.

    `evidence` is None where there is no trace: answers from a file.
    """

    matches: BranchMatches
    evidence: GoldEvidence | None = None

    @cached_property
    def right(self) -> frozenset[GoldPair]:
        """The gold pairs that the answer has."""
        return frozenset(found.pair for found in self.matches.right)

    @cached_property
    def pairs(self) -> frozenset[GoldPair]:
        """All gold pairs, as strict recall counts them."""
        return self.right | frozenset(self.matches.missing)

    @cached_property
    def retrieved(self) -> frozenset[GoldPair]:
        """The gold pairs that were anywhere in what the tools returned or the question brought."""
        places = self.evidence.places if self.evidence else {}
        return self.pairs & {pair for pair, found in places.items() if found}

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
        seen = {pair for pair, found in places.items() if any(place.shown for place in found)}
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
