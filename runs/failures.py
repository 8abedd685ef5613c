"""Why items of runs have no answer, the commonest reasons first: failed ones, unreadable ones."""

import re
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from branchwise.agents.answer import UNREADABLE
from branchwise.runs.store import open_run

_VARYING = re.compile(r"\d+")


class Unanswered(NamedTuple):
    """How many items, and how often for which reason; the first of them, with its run."""

    items: int
    reasons: list[tuple[str, int]]
    first: tuple[Path, str] | None


class Failures(NamedTuple):
    """Of all items of runs, `ended` of which have ended: those that failed, and those with an
    answer that could not be read (format errors); `cut` were answered with a reply that met the
    token limit."""

    items: int
    ended: int
    failed: Unanswered
    unreadable: Unanswered
    cut: int = 0

    @property
    def is_total(self) -> bool:
        """Whether no item that has ended has a readable answer."""
        return 0 < self.ended == self.failed.items + self.unreadable.items


class _Counted:
    """Messages that differ in numbers alone are one reason, in the words of the first."""

    def __init__(self) -> None:
        self.counts, self.words = Counter[str](), dict[str, str]()
        self.first: tuple[Path, str] | None = None

    def add(self, run: Path, question: str, said: str) -> None:
        kind = _VARYING.sub("#", said)
        self.words.setdefault(kind, said)
        self.counts[kind] += 1
        self.first = self.first or (run, question)

    def found(self) -> Unanswered:
        reasons = [(self.words[kind], n) for kind, n in self.counts.most_common()]
        return Unanswered(self.counts.total(), reasons, self.first)


def failures_of(runs: Iterable[Path]) -> Failures:
    """What has no answer in runs."""
    failed, unreadable = _Counted(), _Counted()
    items = ended = cut = 0
    for run in runs:
        with closing(open_run(run)) as reader:
            progress = reader.progress()
            items += progress["total"]
            cut += len(reader.cut_items())
            ended += progress["done"] + progress["failed"]
            for row in reader.items():
                if row.outcome is None:
                    continue
                if row.status == "failed":
                    failed.add(run, row.question.id, str(row.outcome["error"]))
                elif row.outcome["how"] == UNREADABLE:
                    unreadable.add(run, row.question.id, str(row.outcome["problem"]))
    return Failures(items, ended, failed.found(), unreadable.found(), cut)
