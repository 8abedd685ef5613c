"""Columns of reports: what a metric is called, what it is among the others, how it is combined."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from branchwise.base.text import one_line

Metrics = Mapping[str, float | None]
"""Metric key to value; None is unscored on purpose and stays out of the mean."""

Role = Literal["recall", "precision", "exact", "headline"]
"""What a headline metric is: recall, precision, exact match, or another one of the first rank."""


@dataclass(frozen=True)
class Total:
    """How a score of many questions comes of sums over them, where it is not a mean.

    `sums`: the metrics of an item that are added up; `of`: their function, in this order, None
    where it is undefined. A question counts with the mean of its epochs, so `of` must be the same
    when all sums are multiplied by one number.
    """

    sums: tuple[str, ...]
    of: Callable[..., float | None]

    def vector(self, metrics: Metrics) -> tuple[float, ...] | None:
        """An item's addends; None where one of them is."""
        found = [metrics[name] for name in self.sums]
        known = tuple(value for value in found if value is not None)
        return known if len(known) == len(found) else None


@dataclass(frozen=True)
class Column:
    """A metric in the report table.

    `heading` may hold one line break; columns with the same `table` stand side by side; `note`
    is the line under the table that says what the number means. A metric that `needs_evidence`
    is left unscored where no item of a set was shown any passage (no tools, or answers from a
    file): zero would blame the agent for what was not recorded. What has a `role` is a headline
    metric: changes are told by it. `short` is its heading where its table is clear, `words` its
    name in a sentence. `unit`: a share is 0 to 1. With a `total` an item's own value is that of its
    sums alone.
    """

    key: str
    heading: str
    table: str
    digits: int = 2
    note: str = ""
    needs_evidence: bool = False
    role: Role | None = None
    short: str = ""
    words: str = ""
    unit: Literal["share", "value"] = "share"
    total: Total | None = None

    @property
    def title(self) -> str:
        """Its heading on one line."""
        return one_line(self.heading)

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        return self.words or self.title

    def described(self) -> dict[str, Any]:
        """What a scorer keeps of a plug-in's column; JSON-serialisable."""
        kept = ("key", "heading", "table", "digits", "note", "needs_evidence")
        return {name: getattr(self, name) for name in kept}


def totals_of(columns: Iterable[Column]) -> dict[str, Total]:
    """The columns that are not means, by their keys."""
    return {column.key: column.total for column in columns if column.total}


def capital(text: str) -> str:
    """As a caption begins; the rest stays as it is."""
    return text[:1].upper() + text[1:]
