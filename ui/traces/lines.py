"""The rows of the list of questions, and the line that sums a run up."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ItemLine:
    """One item of a run as the list shows it.

    `number` is its number in the store, `status` pending, running, done or failed. Precision,
    recall and exact match are the three metrics that its task shows, which may be others, as
    reports have them; None where the item has not ended or has no gold. `labels` are error labels,
    sorted; None until they are known. `tokens` and `seconds` are None until the item has ended.
    """

    number: int
    id: str
    epoch: int
    question: str
    ambiguous: bool
    status: str
    precision: float | None = None
    recall: float | None = None
    em: float | None = None
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
    precision: float | None = None
    recall: float | None = None
    em: float | None = None
    parent: str | None = None
