"""Bins of whole numbers, with labels that say what is in them."""

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True)
class Bins:
    """Bins that begin at each of the ascending `edges`; the last one is open.

    Fixed, not quantiles, so that a bin holds the same in every run. The first edge is the least
    value that can be.
    """

    edges: tuple[int, ...]

    def place(self, value: int) -> int:
        """Number of the bin that a value is in, from 0."""
        return max(0, bisect_right(self.edges, value) - 1)

    def label(self, place: int) -> str:
        """ "2", "3-5", "1,000-1,999", or "17+" for the last."""
        first = self.edges[place]
        if place == len(self.edges) - 1:
            return f"{first:,}+"
        last = self.edges[place + 1] - 1
        return f"{first:,}" if first == last else f"{first:,}-{last:,}"
