"""The list of questions, drawn line by line: only rows on the screen are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from branchwise.ui.trace_app.cells import drawn, fitted
from branchwise.ui.trace_app.reading import safe_line
from branchwise.ui.trace_app.widgets.question_columns import ListColumn, columns_at
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.runs import RunView

CURSOR = "›"


class QuestionList(ScrollView, can_focus=True):
    """Rows of a run in an order that is given; the cursor is an index into that order."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "question-list--cursor",
        "question-list--blurred",
        "question-list--failed",
        "question-list--status",
        "question-list--labels",
        "question-list--id",
        "question-list--unended",
        "question-list--nothing",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", tooltip="Open the question's trace"),
        Binding("down,j", "move(1)", "Down", show=False, tooltip="To the next question"),
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="To the previous question"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, tooltip="A screen down"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="A screen up"),
        Binding("home,g", "move_to(0)", "First", show=False, tooltip="To the first question"),
        Binding("end,G", "move_to(-1)", "Last", show=False, tooltip="To the last question"),
    ]
    cursor: reactive[int] = reactive(0)

    @dataclass
    class Opened(Message):
        """A row of the run was opened."""

        row: int

    @dataclass
    class Moved(Message):
        """The cursor is on another row of the run, or on none."""

        row: int | None

    def __init__(self, run: RunView, heads: Sequence[str], id: str | None = None) -> None:
        super().__init__(id=id)
        self.run, self.heads = run, heads
        self.rows: Sequence[int] = range(run.count)
        self.nothing: Sequence[str] = ()
        self._columns: tuple[ListColumn, ...] = ()

    @property
    def row(self) -> int | None:
        """The run's row under the cursor."""
        return self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None

    @property
    def columns(self) -> tuple[ListColumn, ...]:
        """The columns as they are now."""
        return self._columns

    def show(
        self, run: RunView, heads: Sequence[str], rows: Sequence[int], on: int | None = None
    ) -> None:
        """Show these rows; the cursor goes to row `on`, or stays about where it was."""
        same_run = run is self.run
        self.run, self.heads, self.rows = run, heads, rows
        place = _index(rows, on)
        height = self.cursor - self.scroll_offset.y
        self._lay_out()
        self.set_reactive(QuestionList.cursor, min(self.cursor, max(0, len(rows) - 1)))
        if place is not None:
            self.set_reactive(QuestionList.cursor, place)
        if same_run:
            # The question stays at its line on the screen while others come and go around it.
            self.scroll_to(y=max(0, self.cursor - max(0, height)), animate=False)
        self._into_view()
        self.refresh()
        self.post_message(self.Moved(self.row))

    def go_to(self, row: int) -> None:
        """Put the cursor on a row of the run, if it is shown."""
        place = _index(self.rows, row)
        if place is not None:
            self.cursor = place

    def repaint(self, rows: frozenset[int]) -> None:
        """These rows changed: draw those again that are on the screen."""
        top = self.scroll_offset.y
        for index in range(top, min(top + self.size.height, len(self.rows))):
            if self.rows[index] in rows:
                self.refresh_line(index)

    def render_line(self, y: int) -> Strip:
        index = self.scroll_offset.y + y
        width = self.size.width
        if index < len(self.rows):
            return self._row_strip(index).adjust_cell_length(width, self.rich_style)
        if not self.rows and y < len(self.nothing):
            style = self.rich_style + self._style("nothing")
            return Strip([Segment(fitted(f"  {self.nothing[y]}", width), style)], width)
        return Strip.blank(width, self.rich_style)

    def _row_strip(self, index: int) -> Strip:
        line = safe_line(self.run, self.rows[index])
        cursor = index == self.cursor
        segments = [Segment(CURSOR if cursor else " ", self._cell_style(line, "", cursor))]
        for column in self._columns:
            text = drawn(column.cell(line)[: 4 * column.width])
            text = text.rjust(column.width) if column.right else text
            style = self._cell_style(line, column.kind, cursor)
            segments.append(Segment(fitted(text, column.width) + " ", style))
        return Strip(segments)

    def _cell_style(self, line: ItemLine, kind: str, cursor: bool) -> Style:
        if cursor:
            return self.rich_style + self._style("cursor" if self.has_focus else "blurred")
        if line.status == "failed" and kind in ("status", "labels"):
            return self.rich_style + self._style("failed")
        if line.status in ("pending", "running") and kind != "status":
            return self.rich_style + self._style("unended")
        return self.rich_style + self._style(kind) if kind else self.rich_style

    def _style(self, kind: str) -> Style:
        return self.get_component_rich_style(f"question-list--{kind}", partial=True)

    def _lay_out(self) -> None:
        self._columns = columns_at(self.scrollable_content_region.width - 1, self.heads)
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.rows))

    def on_resize(self, event: Resize) -> None:
        self._lay_out()
        self._into_view()

    def on_focus(self) -> None:
        self.refresh_line(self.cursor)

    def on_blur(self) -> None:
        self.refresh_line(self.cursor)

    def on_click(self, event: Click) -> None:
        index = self.scroll_offset.y + event.y
        if index < len(self.rows):
            self.cursor = index
            if event.chain == 2:
                self.action_open()

    def watch_cursor(self, before: int, now: int) -> None:
        self.refresh_line(before)
        self.refresh_line(now)
        self._into_view()
        self.post_message(self.Moved(self.row))

    def _into_view(self) -> None:
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif height and self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)

    def action_open(self) -> None:
        if self.row is not None:
            self.post_message(self.Opened(self.row))

    def action_move(self, by: int) -> None:
        self.cursor = max(0, min(len(self.rows) - 1, self.cursor + by))

    def action_page(self, by: int) -> None:
        self.action_move(by * max(1, self.scrollable_content_region.height - 1))

    def action_move_to(self, index: int) -> None:
        self.cursor = max(0, index if index >= 0 else len(self.rows) - 1)


def _index(rows: Sequence[int], row: int | None) -> int | None:
    """Where a row stands in the order."""
    if row is None:
        return None
    try:
        return rows.index(row)
    except ValueError:
        return None
