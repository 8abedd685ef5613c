"""The trace app: its runs, its open screens, and what they share."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.text import one_line
from branchwise.ui.trace_app.background import (
    READ_ERRORS,
    Filling,
    RunAdded,
    RunChanged,
    in_app,
    safe_line,
)
from branchwise.ui.trace_app.compare_screen import CompareScreen
from branchwise.ui.trace_app.dialogs import HelpScreen
from branchwise.ui.trace_app.drawing import drawn
from branchwise.ui.trace_app.questions_screen import QuestionsScreen
from branchwise.ui.trace_app.terminal import TerminalDriver, terminal_is_gone
from branchwise.ui.trace_app.trace_screen import TraceScreen
from branchwise.ui.traces.runs import RunView

FOLLOW_SECONDS = 0.5
LOOK_SECONDS = 1.0
QUIET_SECONDS = 10.0
"""How long the same failure is not shown again: a followed run is read twice a second."""

T = TypeVar("T")


@dataclass(frozen=True)
class OpenQuestion:
    """The question whose trace is opened at once. With `compare`, those of the first two runs."""

    question: str
    epoch: int = 0
    step: int | None = None
    compare: bool = False


class TraceApp(App[None]):
    """Runs to look at. `live`: read again what other processes write, twice a second. `keys`: for
    the servers that forks ask, before those that the runs name."""

    TITLE = "Branchwise trace"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "Back", tooltip="Back to the previous screen"),
        Binding("escape", "leave", "Back", show=False, tooltip="Back to the previous screen"),
        Binding(
            "question_mark", "help", "Keys", key_display="?", tooltip="Show this screen's keys"
        ),
        Binding("ctrl+r", "reload", "Reload", show=False, tooltip="Reload the runs"),
    ]

    def __init__(
        self,
        runs: Sequence[RunView],
        *,
        live: bool = False,
        start: OpenQuestion | None = None,
        keys: Keys = NO_KEYS,
    ) -> None:
        super().__init__(driver_class=TerminalDriver)
        self.runs, self.live, self.keys = list(runs), live, keys
        for run in runs:
            run.leave_scoring()
        self._start = start
        self.questions = QuestionsScreen(self.runs)
        self._shown: dict[str, float] = {}
        self._filling = Filling(
            self.runs,
            lambda run, rows: in_app(self, partial(self._tell, RunChanged(run, rows))),
            lambda error: in_app(self, partial(self.fail, error)),
        )

    def get_default_screen(self) -> Screen[None]:
        return self.questions

    def on_mount(self) -> None:
        run, start = self.runs[0], self._start
        row = self.row_of(run, start.question, start.epoch) if start else None
        if start and row is not None:
            self.follow(run, row)
            if start.compare and len(self.runs) > 1:
                self.compare(run, row, self.runs[1])
            else:
                self.open_trace(run, row, start.step)
        if self.live:
            self.set_interval(FOLLOW_SECONDS, self.action_reload)
        if not self.is_headless:
            self.set_interval(LOOK_SECONDS, self._end_with_terminal)
        self.call_after_refresh(self._filling.want, run)

    def _end_with_terminal(self) -> None:
        if terminal_is_gone():
            self.exit()

    def on_unmount(self) -> None:
        self._filling.stop()

    def open_trace(self, run: RunView, row: int, step: int | None = None) -> None:
        self.push_screen(TraceScreen(run, row, step))

    def compare(self, run: RunView, row: int, other: RunView, *, side: int = 0) -> None:
        line = safe_line(run, row)
        beside = self.row_of(other, line.id, line.epoch)
        if beside is not None:
            self.push_screen(CompareScreen(run, row, other, beside, side=side))

    def row_of(self, run: RunView, question: str, epoch: int) -> int | None:
        """A question's row in a run; None, with a line that says so, if it has none."""
        rows = self.read(lambda: [run.find(question, epoch)])
        if rows == [None]:
            self.fail(f"{run.name} has no question {question!r} in epoch {epoch}")
        return rows[0] if rows else None

    def read(self, reading: Callable[[], T]) -> T | None:
        """What `reading` returns; None, with a line that says why, if the run cannot be read."""
        try:
            return reading()
        except READ_ERRORS as error:
            self.fail(error)
            return None

    def neighbour(self, run: RunView, row: int, by: int) -> int | None:
        """The row `by` places further in the list as it is arranged; None at its ends."""
        rows = self.questions.rows_of(run)
        if row not in rows:
            return rows[0 if by > 0 else -1] if rows else None
        index = rows.index(row) + by
        return rows[index] if 0 <= index < len(rows) else None

    def follow(self, run: RunView, row: int) -> None:
        """Another screen shows this row: the list's cursor goes along."""
        self.questions.follow(run, row)

    def add_run(self, run: RunView) -> None:
        """Show a further run (a fork) beside the others; from now on it is followed."""
        run.leave_scoring()
        self.runs.append(run)
        self._filling.want(self.questions.run)
        self._tell(RunAdded())

    def fail(self, problem: Exception | str) -> None:
        """Report a failure in one line; a line just shown is not repeated."""
        line = one_line(str(problem)) or type(problem).__name__
        now = time.monotonic()
        if now < self._shown.get(line, 0.0):
            return
        self._shown = {line: now + QUIET_SECONDS}
        self.notify(drawn(line)[:300], severity="error", markup=False)

    def action_reload(self) -> None:
        for run in self.runs:
            self.reload(run)

    def reload(self, run: RunView) -> None:
        if rows := self.read(run.refresh):
            self._tell(RunChanged(run, rows))
            self._filling.want(self.questions.run)

    def _tell(self, message: Message) -> None:
        for screen in self.screen_stack:
            screen.post_message(message)

    def action_leave(self) -> None:
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.exit()

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self.screen))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        seen = set()
        for namespace, binding, enabled, _ in screen.active_bindings.values():
            if binding.tooltip and enabled and binding.action not in seen:
                seen.add(binding.action)
                run = partial(self.run_action, binding.action, namespace)
                yield SystemCommand(binding.description, binding.tooltip, run)
