"""A question that somebody names: its row, or what was probably meant."""

from branchwise.corpora.errors import InputError, did_you_mean
from branchwise.ui.traces.runs import RunView


def named_row(run: RunView, question: str, epoch: int = 0) -> int:
    """The row of a question. Raises InputError where there is none, with ids that are like it."""
    row = run.find(question, epoch)
    if row is not None:
        return row
    ids = [line.id for line in run.lines() if line.epoch == epoch]
    hint = did_you_mean(question, ids, else_=f"the first ids are {', '.join(ids[:3])}", most=3)
    if not ids:
        hint = "epochs are counted from 0"
    raise InputError(
        f"no item has the id {question[:80]!r} in epoch {epoch}", where=str(run.path), remedy=hint
    )
