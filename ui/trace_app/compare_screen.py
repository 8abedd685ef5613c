"""Two runs on the same question: their steps side by side, where they part, their answers."""

from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from branchwise.report.terminal.blocks import Block
from branchwise.ui.trace_app.background import (
    READ_ERRORS,
    WORKING,
    Judging,
    RunChanged,
    RunScreen,
    safe_line,
)
from branchwise.ui.trace_app.bars import KeyBar
from branchwise.ui.trace_app.drawing import drawn
from branchwise.ui.trace_app.fork_screen import ForkScreen
from branchwise.ui.trace_app.pairs import AnswerPairs, PairedLines, PairHeads, StepPairs
from branchwise.ui.trace_app.step_view import StepView
from branchwise.ui.traces.answers import judged
from branchwise.ui.traces.comparison import TraceComparison, compare, compare_answers, goes_on
from branchwise.ui.traces.lines import RunLine
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import Trace, blocks

BOTH_STEPS = 140
"""The width from which the other side's step is shown beside the focused side's."""


class CompareScreen(RunScreen):
    """Row `row_a` of a run beside row `row_b` of another: the same question and epoch. The
    cursor begins on `side` 0 or 1, or on the only side that goes on."""

    HORIZONTAL_BREAKPOINTS = [(0, "-one-step"), (BOTH_STEPS, "-both-steps")]  # noqa: RUF012 - as Screen has it
    DEFAULT_CSS = """
    CompareScreen {
        #compared-question { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
            background: $panel; }
        PairHeads { height: 2; background: $panel; scrollbar-size-vertical: 0; }
        StepPairs { height: auto; max-height: 40%; }
        #compared-detail { height: 1fr; }
        #compared-detail > StepView { width: 1fr; border-top: solid $border-blurred; display: none;
            &.-focused-side { border-top: solid $border; display: block; } }
        AnswerPairs { height: 1fr; display: none; }
        &.-both-steps #compared-detail > StepView { display: block; }
        &.-answers StepPairs, &.-answers #compared-detail { display: none; }
        &.-answers AnswerPairs { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "other_side", "Side", tooltip="To the other run's side"),
        Binding("a", "answers", "Answers", tooltip="The answers of both, or the steps again"),
        Binding("d", "difference(1)", "Differs", tooltip="To the next step that differs"),
        Binding("D", "difference(-1)", "Differs", show=False, tooltip="To the previous one"),
        Binding("f", "fork", "Fork", tooltip="Run the rest again from this step, changed"),
        Binding("n", "question(1)", "Next", tooltip="The list's next question that both have"),
        Binding("p", "question(-1)", "Before", tooltip="The previous one that both have"),
        Binding("J", "passage(1)", "Passage", show=False, tooltip="To the step's next passage"),
        Binding("K", "passage(-1)", "Passage", show=False, tooltip="To the previous passage"),
        Binding("shift+down", "scroll_step(1)", "", show=False, tooltip="Scroll the step down"),
        Binding("shift+up", "scroll_step(-1)", "", show=False, tooltip="Scroll the step up"),
        Binding("r", "folds", "Folds", show=False, tooltip="Open or close all folded parts"),
    ]

    def __init__(
        self, run_a: RunView, row_a: int, run_b: RunView, row_b: int, *, side: int = 0
    ) -> None:
        super().__init__()
        self._first_side = side
        self.runs, self.rows = (run_a, run_b), [row_a, row_b]
        self._traces: list[Trace] = []
        self._summaries = [RunLine(run.name, "", run.count, 0, 0) for run in self.runs]
        self._compared = TraceComparison(())
        self._shown: list[int | None] = [None, None]

    def compose(self) -> ComposeResult:
        yield Static(id="compared-question")
        yield PairHeads()
        yield StepPairs()
        with Horizontal(id="compared-detail"):
            for run in self.runs:
                view = StepView()
                view.border_title = Content(drawn(run.name))
                yield view
        yield AnswerPairs()
        yield KeyBar()

    def on_mount(self) -> None:
        self._judging = [Judging(self.app, self.trace_app.fail) for _ in self.runs]
        self._open()
        if any(trace.unjudged for trace in self._traces):
            self.say(WORKING)
        self._steps.focus()
        only_other_goes_on = goes_on(self._traces[1]) and not goes_on(self._traces[0])
        self._steps.side = 1 if only_other_goes_on else self._first_side

    @property
    def _steps(self) -> StepPairs:
        return self.query_one(StepPairs)

    @property
    def _lines(self) -> StepPairs | AnswerPairs:
        """The steps, or the answers that are shown in their place."""
        return self.query_one(AnswerPairs) if self.has_class("-answers") else self._steps

    def _open(self) -> None:
        """Read both traces of another question; the cursor goes to where they part."""
        self._traces, self._shown = [self._read(side) for side in (0, 1)], [None, None]
        self._compared = compare(*self._traces)
        row = self._compared.parted
        if row is None:  # the last one that both have; after it only one of them continues
            both = [n for n, pair in enumerate(self._compared.pairs) if pair.a and pair.b]
            row = both[-1] if both else 0
        self._show_all(row, keep=False)
        self.call_after_refresh(self._steps.go_to_row, row)

    def _read(self, side: int) -> Trace:
        """A side's trace; one without steps where it cannot be read, which is said."""
        run, row = self.runs[side], self.rows[side]
        try:
            self._summaries[side] = run.summary()
            trace = run.trace(row, judge=False)
            return self._judging[side].begin(trace, partial(self._judged, side))
        except READ_ERRORS as error:
            self.trace_app.fail(error)
            return Trace(safe_line(run, row), (), (), ())

    def _judged(self, side: int, result: Trace) -> None:
        if self.is_attached:
            self._traces[side] = judged(self._traces[side], result.errors)
            self._show_all(self._steps.row, keep=True)

    def _show_all(self, row: int, *, keep: bool) -> None:
        a, b = self._traces
        epoch = f"  epoch {a.line.epoch}" if a.line.epoch else ""
        question = Content(drawn(f"{a.line.id}{epoch}  {a.line.question}"))
        self.query_one("#compared-question", Static).update(question)
        self._steps.show(self._compared, row)
        names = (self.runs[0].name, self.runs[1].name)
        self.query_one(AnswerPairs).show(compare_answers(a, b), names, keep=keep)
        self._show_side()

    @on(PairedLines.Moved)
    def _show_side(self) -> None:
        """Update what depends on the cursor: the marked side, and the step in full."""
        if self._traces:
            items = [trace.line for trace in self._traces]
            heads = [run.heads for run in self.runs]
            self.query_one(PairHeads).show(self._summaries, items, heads, self._lines.side)
            self._show_steps()

    @on(events.Resize)
    def _show_steps(self) -> None:
        """Show the step under the cursor, where it is seen: of the focused side, or of both."""
        if not self._traces:
            return
        steps = self._steps
        for side, view in enumerate(self.query(StepView)):
            view.set_class(side == steps.side, "-focused-side")
            if side != steps.side and self.size.width < BOTH_STEPS:
                continue
            step = steps.step_of(side)
            seq = step.seq if step else -1
            nothing = Block("note", f"{drawn(self.runs[side].name)} has no step here")
            parts = blocks(self._traces[side], seq) if step else [nothing]
            view.show(parts, keep=seq == self._shown[side])
            self._shown[side] = seq

    @on(PairedLines.Opened)
    def _opened(self, event: PairedLines.Opened) -> None:
        """From a step to its trace; from an answer to the step at which it was lost or seen."""
        lines = event.lines
        if not isinstance(lines, AnswerPairs):
            side, step = self._steps.side, self._steps.step
            self.trace_app.open_trace(self.runs[side], self.rows[side], step.seq if step else None)
            return
        answer, side, row = lines.answer, lines.side, None
        if answer is not None and answer.step is not None:
            row = self._compared.row_of(side, answer.step)
        if row is None:
            self.say("this answer has no step in this trace")
            return
        self.action_answers()
        self._steps.side = side
        self._steps.go_to_row(row)

    def action_other_side(self) -> None:
        self._lines.side = 1 - self._lines.side

    def action_answers(self) -> None:
        side = self._lines.side
        self.toggle_class("-answers")
        self._lines.side = side
        self._lines.focus()

    def action_difference(self, by: int) -> None:
        row = self._steps.row
        rows = [n for n, pair in enumerate(self._compared.pairs) if not pair.same]
        ahead = [n for n in rows if (n > row if by > 0 else n < row)]
        if ahead:
            self._steps.go_to_row(ahead[0 if by > 0 else -1])
        else:
            self.say(f"no {'further' if by > 0 else 'earlier'} step differs")

    def action_question(self, by: int) -> None:
        """The next question of the left run's list that the right run has, too."""
        row = self.trace_app.neighbour(self.runs[0], self.rows[0], by)
        while row is not None:
            line = safe_line(self.runs[0], row)
            beside = self.runs[1].find(line.id, line.epoch)
            if beside is not None:
                self.rows = [row, beside]
                self.trace_app.follow(self.runs[0], row)
                self._open()
                return
            row = self.trace_app.neighbour(self.runs[0], row, by)
        self.say(f"no {'further' if by > 0 else 'earlier'} question is in both runs")

    @property
    def _view(self) -> StepView:
        return list(self.query(StepView))[self._steps.side]

    def action_passage(self, by: int) -> None:
        self._view.go_to_next(by)

    def action_scroll_step(self, by: int) -> None:
        self._view.scroll_relative(y=by, animate=False)

    def action_folds(self) -> None:
        for view in self.query(StepView):
            view.toggle_all()

    def action_fork(self) -> None:
        side, step = self._steps.side, self._steps.step
        if step is None:
            self.say(f"{self.runs[side].name} has no step here")
        else:
            self.app.push_screen(ForkScreen(self.runs[side], self._traces[side], step.seq))

    def on_run_changed(self, event: RunChanged) -> None:
        """Read again what was written to; the cursor stays on its step, or at the newest one."""
        sides = [n for n in (0, 1) if self.runs[n] is event.run and self.rows[n] in event.rows]
        if not sides or not self._traces:
            return
        step, row = self._steps.step, self._steps.row
        at_newest = any(goes_on(self._traces[n]) and row == self._compared.last(n) for n in sides)
        for side in sides:
            self._traces[side] = self._read(side)
        self._compared = compare(*self._traces)
        if at_newest:
            row = self._compared.last(sides[0])
        elif step:
            own = self._compared.row_of(self._steps.side, step.seq)
            row = row if own is None else own
        self._show_all(row, keep=True)
