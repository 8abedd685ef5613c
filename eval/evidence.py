"""What an agent was shown before it answered, and how much of the gold support it contains."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass


@dataclass(frozen=True)
class Evidence:
    """Passage ids in the order first shown to the agent: those given, then those retrieved."""

    passages: tuple[str, ...] = ()


DEPTHS: tuple[int | None, ...] = (5, 10, 20, None)
"""The k of support recall@k; None counts all passages shown."""


def support_recall(support: AbstractSet[str], shown: Sequence[str], k: int | None) -> float | None:
    """|support among the first k passages shown| / |support|.

    `shown` holds passage ids in the order first shown. 1 means that every supporting passage was
    among the first k, 0 that none was; None where gold names no support.
    """
    if not support:
        return None
    first = list(dict.fromkeys(shown))[:k]
    return len(support & set(first)) / len(support)
