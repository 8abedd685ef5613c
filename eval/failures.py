"""Why the items of runs failed, the commonest reasons first."""

import re
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from branchwise.eval.store import open_run

_VARYING = re.compile(r"\d+")


class Failures(NamedTuple):
    """How many of all items failed, and how often for which reason, the most frequent first."""

    failed: int
    items: int
    reasons: list[tuple[str, int]]


def failures_of(runs: Iterable[Path]) -> Failures:
    """The failures of runs; messages that differ in numbers alone are one reason, in the words of
    the first."""
    counts, words = Counter[str](), dict[str, str]()
    failed = items = 0
    for run in runs:
        with closing(open_run(run)) as reader:
            progress = reader.progress()
            failed, items = failed + progress["failed"], items + progress["total"]
            for row in reader.items() if progress["failed"] else ():
                if row.status == "failed" and row.outcome is not None:
                    said = str(row.outcome["error"])
                    kind = _VARYING.sub("#", said)
                    words.setdefault(kind, said)
                    counts[kind] += 1
    return Failures(failed, items, [(words[kind], n) for kind, n in counts.most_common()])
