"""The rows of the list of questions, and the line that sums a run up."""

from collections.abc import Sequence
from dataclasses import dataclass

Values = tuple[float | None, ...]
"""A value for each metric that a row shows, 0 to 1 for shares; empty where there are none yet."""


@dataclass(frozen=True, slots=True)
class ItemLine:
    """One item of a run as the list shows it.

    `number` is its number in the store, `status` pending, running, done or failed. `scores`
    are the metrics that its task shows, as reports have them; None where the item has not ended or
    has no gold. `labels` are error labels, sorted; None until they are known. `tokens` and
    `seconds` are None until the item has ended.
    """

    number: int
    id: str
    epoch: int
    question: str
    ambiguous: bool
    status: str
    scores: Values = ()
    labels: tuple[str, ...] | None = None
    tokens: int | None = None
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in the list of runs. `system`: what was set for it, in few words.

    The means are over the items that ended; None where none has.
    """

    name: str
    system: str
    total: int
    done: int
    failed: int
    means: Values = ()
    parent: str | None = None


def named(heads: Sequence[str], scores: Values) -> list[tuple[str, float | None]]:
    """Each metric's heading with its value; None where there are no values yet."""
    return list(zip(heads, scores or (None,) * len(heads), strict=True))
