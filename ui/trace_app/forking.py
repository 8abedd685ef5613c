"""A fork that the app makes and runs, on a thread that never holds up the app's end."""

import atexit
import shlex
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from branchwise.base.text import one_line
from branchwise.runs.forks import make_fork, run_fork
from branchwise.runs.scoring.score import score_answers
from branchwise.ui.trace_app.background import run_aside
from branchwise.ui.trace_app.cells import drawn
from branchwise.ui.trace_app.reading import READ_ERRORS
from branchwise.ui.traces.runs import RunView

if TYPE_CHECKING:
    from branchwise.base.keys import Keys
    from branchwise.runs.forks import Changes
    from branchwise.runs.runner import RunState
    from branchwise.ui.trace_app.app import TraceApp
    from branchwise.ui.traces.fork_plan import ForkPlan

FOLLOW_SECONDS = 0.5
_unended: dict[Path, None] = {}
"""Forks that this process is running."""


class Made(NamedTuple):
    """A fork's folder, and what was to be said about it."""

    path: Path
    warnings: tuple[str, ...]


def make_aside(
    app: "TraceApp",
    plan: "ForkPlan",
    changes: "Changes",
    out: Path | None,
    then: Callable[[Made], None],
    failed: Callable[[Exception], None],
) -> None:
    """Make the fork's folder on a thread, without asking any model."""
    run_aside(app, partial(_make, plan, changes, out, app.keys), then, failed)


def run_fork_in(app: "TraceApp", path: Path) -> RunView:
    """Run a fork that was made, as a further run of the app that is followed until it has ended.

    The app says how it ended. If the app ends first, `branchwise resume` continues the run: all
    answers so far are recorded. Raises InputError where the run cannot be read.
    """
    view = RunView.open(path)
    app.add_run(view)
    atexit.unregister(_say_unended)
    atexit.register(_say_unended)
    _unended[path] = None
    timer = app.set_interval(FOLLOW_SECONDS, partial(app.reload, view))

    def end(said: Callable[[], None]) -> None:
        timer.stop()
        app.reload(view)
        if _has_ended(view):
            _unended.pop(path, None)
        said()

    def ended(state: "RunState") -> None:
        end(partial(_say_how, app, view, state))

    def failed(error: Exception) -> None:
        end(partial(app.fail, f"{view.name}: {_line(error)}"))

    run_aside(app, partial(_run, path), ended, failed)
    return view


def _make(plan: "ForkPlan", changes: "Changes", out: Path | None, keys: "Keys") -> Made:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        path = make_fork(
            plan.parent, plan.question, plan.step.seq, changes, epoch=plan.epoch, out=out, keys=keys
        )
    said = [warning for warning in caught if issubclass(warning.category, UserWarning)]
    return Made(path, tuple(str(warning.message) for warning in said))


def _run(path: Path) -> "RunState":
    """Ask the rest, then score it as `branchwise run` does."""
    state = run_fork(path).state
    if state.stopped is None:
        score_answers(path)
    return state


def _say_how(app: "TraceApp", view: RunView, state: "RunState") -> None:
    if state.stopped is not None:
        app.fail(f"{view.name} stopped ({state.stopped}); {_how_to_go_on(view.path)}")
        return
    try:
        line = view.line(0)
    except READ_ERRORS as error:
        app.fail(error)
        return
    if line.error:
        app.fail(f"{view.name} failed: {line.error}")
    else:
        app.notify(drawn(f"{view.name} has ended")[:300], markup=False)


def _has_ended(view: RunView) -> bool:
    try:
        return view.line(0).status in ("done", "failed")
    except READ_ERRORS:
        return False


def _how_to_go_on(path: Path) -> str:
    return f"go on with `branchwise resume {shlex.quote(str(path))}`"


def _say_unended() -> None:
    """When the process ends, list the forks that have not ended."""
    for path in _unended:
        sys.stderr.write(f"{path} has not ended; {_how_to_go_on(path)}\n")


def _line(error: Exception) -> str:
    return one_line(str(error)) or type(error).__name__
