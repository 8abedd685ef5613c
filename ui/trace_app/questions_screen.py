"""The first screen: the runs above, the questions of the chosen one below."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widgets import Input

from branchwise.eval.errors.labels import label_words
from branchwise.report.terminal.cells import run_name
from branchwise.ui.trace_app.background import RunAdded, RunChanged, RunScreen, safe_line
from branchwise.ui.trace_app.bars import FilterBar, KeyBar, RunStrip, in_words
from branchwise.ui.trace_app.dialogs import Picker
from branchwise.ui.trace_app.question_list import ColumnHeads, QuestionList
from branchwise.ui.traces.lines import SUBSETS, Arrangement, ItemLine, RunLine, arranged, sorts
from branchwise.ui.traces.runs import RunView

_NOTHING_LEFT = ("No question matches these filters.", "Press x to clear them.")
CATCH_UP_SECONDS = 0.25


class QuestionsScreen(RunScreen):
    """Chooses a run, arranges its questions, opens one."""

    DEFAULT_CSS = "#search { height: 1; border: none; padding: 0 1; display: none; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash", "find", "Find", key_display="/", priority=True,
            tooltip="Only questions that contain certain words",
        ),
        Binding(
            "enter", "keep_matches", "Keep the matches", priority=True,
            tooltip="To the list of matches",
        ),
        Binding("s", "sort(1)", "Sort", tooltip="Sort by the next column"),
        Binding("S", "reverse", "Reverse", show=False, tooltip="Reverse the order"),
        Binding("b", "subset", "Subset", tooltip="All, ambiguous or unambiguous questions"),
        Binding("l", "label", "Label", tooltip="Only questions with an error label"),
        Binding("t", "status", "Status", tooltip="Only done, failed, running or pending questions"),
        Binding("d", "differs", "Differs", tooltip="Only questions that end differently elsewhere"),
        Binding("x", "clear", "Clear", tooltip="Clear all filters, back to the run's order"),
        Binding("c", "compare", "Compare", tooltip="Compare this question with another run's"),
        Binding("tab,right_square_bracket", "run(1)", "Run", tooltip="The next run"),
        Binding(
            "shift+tab,left_square_bracket", "run(-1)", "Run before", show=False,
            tooltip="The previous run",
        ),
        Binding("q", "app.leave", "Quit", tooltip="Quit"),
        Binding(
            "escape", "drop_matches", "Show all", priority=True,
            tooltip="Back to the list, without the words",
        ),
        Binding("escape", "stay", show=False),
    ]  # fmt: skip

    def __init__(self, runs: list[RunView]) -> None:
        super().__init__()
        self._runs, self._index = runs, 0
        self._how = Arrangement()
        self._other: RunView | None = None
        self._rows: Sequence[int] = range(runs[0].count)
        self._begin_on: int | None = None
        self._lines_of_runs: Sequence[RunLine] = ()
        self._known: set[RunView] = set()
        self._catching_up: Timer | None = None

    def compose(self) -> ComposeResult:
        yield RunStrip()
        yield FilterBar()
        yield Input(placeholder="words in the id or the question", id="search", compact=True)
        yield ColumnHeads(self.run.heads)
        yield QuestionList(self.run)
        yield KeyBar()

    def on_mount(self) -> None:
        self._list.focus()
        self._arrange(self._begin_on)
        self._show_runs()

    @property
    def run(self) -> RunView:
        return self._runs[self._index]

    @property
    def _list(self) -> QuestionList:
        return self.query_one(QuestionList)

    @property
    def _search(self) -> Input:
        return self.query_one("#search", Input)

    def rows_of(self, run: RunView) -> Sequence[int]:
        """A run's rows as they are listed; in the store's order if another run is listed."""
        return self._rows if run is self.run else range(run.count)

    def follow(self, run: RunView, row: int) -> None:
        if run is self.run and self._is_mounted:
            self._list.go_to(row)
        elif run is self.run:
            self._begin_on = row

    # What is shown

    def _arrange(self, on: int | None = None) -> None:
        """Put the rows in order; the cursor stays on its question, or goes to row `on`."""
        run = self.run
        on = self._list.row if on is None else on
        rows: Sequence[int] | None = range(run.count)
        if self._how != Arrangement():
            rows = self.trace_app.read(lambda: arranged(run, self._how, self._other))
        self._rows = range(run.count) if rows is None else rows
        self._list.nothing = _NOTHING_LEFT if run.count else ("This run has no questions.",)
        self._list.show(run, self._rows, on, self._how.sort)
        heads = self.query_one(ColumnHeads)
        heads.show(run.heads, self._how.sort, descending=self._how.descending)
        self._show_bar()

    def _show_bar(self) -> None:
        other = self._other.name if self._other else None
        words = in_words(self._how, len(self._rows), self.run.count, other, self.run.task)
        line = self._lines_of_runs[self._index] if self._lines_of_runs else None
        unfinished = line is not None and line.done + line.failed < line.total
        again = "followed" if self.trace_app.live else "^r reads it again"
        self.query_one(FilterBar).show(words, again if unfinished else "")

    def _show_runs(self) -> None:
        """Show the runs; means that were not saved wait until all rows were read."""
        lines = self.trace_app.read(
            lambda: [run.summary(quick=run not in self._known) for run in self._runs]
        )
        if lines is not None:
            self._lines_of_runs = lines
            self.query_one(RunStrip).show(lines, self._index)
            self._show_bar()

    def _change(self, **fields: object) -> None:
        self._how = replace(self._how, **fields)  # type: ignore[arg-type]
        self._arrange()

    def on_run_changed(self, message: RunChanged) -> None:
        """Draw changed rows; what costs more is done once for all recent changes."""
        self._known.add(message.run)
        if message.run is self.run and self._how == Arrangement():
            self._list.repaint(message.rows)
        if self._catching_up is None:
            self._catching_up = self.set_timer(CATCH_UP_SECONDS, self._catch_up)

    def _catch_up(self) -> None:
        self._catching_up = None
        if self._how != Arrangement():
            self._arrange()
        self._show_runs()

    def on_run_added(self, message: RunAdded) -> None:
        self._show_runs()
        self.refresh_bindings()

    def on_resize(self) -> None:
        self._show_runs()

    # What is chosen

    def on_question_list_opened(self, message: QuestionList.Opened) -> None:
        self.trace_app.open_trace(self.run, message.row)

    def on_run_strip_chosen(self, message: RunStrip.Chosen) -> None:
        self._choose(message.index)

    def on_column_heads_chosen(self, message: ColumnHeads.Chosen) -> None:
        if message.sort == self._how.sort:
            self.action_reverse()
        else:
            self._change(sort=message.sort, descending=False)

    def action_run(self, by: int) -> None:
        self._choose((self._index + by) % len(self._runs))

    def _choose(self, index: int) -> None:
        """List another run; the cursor stays on the same question where it has it."""
        row = self._list.row
        line = safe_line(self.run, row) if row is not None else None
        self._index = index
        if self._other is self.run:
            self._other, self._how = None, replace(self._how, differs=False)
        if self._how.sort not in sorts(self.run.heads):
            self._how = replace(self._how, sort="order")
        own = self.trace_app.read(lambda: self.run.find(line.id, line.epoch)) if line else None
        self._arrange(own)
        self._show_runs()

    def action_sort(self, by: int) -> None:
        known = sorts(self.run.heads)
        sort = known[(known.index(self._how.sort) + by) % len(known)]
        self._change(sort=sort, descending=False)

    def action_reverse(self) -> None:
        self._change(descending=not self._how.descending)

    def action_subset(self) -> None:
        self._change(subset=SUBSETS[(SUBSETS.index(self._how.subset) + 1) % len(SUBSETS)])

    def action_clear(self) -> None:
        self._other = None
        self._search.value = ""
        self._how = Arrangement()
        self._arrange()

    def action_label(self) -> None:
        labels = Counter(label for line in self._lines() for label in line.labels or ())
        self._pick("Error label", labels, "label", self._how.label)

    def action_status(self) -> None:
        statuses = Counter(line.status for line in self._lines())
        self._pick("Status", statuses, "status", self._how.status)

    def _lines(self) -> Sequence[ItemLine]:
        return self.trace_app.read(self.run.lines) or ()

    def _pick(self, title: str, counts: Mapping[str, int], field: str, now: str | None) -> None:
        """Choose what a field of the arrangement has to be; "" stands for any."""
        choices = [(f"{self.run.count:>7,}  any", "")]
        choices += [(f"{n:>7,}  {label_words(name)}", name) for name, n in sorted(counts.items())]

        def chosen(value: str | None) -> None:
            if value is not None:
                self._change(**{field: value or None})

        self.app.push_screen(Picker(title, choices, now), chosen)

    def action_differs(self) -> None:
        def differ(other: RunView) -> None:
            self._other = other
            self._change(differs=True)

        if self._how.differs:
            self._other = None
            self._change(differs=False)
        else:
            self._pick_run("Differs from", differ)

    def action_compare(self) -> None:
        if (row := self._list.row) is not None:
            self._pick_run("Compare with", partial(self.trace_app.compare, self.run, row))

    def _pick_run(self, title: str, then: Callable[[RunView], None]) -> None:
        """Choose a run other than the listed one, without asking if there is only one."""
        others = [run for run in self._runs if run is not self.run]
        if len(others) == 1:
            then(others[0])
            return

        def chosen(value: str | None) -> None:
            if value is not None:
                then(others[int(value)])

        choices = [(run_name(run.name), str(n)) for n, run in enumerate(others)]
        self.app.push_screen(Picker(title, choices), chosen)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that need a second run are there only with one. Finding begins and ends before
        the next key is read (`priority`): it would else go to the list, or to the words."""
        if action in ("find", "keep_matches", "drop_matches"):
            finding = isinstance(self.focused, Input)
            return finding == (action != "find")
        return action not in ("run", "differs", "compare") or len(self._runs) > 1

    # Finding

    def action_find(self) -> None:
        # At once, not when styles are next computed: the next key press is already meant for it.
        self._search.display = True
        self.set_focus(self._search)

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value != self._how.text:
            self._change(text=event.value)

    def action_keep_matches(self) -> None:
        self._search.display = False
        self.set_focus(self._list)

    def action_drop_matches(self) -> None:
        self._search.value = ""
        self.action_keep_matches()

    def action_stay(self) -> None:
        """Escape does not leave the list: `q` does."""
