"""Maximum bipartite matching: the most pairs, independent of the order of the nodes."""

from collections.abc import Collection, Sequence


def matching(edges: Sequence[Collection[int]]) -> dict[int, int]:
    """Most pairs {i: j} with j in edges[i] such that no i and no j is used twice.

    Augmenting paths (Kuhn 1955), O(len(edges) x pairs); without recursion, so that a long
    prediction cannot exhaust the stack. An earlier i is paired rather than a later one, and with
    an earlier j of its edges where it is free to choose.
    """
    holder: dict[int, int] = {}
    held: dict[int, int] = {}
    for start in range(len(edges)):
        _augment(start, edges, holder, held)
    return held


def matching_size(edges: Sequence[Collection[int]]) -> int:
    """How many pairs `matching` finds."""
    return len(matching(edges))


def _augment(
    start: int, edges: Sequence[Collection[int]], holder: dict[int, int], held: dict[int, int]
) -> None:
    """Find a partner for `start`, moving others over where needed, if there is one.

    `holder` maps a right node to its left one, `held` a left node to its right one.
    """
    reached_from: dict[int, int] = {}
    waiting = [start]
    while waiting:
        left = waiting.pop()
        for right in edges[left]:
            if right in reached_from:
                continue
            reached_from[right] = left
            if right not in holder:
                _exchange(right, start, reached_from, holder, held)
                return
            waiting.append(holder[right])


def _exchange(
    right: int,
    start: int,
    reached_from: dict[int, int],
    holder: dict[int, int],
    held: dict[int, int],
) -> None:
    """Swap matched and unmatched pairs on the path from `start` to the free `right`."""
    while True:
        left = reached_from[right]
        freed = held.get(left)
        holder[right], held[left] = left, right
        if left == start or freed is None:
            return
        right = freed
