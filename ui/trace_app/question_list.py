"""The list of questions, drawn line by line: its columns, their heads, its rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from textual.widget import Widget

from branchwise.base.numbers import UNKNOWN, number, short_count
from branchwise.eval.errors.labels import label_words
from branchwise.ui.trace_app.background import safe_line
from branchwise.ui.trace_app.drawing import drawn, fitted
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.runs import RunView

MARKS = {"done": " ", "failed": "✗", "running": "»", "pending": "·"}
"""What stands for an item's status before its row."""

_WIDE = 120
_ROOMY, _MAX_LABELS = 150, 72
"""Cells from which on labels take a third of what is left, and the most that they take."""


@dataclass(frozen=True)
class ListColumn:
    """A column: `sort` is what a click on its head sorts by, `width` its cells without the gap.

    `right`: numbers. `kind` names the style (`question-list--KIND`).
    """

    sort: str
    head: str
    width: int
    cell: Callable[[ItemLine], str]
    right: bool = False
    kind: str = ""


def columns_at(width: int, heads: Sequence[str]) -> tuple[ListColumn, ...]:
    """The columns for a list of this many cells; the question takes what the others leave.

    `heads` name the metrics that rows show.
    """
    wide = width >= _WIDE
    labels = min(_MAX_LABELS, 44 + max(0, width - _ROOMY) // 3) if wide else 21
    first = [
        ListColumn("status", "", 1, lambda line: MARKS.get(line.status, "?"), kind="status"),
        *(_score_column(place, head) for place, head in enumerate(heads)),
        ListColumn("labels", "labels", labels, labels_cell(labels), kind="labels"),
        ListColumn("tokens", "tokens", 9 if wide else 6, tokens_cell(short=not wide), right=True),
        ListColumn("seconds", "s", 7 if wide else 5, seconds_cell, right=True),
        ListColumn("id", "id", 28 if wide else 10, _id_cell, kind="id"),
        ListColumn("question", "question", 0, lambda line: line.question),
    ]
    taken = sum(column.width + 1 for column in first)
    first[-1] = replace(first[-1], width=max(0, width - taken))
    return tuple(first)


def _score_column(place: int, head: str) -> ListColumn:
    def cell(line: ItemLine) -> str:
        return number(line.scores[place] if line.scores else None)

    return ListColumn(head, head, 4, cell, right=True)


def labels_cell(width: int) -> Callable[[ItemLine], str]:
    """Error labels in words, as many as fit and how many more there are: `never retrieved +2`.

    A failed item says so first, since not only its mark's colour must.
    """

    def cell(line: ItemLine) -> str:
        if line.labels is None and line.status == "done":
            return "…"
        failed = ["failed"] if line.status == "failed" else []
        return _fitting([*failed, *map(label_words, line.labels or ())], width)

    return cell


def _fitting(words: Sequence[str], width: int) -> str:
    for shown in range(len(words), 0, -1):
        more = f" +{len(words) - shown}" if shown < len(words) else ""
        text = ", ".join(words[:shown]) + more
        if len(text) <= width:
            return text
    return words[0] if words else ""


def tokens_cell(*, short: bool) -> Callable[[ItemLine], str]:
    """Whole where there is room, else with a unit from 10,000 on."""

    def cell(line: ItemLine) -> str:
        if line.tokens is None:
            return UNKNOWN if line.status in ("done", "failed") else ""
        return short_count(line.tokens) if short else f"{line.tokens:,}"

    return cell


def seconds_cell(line: ItemLine) -> str:
    """One digit below 1,000 seconds."""
    if line.seconds is None:
        return UNKNOWN if line.status in ("done", "failed") else ""
    return f"{line.seconds:.1f}" if line.seconds < 999.95 else f"{line.seconds:,.0f}"


def _id_cell(line: ItemLine) -> str:
    return f"{line.id} ·{line.epoch}" if line.epoch else line.id


UP, DOWN = "▴", "▾"


class ColumnHeads(Widget):
    """One line above the list. The sorted column's head has an arrow."""

    @dataclass
    class Chosen(Message):
        """A head was clicked: the name of the sort."""

        sort: str

    def __init__(self, heads: Sequence[str]) -> None:
        super().__init__()
        self._heads, self._sort, self._descending = heads, "order", False

    def show(self, heads: Sequence[str], sort: str, *, descending: bool) -> None:
        """Show the columns of a run's task, and what the list is sorted by."""
        self._heads, self._sort, self._descending = heads, sort, descending
        self.refresh()

    def render_line(self, y: int) -> Strip:
        segments = [Segment(" ", self.rich_style)]
        for column in columns_at(self._room, self._heads):
            arrow = (DOWN if self._descending else UP) if column.sort == self._sort else ""
            head = f"{column.head[: column.width - len(arrow)]}{arrow}"
            head = head.rjust(column.width) if column.right else head
            segments.append(Segment(fitted(head, column.width) + " ", self.rich_style))
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style)

    @property
    def _room(self) -> int:
        """The cells that the list's columns have: its cursor and its scroll bar take one each."""
        return self.size.width - 2

    def on_click(self, event: Click) -> None:
        left = 1
        for column in columns_at(self._room, self._heads):
            if left <= event.x <= left + column.width:
                self.post_message(self.Chosen(column.sort))
                return
            left += column.width + 1


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
