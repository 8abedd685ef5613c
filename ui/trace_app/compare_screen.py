"""Two runs on the same question: their steps side by side, where they part, their answers."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from branchwise.report.terminal.blocks import Block
from branchwise.ui.trace_app.background import READ_ERRORS, WORKING, Judging, RunChanged, safe_line
from branchwise.ui.trace_app.bars import KeyBar
from branchwise.ui.trace_app.drawing import drawn
from branchwise.ui.trace_app.fork_screen import ForkScreen
from branchwise.ui.trace_app.pairs import AnswerPairs, PairedLines, PairHeads, StepPairs
from branchwise.ui.trace_app.step_view import StepView
from branchwise.ui.traces.answers import judged
from branchwise.ui.traces.comparison import TraceComparison, compare, compare_answers
from branchwise.ui.traces.lines import RunLine
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import Trace, blocks

if TYPE_CHECKING:
    from branchwise.ui.trace_app.app import TraceApp


BOTH_STEPS = 140
"""The width from which the other side's step is shown beside the focused side's."""


class CompareScreen(Screen[None]):
    """Row `row_a` of a run beside row `row_b` of another: the same question and epoch.

    The cursor begins on `side` 0 or 1, or on the only side that goes on.
    """

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
        nothing = (RunLine(run.name, "", run.count, 0, 0) for run in self.runs)
        self._summaries: list[RunLine] = list(nothing)
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
            self._say(WORKING)
        steps = self.query_one(StepPairs)
        steps.focus()
        only_other_goes_on = _goes_on(self._traces[1]) and not _goes_on(self._traces[0])
        steps.side = 1 if only_other_goes_on else self._first_side

    @property
    def trace_app(self) -> "TraceApp":
        """The app, with what it knows about runs."""
        return cast("TraceApp", self.app)

    def _open(self) -> None:
        """Read both traces of another question; the cursor goes to where they part."""
        self._traces, self._shown = [self._read(side) for side in (0, 1)], [None, None]
        self._compared = compare(*self._traces)
        parted = self._compared.parted
        row = self._last_shared() if parted is None else parted
        self._show_all(row, keep=False)
        self.call_after_refresh(self.query_one(StepPairs).go_to_row, row)

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

    def _judged(self, side: int, found: Trace) -> None:
        """Show where a side's answers were lost; the cursors stay."""
        if self.is_attached:
            self._traces[side] = judged(self._traces[side], found.errors)
            self._show_all(self.query_one(StepPairs).row, keep=True)

    def _last_shared(self) -> int:
        """The last row that both sides have; after it only one of them continues."""
        both = [n for n, pair in enumerate(self._compared.pairs) if pair.a and pair.b]
        return both[-1] if both else 0

    def _show_all(self, row: int, *, keep: bool) -> None:
        a, b = self._traces
        epoch = f"  epoch {a.line.epoch}" if a.line.epoch else ""
        said = Content(drawn(f"{a.line.id}{epoch}  {a.line.question}"))
        self.query_one("#compared-question", Static).update(said)
        self.query_one(StepPairs).show(self._compared, row)
        names = (self.runs[0].name, self.runs[1].name)
        self.query_one(AnswerPairs).show(compare_answers(a, b), names, keep=keep)
        self._show_side()

    def _show_side(self) -> None:
        """Update what depends on the cursor: the marked side, and the step in full."""
        side = self.query_one(AnswerPairs if self._answers else StepPairs).side
        items = (self._traces[0].line, self._traces[1].line)
        heads = (self.runs[0].heads, self.runs[1].heads)
        self.query_one(PairHeads).show(self._summaries, items, heads, side)
        self._show_steps()

    def _show_steps(self) -> None:
        """The step under the cursor, where it is seen: of the focused side, or of both."""
        steps = self.query_one(StepPairs)
        for side, view in enumerate(self.query(StepView)):
            view.set_class(side == steps.side, "-focused-side")
            if side != steps.side and self.size.width < BOTH_STEPS:
                continue
            step = steps.step_of(side)
            seq = step.seq if step else -1
            found = blocks(self._traces[side], seq) if step else [self._none(side)]
            view.show(found, keep=seq == self._shown[side])
            self._shown[side] = seq

    def _none(self, side: int) -> Block:
        return Block("note", f"{drawn(self.runs[side].name)} has no step here")

    @property
    def _answers(self) -> bool:
        """Whether the answers are shown in place of the steps."""
        return self.has_class("-answers")

    @property
    def _view(self) -> StepView:
        """The step of the focused side."""
        return list(self.query(StepView))[self.query_one(StepPairs).side]

    def on_resize(self, _: events.Resize) -> None:
        if self._traces:
            self._show_steps()

    @on(PairedLines.Moved)
    def _moved(self) -> None:
        if self._traces:
            self._show_side()

    @on(PairedLines.Opened)
    def _opened(self, event: PairedLines.Opened) -> None:
        """From a step to its trace; from an answer to the step at which it was lost or seen."""
        if isinstance(event.lines, AnswerPairs):
            self._to_answer(event.lines)
            return
        steps = self.query_one(StepPairs)
        side, step = steps.side, steps.step
        self.trace_app.open_trace(self.runs[side], self.rows[side], step.seq if step else None)

    def _to_answer(self, answers: AnswerPairs) -> None:
        line, side = answers.answer, answers.side
        row = None
        if line is not None and line.step is not None:
            row = self._compared.row_of(side, line.step)
        if row is None:
            self._say("this answer has no step in this trace")
            return
        self.action_answers()
        steps = self.query_one(StepPairs)
        steps.side = side
        steps.go_to_row(row)

    def action_other_side(self) -> None:
        lines = self.query_one(AnswerPairs if self._answers else StepPairs)
        lines.side = 1 - lines.side

    def action_answers(self) -> None:
        self.toggle_class("-answers")
        pair: list[PairedLines] = [self.query_one(StepPairs), self.query_one(AnswerPairs)]
        shown, hidden = pair[self._answers], pair[not self._answers]
        shown.side = hidden.side
        shown.focus()

    def action_difference(self, by: int) -> None:
        steps = self.query_one(StepPairs)
        rows = [n for n, pair in enumerate(self._compared.pairs) if not pair.same]
        ahead = [n for n in rows if (n > steps.row if by > 0 else n < steps.row)]
        if ahead:
            steps.go_to_row(ahead[0 if by > 0 else -1])
        else:
            self._say(f"no {'further' if by > 0 else 'earlier'} step differs")

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
        self._say(f"no {'further' if by > 0 else 'earlier'} question is in both runs")

    def action_passage(self, by: int) -> None:
        self._view.go_to_next(by, passages=True)

    def action_scroll_step(self, by: int) -> None:
        self._view.scroll_relative(y=by, animate=False)

    def action_folds(self) -> None:
        for view in self.query(StepView):
            view.toggle_all()

    def action_fork(self) -> None:
        steps = self.query_one(StepPairs)
        side, step = steps.side, steps.step
        if step is None:
            self._say(f"{self.runs[side].name} has no step here")
        else:
            self.app.push_screen(ForkScreen(self.runs[side], self._traces[side], step.seq))

    def _say(self, text: str) -> None:
        self.notify(drawn(text[:300]), markup=False, timeout=4)

    def on_run_changed(self, event: RunChanged) -> None:
        """Read again what was written to; the cursor stays on its step, or at the newest one."""
        sides = [n for n in (0, 1) if self.runs[n] is event.run and self.rows[n] in event.rows]
        if not sides or not self._traces:
            return
        steps = self.query_one(StepPairs)
        step, row, at_end = steps.step, steps.row, self._at_newest(sides)
        for side in sides:
            self._traces[side] = self._read(side)
        self._compared = compare(*self._traces)
        found = self._compared.row_of(steps.side, step.seq) if step else row
        if at_end:
            found = self._newest(sides[0])
        self._show_all(row if found is None else found, keep=True)

    def _newest(self, side: int) -> int:
        written = [n for n, pair in enumerate(self._compared.pairs) if pair.side(side)]
        return written[-1] if written else 0

    def _at_newest(self, sides: list[int]) -> bool:
        """Whether the cursor is where a trace that goes on is written."""
        row = self.query_one(StepPairs).row
        return any(_goes_on(self._traces[side]) and row == self._newest(side) for side in sides)


def _goes_on(trace: Trace) -> bool:
    return trace.line.status in ("pending", "running")
