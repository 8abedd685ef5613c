"""A fork of a step: what it would run again, what may be changed, and how the app runs it."""

import atexit
import shlex
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import InputError
from branchwise.base.text import one_line
from branchwise.report.terminal.blocks import harmless
from branchwise.runs import forks
from branchwise.runs.scoring.score import score_answers
from branchwise.runs.store import open_run
from branchwise.runs.studies.folder import default_folder
from branchwise.tools.registry import known_tools
from branchwise.trace.conversation import taken_up_at
from branchwise.trace.events import Start
from branchwise.ui.trace_app.background import READ_ERRORS, run_aside
from branchwise.ui.trace_app.drawing import drawn
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import Step, Trace

if TYPE_CHECKING:
    from branchwise.base.keys import Keys
    from branchwise.runs.forks import Changes
    from branchwise.runs.runner import RunState
    from branchwise.ui.trace_app.app import TraceApp


@dataclass(frozen=True)
class ForkPlan:
    """A fork of one step as the dialog offers it.

    `model` and `tools` are the parent's, `known` are all tools with what they do, `folder` is where
    the fork is put by default. `text`: the step's text as a file to edit, None where it has none.
    `again`: the steps that are made again, in the order of the tree. `whole`: everything is known;
    without it, other tools and the text are still missing.
    """

    parent: Path
    question: str
    epoch: int
    step: Step
    model: str
    tools: tuple[str, ...]
    known: Mapping[str, str]
    folder: Path
    text: str | None
    again: tuple[Step, ...]
    whole: bool = True

    def words(self, *, edited: bool) -> str:
        """What happens, on one line (harmless)."""
        if edited:
            return f"goes on behind step {self.step.seq} ({self.step.label}), with your text there"
        if not self.again or self.again[0].kind == Start.KIND:
            return "runs the whole question again"
        first, rest = self.again[0], len(self.again) - 1
        more = (
            f" and the {rest} behind it" if rest > 1 else " and the one behind it" if rest else ""
        )
        return f"runs step {first.seq} again ({first.label}){more}"

    def changes(self, model: str, tools: Collection[str], edit: str | None) -> "forks.Changes":
        """What the fork changes. Raises InputError for a model spec that cannot be read."""
        if (model := model.strip()) != self.model.strip():
            ModelSpec.parse(model)
        same = set(tools) == set(self.tools)
        ordered = tuple(name for name in self.known if name in tools)
        return forks.Changes(
            model=None if model == self.model.strip() else model,
            tools=None if same else ordered,
            edit=None if edit == self.text else edit,
        )

    def out(self, folder: str) -> Path | None:
        """The folder that the user entered; None for the one that was offered.

        Raises InputError where something already exists.
        """
        if not folder.strip() or folder in (str(self.folder), f"{self.folder}/"):
            return None
        path = Path(folder.strip()).expanduser()
        if path.exists():
            raise InputError("already exists", where=folder.strip(), remedy="name a new folder")
        return path


def plan_fork(parent: Path, trace: Trace, step: int) -> ForkPlan:
    """Read what can be changed at a step; imports the agent, which takes seconds.

    Raises InputError where it cannot be forked.
    """
    plan, event = first_plan(parent, _meta(parent), trace, step), trace.event(step)
    assert event is not None, "it has a plan"
    text = None if event.body.problems else forks.editable(event)
    return replace(plan, known={**plan.known, **known_tools()}, text=text, whole=True)


def first_plan(parent: Path, meta: Mapping[str, Any], trace: Trace, step: int) -> ForkPlan:
    """The part of the plan that the trace and the run's record give at once. Raises InputError as
    above."""
    line, event = trace.line, trace.event(step)
    if line.status not in ("done", "failed"):
        raise InputError(f"{line.id} has not ended yet", remedy="fork it when it has")
    if event is None:
        raise InputError(f"the trace has no step {step}", where=str(parent))
    again = _again(trace, step)
    tools = tuple(_tools(meta))
    return ForkPlan(
        parent=parent,
        question=line.id,
        epoch=line.epoch,
        step=next(s for s in trace.steps if s.seq == step),
        model=str(meta["system"].get("model", "")),
        tools=tools,
        known=dict.fromkeys(tools, ""),
        folder=default_folder(parent, line.id, step),
        text=None,
        again=tuple(again),
        whole=False,
    )


def _again(trace: Trace, step: int) -> Iterator[Step]:
    """The steps that a fork of this one makes again."""
    place = next(n for n, event in enumerate(trace.events) if event.seq == step)
    try:
        left = taken_up_at(trace.events, place)
    except ValueError:
        left = None
    if left is None or any(event.body.problems for event in trace.events[:left]):
        raise InputError(
            f"the trace cannot be continued from step {step}",
            remedy="it is damaged or of a newer version; choose another step",
        )
    made = {event.seq for event in trace.events[left:]}
    return (s for s in trace.steps if s.seq in made)


def _meta(parent: Path) -> Mapping[str, Any]:
    reader = open_run(parent)
    try:
        return reader.meta
    finally:
        reader.close()


def _tools(meta: Mapping[str, Any]) -> Iterator[str]:
    """The tools that the parent's agent had."""
    for tool in (meta.get("identity") or {}).get("tools") or ():
        yield harmless(tool["function"]["name"])


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
        path = forks.make_fork(
            plan.parent, plan.question, plan.step.seq, changes, epoch=plan.epoch, out=out, keys=keys
        )
    said = [warning for warning in caught if issubclass(warning.category, UserWarning)]
    return Made(path, tuple(str(warning.message) for warning in said))


def _run(path: Path) -> "RunState":
    """Ask the rest, then score it as `branchwise run` does."""
    state = forks.run_fork(path).state
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
