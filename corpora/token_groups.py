"""Which texts may be encoded together without changing each other's vectors."""

from collections.abc import Sequence

LARGEST_GROUP = 64


def same_length(counts: Sequence[int]) -> list[list[int]]:
    """Positions of texts with equal token counts, at most `LARGEST_GROUP` together."""
    by_count: dict[int, list[int]] = {}
    for position, count in enumerate(counts):
        by_count.setdefault(count, []).append(position)
    return [
        group[start : start + LARGEST_GROUP]
        for _, group in sorted(by_count.items())
        for start in range(0, len(group), LARGEST_GROUP)
    ]
