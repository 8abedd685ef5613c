"""A fork of a step: what it would run again, what may be changed, and how the app runs it."""

import atexit
import shlex
import sys
import warnings
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import InputError
from branchwise.base.text import one_line
from branchwise.report.terminal.blocks import harmless
from branchwise.runs import forks
from branchwise.runs.scoring.score import score_answers
from branchwise.runs.store import open_run
from branchwise.runs.studies.folder import default_folder
from branchwise.tools.registry import known_tools
from branchwise.trace.conversation import left_before
from branchwise.trace.events import Start
from branchwise.ui.trace_app.background import READ_ERRORS, run_aside
from branchwise.ui.trace_app.drawing import drawn
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import Step, Trace

if TYPE_CHECKING:
    from branchwise.base.keys import Keys
    from branchwise.runs.runner import RunState
    from branchwise.ui.trace_app.app import TraceApp

FOLLOW_SECONDS = 0.5
_unended: dict[Path, None] = {}
"""Forks that this process is running."""


@dataclass(frozen=True)
class ForkPlan:
    """A fork of one step as the dialog offers it: the parent's `model` and `tools`, all tools
    with what they do (`known`), the folder by default, the step's `text` if it has one, and the
    steps that are made `again`. Not `whole`: other tools and the text are still missing."""

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
            return f"goes on after step {self.step.seq} ({self.step.label}), with your text there"
        if not self.again or self.again[0].kind == Start.KIND:
            return "runs the whole question again"
        first, rest = self.again[0], len(self.again) - 1
        more = f" and the {f'{rest} steps' if rest > 1 else 'one'} after it" if rest else ""
        return f"runs step {first.seq} again ({first.label}){more}"

    def changes(self, model: str, tools: Collection[str], edit: str | None) -> "forks.Changes":
        """What the fork changes. Raises InputError for a model spec that cannot be read."""
        if (model := model.strip()) != self.model.strip():
            ModelSpec.parse(model)
        ordered = tuple(name for name in self.known if name in tools)
        return forks.Changes(
            model=None if model == self.model.strip() else model,
            tools=None if set(tools) == set(self.tools) else ordered,
            edit=None if edit == self.text else edit,
        )

    def out(self, folder: str) -> Path | None:
        """The folder that was entered, None for the offered one. Raises InputError if it exists."""
        if not folder.strip() or folder in (str(self.folder), f"{self.folder}/"):
            return None
        path = Path(folder.strip()).expanduser()
        if path.exists():
            raise InputError("already exists", where=folder.strip(), remedy="name a new folder")
        return path


def plan_fork(parent: Path, trace: Trace, step: int) -> ForkPlan:
    """The whole plan; imports the agent, which takes seconds. Raises InputError as `first_plan`."""
    with closing(open_run(parent)) as reader:
        plan = first_plan(parent, reader.meta, trace, step)
    event = trace.event(step)
    text = None if event is None or event.body.problems else forks.editable(event)
    return replace(plan, known={**plan.known, **known_tools()}, text=text, whole=True)


def first_plan(parent: Path, meta: Mapping[str, Any], trace: Trace, step: int) -> ForkPlan:
    """What the trace and the run's record give at once. Raises InputError for what has no fork."""
    line = trace.line
    if line.status not in ("done", "failed"):
        raise InputError(f"{line.id} has not ended yet", remedy="fork it when it has")
    index = next((n for n, event in enumerate(trace.events) if event.seq == step), None)
    if index is None:
        raise InputError(f"the trace has no step {step}", where=str(parent))
    try:
        left = left_before(trace.events, index)
    except ValueError:
        left = None
    if left is None or any(event.body.problems for event in left):
        raise InputError(
            f"the trace cannot be continued from step {step}",
            remedy="it is damaged or of a newer version; choose another step",
        )
    made = {event.seq for event in trace.events} - {event.seq for event in left}
    own = (meta.get("identity") or {}).get("tools") or ()
    tools = tuple(harmless(tool["function"]["name"]) for tool in own)
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
        again=tuple(s for s in trace.steps if s.seq in made),
        whole=False,
    )


def make_fork(
    plan: ForkPlan, changes: "forks.Changes", out: Path | None, keys: "Keys"
) -> tuple[Path, list[str]]:
    """Make the fork's folder, without asking any model; returns it and what is to be warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        path = forks.make_fork(
            plan.parent, plan.question, plan.step.seq, changes, epoch=plan.epoch, out=out, keys=keys
        )
    return path, [str(c.message) for c in caught if issubclass(c.category, UserWarning)]


def run_fork_in(app: "TraceApp", path: Path) -> RunView:
    """Run a fork as a further run of the app, which says how it ended; `branchwise resume`
    continues one that the app left. Raises InputError where it cannot be read."""
    view = RunView.open(path)
    app.add_run(view)
    atexit.unregister(_list_unended)
    atexit.register(_list_unended)
    _unended[path] = None
    timer = app.set_interval(FOLLOW_SECONDS, partial(app.reload, view))

    def end() -> None:
        timer.stop()
        app.reload(view)
        with suppress(*READ_ERRORS):
            if view.line(0).status in ("done", "failed"):
                _unended.pop(path, None)

    def ended(state: "RunState") -> None:
        end()
        _tell_end(app, view, state)

    def failed(error: Exception) -> None:
        end()
        app.fail(f"{view.name}: {one_line(str(error)) or type(error).__name__}")

    def work() -> "RunState":
        """Ask the rest, then score it as `branchwise run` does."""
        state = forks.run_fork(path).state
        if state.stopped is None:
            score_answers(path)
        return state

    run_aside(app, work, ended, failed)
    return view


def _tell_end(app: "TraceApp", view: RunView, state: "RunState") -> None:
    if state.stopped is not None:
        app.fail(f"{view.name} stopped ({state.stopped}); {_how_to_go_on(view.path)}")
    elif lines := app.read(lambda: [view.line(0)]):
        if lines[0].error:
            app.fail(f"{view.name} failed: {lines[0].error}")
        else:
            app.notify(drawn(f"{view.name} has ended")[:300], markup=False)


def _how_to_go_on(path: Path) -> str:
    return f"go on with `branchwise resume {shlex.quote(str(path))}`"


def _list_unended() -> None:
    for path in _unended:
        sys.stderr.write(f"{path} has not ended; {_how_to_go_on(path)}\n")
