"""The fork dialog: a step of an ended item is run again with something changed."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Checkbox, Input, Label, Static

from branchwise.base.errors import InputError
from branchwise.base.text import one_line
from branchwise.ui.trace_app.background import READ_ERRORS, run_aside
from branchwise.ui.trace_app.drawing import drawn
from branchwise.ui.trace_app.forking import ForkPlan, first_plan, make_fork, plan_fork, run_fork_in
from branchwise.ui.trace_app.terminal import edit
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import Trace

if TYPE_CHECKING:
    from branchwise.ui.trace_app.app import TraceApp

_KEYS = "enter makes the fork and runs it, escape leaves"
_READING = "reading what may be changed …"
_HERE = {
    "choose another folder with --out": "name another folder above",
    "choose another --out": "name another folder above",
    "name a tool with --tool": "choose a tool above",
}
"""What the command line says of its options, as it is called in the dialog."""


class ToolBox(Checkbox, inherit_bindings=False):
    """A tool to be chosen by a sign, not by colour alone; enter is left to the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "toggle_button", "Choose", show=False, tooltip="Choose the tool or not")
    ]
    DEFAULT_CSS = """
    ToolBox, ToolBox:focus { border: none !important; padding: 0; height: 1; width: 100%;
        background: $surface; }
    """

    def __init__(self, tool: str, summary: str, chosen: bool) -> None:
        super().__init__("", chosen)
        self.tool = tool
        self.describe(summary)
        self._set_sign()

    def describe(self, summary: str) -> None:
        self.label = Content(drawn(f"{self.tool}  {summary}".rstrip()))

    def watch_value(self) -> None:
        super().watch_value()
        self._set_sign()

    def _set_sign(self) -> None:
        self.BUTTON_INNER = "X" if self.value else " "


class ForkScreen(ModalScreen[None]):
    """Asks what to change, makes the fork, and shows it beside its parent."""

    DEFAULT_CSS = """
    ForkScreen {
        align: center middle;
        & > Vertical { width: 90%; max-width: 110; height: auto; max-height: 100%; padding: 0 1;
            background: $surface; border: round $border; border-title-style: bold; }
        Label { color: $text-muted; }
        #fork-what { margin: 0 0 1 0; }
        .fork-row { height: 1; }
        .fork-row > Label { width: 8; }
        .fork-row > Input { width: 1fr; }
        #fork-tools { height: auto; max-height: 5; margin: 0 0 0 8; }
        #fork-edited { width: 1fr; color: $foreground; }
        #fork-note { height: auto; max-height: 4; min-height: 1; margin: 1 0 0 0;
            color: $text-muted; }
        #fork-note.-wrong { color: $text-warning; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", tooltip="Leave without a fork"),
        Binding("enter", "submit", "Fork", tooltip="Make the fork and run it"),
        Binding("ctrl+o", "edit", "Edit", priority=True, tooltip="The step's text in $EDITOR"),
    ]

    def __init__(self, run: RunView, trace: Trace, step: int) -> None:
        super().__init__()
        self._run, self._trace, self._step = run, trace, step
        self._plan: ForkPlan | None = None
        self._problem: Exception | None = None
        self._text: str | None = None
        self._making = self._submitted = False
        try:
            self._plan = first_plan(run.path, run.meta, trace, step)
        except READ_ERRORS as error:
            self._problem = error

    @property
    def trace_app(self) -> "TraceApp":
        return cast("TraceApp", self.app)

    @property
    def whole(self) -> bool:
        return self._plan is not None and self._plan.whole

    def compose(self) -> ComposeResult:
        plan = self._plan
        with Vertical() as box:
            title = f"Fork {self._run.name}, {self._trace.line.id} from step {self._step}"
            box.border_title = Content(drawn(title))
            if plan is None:
                return
            yield Static(Content(drawn(plan.words(edited=False))), id="fork-what")
            with Horizontal(classes="fork-row"):
                yield Label("model")
                yield Input(drawn(plan.model), id="fork-model", compact=True, select_on_focus=False)
            yield Label("tools")
            with VerticalScroll(id="fork-tools", can_focus=False):
                for name, summary in plan.known.items():
                    yield ToolBox(name, summary, name in plan.tools)
            with Horizontal(classes="fork-row"):
                yield Label("text")
                yield Static(self._edited_words(), id="fork-edited")
                edit = Button("Edit (ctrl+o)", id="fork-edit", compact=True)
                edit.display = False
                yield edit
            with Horizontal(classes="fork-row"):
                yield Label("folder")
                folder = drawn(str(plan.folder))
                yield Input(folder, id="fork-folder", compact=True, select_on_focus=False)
            yield Static(_KEYS, id="fork-note")
            with Horizontal(classes="fork-row"):
                yield Button("Fork", id="fork-make", variant="primary", compact=True)
                yield Button("Cancel", id="fork-cancel", compact=True)

    def on_mount(self) -> None:
        if self._problem is not None:
            self.call_later(self._unplannable, self._problem)
            return
        self.query_one("#fork-model", Input).focus()
        work = partial(plan_fork, self._run.path, self._trace, self._step)
        run_aside(self.trace_app, work, self._planned, self._unplannable)

    def _planned(self, plan: ForkPlan) -> None:
        if self._plan is None or not self.is_attached:
            return
        self._plan = replace(plan, folder=self._plan.folder)
        boxes = {box.tool: box for box in self.query(ToolBox)}
        for tool, box in boxes.items():
            box.describe(plan.known.get(tool, ""))
        others = (item for item in plan.known.items() if item[0] not in boxes)
        self.query_one("#fork-tools").mount(*(ToolBox(*item, False) for item in others))
        self.query_one("#fork-edit").display = plan.text is not None
        self.query_one("#fork-edited", Static).update(self._edited_words())
        if self._submitted:
            self.action_submit()

    def _unplannable(self, error: Exception) -> None:
        self.trace_app.fail(error)
        if self.is_attached:
            self.dismiss()

    @on(Button.Pressed, "#fork-cancel")
    def action_leave(self) -> None:
        self.dismiss()

    @on(Button.Pressed, "#fork-edit")
    def action_edit(self) -> None:
        plan = self._plan
        if plan is None or self._making:
            return
        if not plan.whole:
            self._say(_READING)
            return
        if plan.text is None:
            self._say(f"step {plan.step.seq} has no text to edit", wrong=True)
            return
        # The name tells editors what is in the file.
        form = "json" if plan.text.lstrip().startswith("{") else "txt"
        before = plan.text if self._text is None else self._text
        try:
            text = edit(self.app, before, f"step-{plan.step.seq}.{form}")
        except (InputError, OSError) as error:
            self._say(str(error), wrong=True)
            return
        self._text = None if text == plan.text else text
        self._say(_KEYS)
        self.query_one("#fork-edited", Static).update(self._edited_words())
        words = Content(drawn(plan.words(edited=self._text is not None)))
        self.query_one("#fork-what", Static).update(words)

    @on(Input.Submitted)
    @on(Button.Pressed, "#fork-make")
    def action_submit(self) -> None:
        """Make the fork from what the fields say; what is wrong with them is said here."""
        plan = self._plan
        if plan is None or self._making:
            return
        if not plan.whole:
            self._submitted = True
            self._say(_READING)
            return
        chosen = [box.tool for box in self.query(ToolBox) if box.value]
        try:
            changes = plan.changes(self._field("#fork-model", plan.model), chosen, self._text)
            out = plan.out(self._field("#fork-folder", str(plan.folder)))
        except (InputError, OSError, RuntimeError) as error:
            self._say(str(error), wrong=True)
            return
        self._making = True
        self._say("making the fork …")
        work = partial(make_fork, plan, changes, out, self.trace_app.keys)
        run_aside(self.trace_app, work, self._made, self._unmade)

    def _field(self, id: str, offered: str) -> str:
        """What a field says; what was offered where it still shows that."""
        value = self.query_one(id, Input).value
        return offered if value == drawn(offered) else value

    def _unmade(self, error: Exception) -> None:
        self._making = False
        if not self.is_attached:
            self.trace_app.fail(error)
            return
        text = str(error)
        for option, here in _HERE.items():
            text = text.replace(option, here)
        self._say(text or type(error).__name__, wrong=True)

    def _made(self, made: tuple[Path, list[str]]) -> None:
        """Run the fork and show both; if the dialog was closed meanwhile, it is not run."""
        app, (path, warnings) = self.trace_app, made
        for warning in warnings:
            app.notify(drawn(warning)[:300], severity="warning", markup=False)
        if not self.is_attached:
            app.notify(drawn(f"{path} was made, and not run")[:300], markup=False)
            return
        line = self._trace.line
        try:
            row, fork = self._run.find(line.id, line.epoch), run_fork_in(app, path)
        except READ_ERRORS as error:
            self._unmade(error)
            return
        self.dismiss()
        if row is not None:
            # It may have ended before the screen is shown.
            app.call_later(app.compare, self._run, row, fork, side=1)

    def _edited_words(self) -> str:
        if not self.whole:
            return _READING
        if self._plan is None or self._plan.text is None:
            return "this step has none to edit"
        return "as it was" if self._text is None else f"edited, {len(self._text):,} characters"

    def _say(self, text: str, *, wrong: bool = False) -> None:
        line = self.query_one("#fork-note", Static)
        line.set_class(wrong, "-wrong")
        line.update(Content(drawn(one_line(text))))
