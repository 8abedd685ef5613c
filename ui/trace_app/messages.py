"""Messages that the app sends to its screens."""

from dataclasses import dataclass

from textual.message import Message

from branchwise.ui.traces.runs import RunView


@dataclass
class RunChanged(Message, bubble=False):
    """These rows of a run have changed since they were read.

    The app sends it to every screen on its stack. `rows` may be empty: then only the run's
    summary changed.
    """

    run: RunView
    rows: frozenset[int]


@dataclass
class RunAdded(Message, bubble=False):
    """A run, made by a fork, was added to the app."""

    run: RunView
