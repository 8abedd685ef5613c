"""What stands above two traces: of each its run, its scores, and how it is going."""

from collections.abc import Sequence

from branchwise.base.numbers import number
from branchwise.ui.trace_app.widgets.paired_lines import CURSOR, PairedLine, PairedLines
from branchwise.ui.trace_app.widgets.question_columns import seconds_cell
from branchwise.ui.traces.lines import ItemLine, RunLine, named


class PairHeads(PairedLines, can_focus=False):
    """Two lines: the runs with what was set for them, and their items."""

    def show(
        self,
        runs: Sequence[RunLine],
        items: Sequence[ItemLine],
        heads: Sequence[Sequence[str]],
        side: int,
    ) -> None:
        """Show them, two of each. `heads` name the metrics of each run's task; the cursor is on
        `side`."""
        names = [f"{_mark(side == n)}{_run(run)}" for n, run in enumerate(runs)]
        said = [f"{_item(item, own)}" for item, own in zip(items, heads, strict=True)]
        strong, plain = ("strong", "strong"), ("", "")
        self.set_lines(
            [
                PairedLine(names[0], " ", names[1], strong, chosen=False),
                PairedLine(said[0], " ", said[1], plain, chosen=False),
            ]
        )


def _mark(here: bool) -> str:
    return CURSOR if here else " "


def _run(run: RunLine) -> str:
    fork = f"  fork of {run.parent}" if run.parent else ""
    return f"{run.name}{fork}  {run.system}"


def _item(item: ItemLine, heads: Sequence[str]) -> str:
    """Scores first: they are seen on a narrow screen, too."""
    scores = named(heads, item.scores)
    said = [] if item.status == "done" else [item.status]
    if item.status in ("done", "failed"):
        said.append(" ".join(f"{head} {number(value)}" for head, value in scores))
    if item.tokens is not None:
        said.append(f"{item.tokens:,} tokens")
    if item.seconds is not None:
        said.append(f"{seconds_cell(item).strip()} s")
    if item.labels:
        said.append(", ".join(item.labels))
    return f" {'  '.join(said)}"
