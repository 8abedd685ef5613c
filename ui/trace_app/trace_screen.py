"""One question's trace: its steps, the selected one in full, its answers beside the gold."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from branchwise.corpora.passages import Passage
from branchwise.report.terminal.blocks import Block
from branchwise.ui.trace_app.answers_view import AnswersView
from branchwise.ui.trace_app.background import (
    READ_ERRORS,
    WORKING,
    Judging,
    RunChanged,
    RunScreen,
    safe_line,
)
from branchwise.ui.trace_app.bars import KeyBar, TraceHeader
from branchwise.ui.trace_app.dialogs import ExportScreen, Picker, offered_name
from branchwise.ui.trace_app.fork_screen import ForkScreen
from branchwise.ui.trace_app.step_tree import StepTree
from branchwise.ui.trace_app.step_view import StepView, find_place
from branchwise.ui.trace_app.terminal import page
from branchwise.ui.traces.answers import judged
from branchwise.ui.traces.plain import markdown, plain_lines
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import SIGNS, AnswerLine, Trace, first_shown, unfound_blocks
from branchwise.ui.traces.trace import blocks as blocks_of

WIDE = 140
"""The width from which the answers have a column of their own."""
NOT_JUDGED = "these answers are not judged, so there is no loss to jump to"
MAX_COPIED = 100_000
"""Characters that are copied: terminals drop longer texts."""


class TraceScreen(RunScreen):
    """Row `row` of a run, at the event `step` if one is named."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 - as Screen has it
    DEFAULT_CSS = """
    TraceScreen {
        Horizontal { height: 1fr; }
        StepTree { width: 33; border-right: solid $border-blurred; }
        StepView { width: 1fr; }
        AnswersView { width: 1fr; display: none; }
        &.-narrow.-answers StepView { display: none; }
        &.-narrow.-answers AnswersView { display: block; }
        &.-wide StepTree { width: 44; }
        &.-wide AnswersView { width: 62; display: block; border-left: solid $border-blurred; }
        &.-wide.-no-answers AnswersView { display: none; }
        &.-alone StepTree, &.-alone.-wide AnswersView { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "answers", "Answers", tooltip="Answers: gold beside predicted"),
        Binding("m", "lost(1)", "Missing", tooltip="To where the next missing answer was lost"),
        Binding(
            "M", "lost(-1)", "Missing", show=False, tooltip="To where the previous one was lost"
        ),
        Binding("n", "neighbour(1)", "Next", tooltip="The next question of the list"),
        Binding("p", "neighbour(-1)", "Before", tooltip="The previous question of the list"),
        Binding("enter,right", "read", "Read", show=False, tooltip="From the steps to the text"),
        Binding("space", "fold", "Fold", show=False, tooltip="Open or close a folded part"),
        Binding("r", "folds", "Folds", show=False, tooltip="Open or close all folded parts"),
        Binding("J", "part(1)", "Part", show=False, tooltip="To the next passage of the step"),
        Binding("K", "part(-1)", "Part", show=False, tooltip="To the previous passage"),
        Binding("y", "copy", "Copy", show=False, tooltip="Copy the step as plain text"),
        Binding(
            "o", "pager", "Pager", show=False, tooltip="Open the part under the cursor in $PAGER"
        ),
        Binding("e", "export", "Export", show=False, tooltip="Write the trace as Markdown"),
        Binding("f", "fork", "Fork", tooltip="Run the rest again from this step, changed"),
        Binding("c", "compare", "Compare", tooltip="The same question in another run"),
        Binding("escape", "close_answers", show=False, tooltip="Close the answers"),
        Binding("z", "alone", "Zoom", show=False, tooltip="Show the step over the full width"),
    ]

    def __init__(self, run: RunView, row: int, step: int | None = None) -> None:
        super().__init__()
        self.run, self.row = run, row
        self.trace: Trace | None = None
        self._step = step
        self._seen: dict[int, Sequence[Block]] = {}
        self._wish = 0
        """The direction in which to jump to a loss once it is known where answers were lost."""
        self._header, self._tree = TraceHeader(), StepTree()
        self._view, self._answers = StepView(), AnswersView()

    @property
    def step(self) -> int | None:
        return self._tree.selected

    def compose(self) -> ComposeResult:
        yield self._header
        yield Horizontal(self._tree, self._view, self._answers)
        yield KeyBar()

    def on_mount(self) -> None:
        self._tree.focus()
        self._judging = Judging(self.app, self._unjudged)
        self.call_after_refresh(self._show, self._step)

    @on(StepTree.Selected)
    def _step_selected(self) -> None:
        self._wish = 0
        self._view.show(self._blocks())
        self._header.note(self._waiting)

    @on(AnswersView.Jump)
    def _answer_chosen(self, event: AnswersView.Jump) -> None:
        self._jump(event.answer)

    def on_run_changed(self, event: RunChanged) -> None:
        """Reread the same trace; a cursor on its last step moves on to the newest."""
        if event.run is not self.run or self.row not in event.rows:
            return
        selected, following = self._tree.selected, self._tree.cursor >= self._tree.length - 1
        self._read()
        steps = self.trace.steps if self.trace else ()
        newest = steps[-1].seq if steps else None
        self._show_steps(newest if following else selected)
        self._show_answers(keep=True)
        self._view.show(self._blocks(), keep=self._tree.selected == selected)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Keep what has the focus visible when the window becomes narrow."""
        if self.has_class("-wide"):
            self.set_class(isinstance(event.widget, AnswersView), "-answers")

    def action_answers(self) -> None:
        wide = self.has_class("-wide")
        self.remove_class("-alone")
        self.toggle_class("-no-answers" if wide else "-answers")
        shown = not self.has_class("-no-answers") if wide else self.has_class("-answers")
        if shown:
            # It must not be hidden again when the window becomes wide.
            self.remove_class("-no-answers")
        (self._answers if shown else self._tree).focus()

    def action_close_answers(self) -> None:
        self.action_answers()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Escape closes answers shown in place of the step; else it leaves the trace."""
        if action == "close_answers":
            return self.has_class("-answers") and not self.has_class("-wide")
        return True

    def action_lost(self, direction: int) -> None:
        if self._waiting:
            self._wish = direction
            self._header.note(f"{self._waiting} (then jumps there)")
            return
        if answer := self._answers.next_lost(direction):
            self._jump(answer)
        else:
            is_open = any(line.verdict == "open" for line in self._answers.answers)
            self._header.note(NOT_JUDGED if is_open else "no gold answer is missing")

    def action_neighbour(self, by: int) -> None:
        row = self.trace_app.neighbour(self.run, self.row, by)
        if row is None:
            self.say("this is the last question" if by > 0 else "this is the first question")
            return
        self.trace_app.follow(self.run, row)
        self.row = row
        self._show()

    def action_read(self) -> None:
        self.remove_class("-answers")
        self._view.focus()

    def action_fold(self) -> None:
        self._view.toggle_first_fold()

    def action_folds(self) -> None:
        self._view.toggle_all()

    def action_part(self, direction: int) -> None:
        self._view.go_to_next(direction)

    def action_alone(self) -> None:
        self.remove_class("-answers")
        self.toggle_class("-alone")
        if self.has_class("-alone"):
            self._view.focus()

    def action_copy(self) -> None:
        text = "\n".join(plain_lines(self._view.blocks))
        self.app.copy_to_clipboard(text[:MAX_COPIED])
        more = f", the first of {len(text):,}" if len(text) > MAX_COPIED else ""
        self.say(f"copied {min(len(text), MAX_COPIED):,} characters{more}")

    def action_pager(self) -> None:
        current = self._view.current
        blocks = self._view.blocks if current is None else self._view.blocks[current : current + 1]
        if blocks:
            try:
                page(self.app, "\n".join(plain_lines(blocks)))
            except READ_ERRORS as error:
                self.trace_app.fail(error)

    def action_export(self) -> None:
        if self._waiting:
            self.say(self._waiting)
        elif self.trace is not None:
            line = self.trace.line
            name = offered_name(self.run.name, line.id, line.epoch)
            text = markdown(self.trace, self.run.name, self.run.heads)
            self.app.push_screen(ExportScreen(text, name), self._exported)

    def _exported(self, path: Path | None) -> None:
        if path is not None:
            self.say(f"written to {path}")

    def action_compare(self) -> None:
        others = [run for run in self.trace_app.runs if run is not self.run]

        def chosen(number: str | None) -> None:
            if number is not None:
                self.trace_app.compare(self.run, self.row, others[int(number)])

        if not others:
            self.say("only one run is open: name another one after `branchwise trace`")
        elif len(others) == 1:
            chosen("0")
        else:
            choices = [(run.name, str(number)) for number, run in enumerate(others)]
            self.app.push_screen(Picker("Compare with", choices), chosen)

    def action_fork(self) -> None:
        if self.trace is not None and self.step is not None:
            self.app.push_screen(ForkScreen(self.run, self.trace, self.step))

    def _show(self, step: int | None = None) -> None:
        self._wish = 0
        self._read()
        self._header.note(self._waiting)
        self._show_steps(step)
        self._show_answers(keep=False)
        self._view.show(self._blocks())
        if step is not None and self._tree.selected != step:
            self._header.note(f"no step {step}: this is the first")

    def _show_steps(self, step: int | None) -> None:
        if self.trace is None:
            self._tree.show((), nothing="cannot be read")
        else:
            self._tree.show(self.trace.steps, first_shown(self.trace) if step is None else step)

    def _show_answers(self, *, keep: bool) -> None:
        branches = self.trace.branches if self.trace else ()
        note = self._waiting or (self.trace.gold_set if self.trace else "")
        self._answers.show(branches, keep=keep, note=note)

    @property
    def _waiting(self) -> str:
        """The note shown until it is known where answers were lost."""
        return WORKING if self.trace is not None and self.trace.unjudged else ""

    def _judged(self, result: Trace) -> None:
        if self.trace is not None and self.is_attached:
            self._settle(judged(self.trace, result.errors))

    def _unjudged(self, error: Exception) -> None:
        self.trace_app.fail(error)
        if self.trace is not None and self.is_attached:
            self._settle(replace(self.trace, unjudged=None))

    def _settle(self, trace: Trace) -> None:
        """Show the judged trace; step and answer stay, unless the user asked for a loss."""
        self.trace = trace
        if self._header.noted.startswith(WORKING):
            self._header.note()
        self._show_answers(keep=True)
        # Wrong answers are marked in the step, too.
        self._seen.clear()
        self._view.show(self._blocks(), keep=True)
        wish, self._wish = self._wish, 0
        if wish:
            self.action_lost(wish)

    def _read(self) -> None:
        self._seen.clear()
        try:
            trace = self.run.trace(self.row, judge=False)
            self.trace = self._judging.begin(trace, self._judged)
        except READ_ERRORS as error:
            self.trace = None
            self.trace_app.fail(error)
        line = self.trace.line if self.trace else safe_line(self.run, self.row)
        self._header.show(line, self.run.name, self.run.heads)

    def _blocks(self) -> Sequence[Block]:
        """The selected step's blocks; those of this trace are kept, for going back and forth."""
        step = self._tree.selected
        if self.trace is None or step is None:
            return ()
        if step not in self._seen:
            self._seen[step] = blocks_of(self.trace, step)
        return self._seen[step]

    def _jump(self, answer: AnswerLine) -> None:
        """To the step where an answer was lost, with the passage or row in view that names it."""
        shown = f"{SIGNS[answer.verdict]} {answer.text}"
        place = answer.places[0] if answer.places else None
        step = answer.step if place is None else place.step
        if self.trace is not None and answer.in_corpus:
            # Its index may have an encoder to load.
            self.run_worker(partial(self._rank, self.trace, shown, answer), thread=True)
        if step is None or self.trace is None:
            self._header.note(f"{shown}: {answer.why or 'nothing to jump to'}")
            return
        self.remove_class("-answers")
        if self.has_class("-narrow") and self._answers.has_focus:
            self._view.focus()
        self._tree.show(self.trace.steps, step)
        blocks = self._blocks()
        self._view.show(blocks)
        forms = next((forms for forms in self.trace.names if answer.text in forms), [answer.text])
        if place is not None and (block := find_place(blocks, place, forms)) is not None:
            self._view.show_block(*block)
        self._header.note(f"{shown}: {answer.why}" if answer.why else shown)

    def _rank(self, trace: Trace, shown: str, answer: AnswerLine) -> None:
        """Add to what is said of an answer how high the searches rank the passage that has it,
        and show the passage."""
        words, passage = self.run.unfound(trace, answer.in_corpus or "")
        if self._header.noted == f"{shown}: {answer.why}":
            self.app.call_from_thread(self._show_unfound, trace, answer, words, passage)

    def _show_unfound(
        self, trace: Trace, answer: AnswerLine, words: str, passage: Passage | None
    ) -> None:
        why = ", ".join(filter(None, (answer.why, words)))
        self._header.note(f"{SIGNS[answer.verdict]} {answer.text}: {why}")
        if passage is not None:
            self._view.show(unfound_blocks(trace, answer, passage, words))
