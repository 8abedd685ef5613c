"""The list of questions, drawn line by line: its columns, their heads, its rows.

Not a DataTable, which reads every row before it shows one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from branchwise.base.numbers import UNKNOWN, number, short_count
from branchwise.eval.errors.labels import label_words
from branchwise.ui.trace_app.background import safe_line
from branchwise.ui.trace_app.drawing import drawn, fitted
from branchwise.ui.trace_app.step_tree import CursorList, walking
from branchwise.ui.traces.lines import ItemLine, named
from branchwise.ui.traces.runs import RunView

CURSOR = "›"
UP, DOWN = "▴", "▾"
MARKS = {"done": " ", "failed": "✗", "running": "»", "pending": "·"}
"""What stands for an item's status before its row."""
_NARROW, _WIDE = 100, 120
_ROOMY, _MAX_LABELS = 150, 72
"""Cells from which on labels take a third of what is left, and the most that they take."""


@dataclass(frozen=True)
class ListColumn:
    """A column: `sort`: what a click on its head sorts by; `width`: without the gap; `right`:
    numbers; `kind` names the style (`question-list--KIND`)."""

    sort: str
    head: str
    width: int
    cell: Callable[[ItemLine], str]
    right: bool = False
    kind: str = ""


def columns_at(width: int, heads: Sequence[str], sort: str = "") -> list[ListColumn]:
    """The columns at so many cells, with the metrics `heads`; the question takes what is left. On
    a narrow screen costs and ids are left to the trace, unless they are what rows are sorted by."""
    wide = width >= _WIDE
    labels = min(_MAX_LABELS, 44 + max(0, width - _ROOMY) // 3) if wide else 21
    left_out = {"tokens", "seconds", "id"} - {sort} if width < _NARROW else set()
    tokens = partial(_tokens_cell, whole=wide)
    columns = [
        ListColumn("status", "", 1, lambda line: MARKS.get(line.status, "?"), kind="status"),
        *(ListColumn(h, h, 4, partial(_score_cell, n), right=True) for n, h in enumerate(heads)),
        ListColumn("labels", "labels", labels, partial(_labels_cell, labels), kind="labels"),
        ListColumn("tokens", "tokens", 9 if wide else 6, tokens, right=True),
        ListColumn("seconds", "s", 7 if wide else 5, seconds_cell, right=True),
        ListColumn("id", "id", 28 if wide else 10, _id_cell, kind="id"),
    ]
    columns = [column for column in columns if column.sort not in left_out]
    left = max(0, width - 1 - sum(column.width + 1 for column in columns))
    return [*columns, ListColumn("question", "question", left, lambda line: line.question)]


def _score_cell(index: int, line: ItemLine) -> str:
    return number(line.scores[index] if line.scores else None)


def _labels_cell(width: int, line: ItemLine) -> str:
    """As many labels as fit and how many more there are; that an item failed comes first."""
    if line.labels is None and line.status == "done":
        return "…"
    words = ["failed"] if line.status == "failed" else []
    words += map(label_words, line.labels or ())
    for shown in range(len(words), 0, -1):
        more = f" +{len(words) - shown}" if shown < len(words) else ""
        text = ", ".join(words[:shown]) + more
        if len(text) <= width:
            return text
    return words[0] if words else ""


def _tokens_cell(line: ItemLine, *, whole: bool) -> str:
    """Whole where there is room, else with a unit from 10,000 on."""
    if line.tokens is None:
        return UNKNOWN if line.status in ("done", "failed") else ""
    return f"{line.tokens:,}" if whole else short_count(line.tokens)


def seconds_cell(line: ItemLine) -> str:
    """One digit below 1,000 seconds."""
    if line.seconds is None:
        return UNKNOWN if line.status in ("done", "failed") else ""
    return f"{line.seconds:.1f}" if line.seconds < 999.95 else f"{line.seconds:,.0f}"


def _id_cell(line: ItemLine) -> str:
    return f"{line.id} ·{line.epoch}" if line.epoch else line.id


def item_facts(line: ItemLine, heads: Sequence[str], gap: str) -> Iterator[str]:
    """Scores with a gap in between, tokens, seconds and labels, as far as they are known."""
    if line.status in ("done", "failed"):
        yield gap.join(f"{head} {number(value)}" for head, value in named(heads, line.scores))
    if line.tokens is not None:
        yield f"{line.tokens:,} tokens"
    if line.seconds is not None:
        yield f"{seconds_cell(line).strip()} s"
    if line.labels:
        yield ", ".join(map(label_words, line.labels))


class ColumnHeads(Widget):
    """One line above the list. The sorted column's head has an arrow; a click sorts by a column."""

    DEFAULT_CSS = """
    ColumnHeads { height: 1; background: $surface; color: $text-muted; text-style: bold; }
    """

    @dataclass
    class Chosen(Message):
        """A head was clicked: the name of the sort."""

        sort: str

    def __init__(self, heads: Sequence[str]) -> None:
        super().__init__()
        self._heads, self._sort, self._descending = heads, "order", False

    def show(self, heads: Sequence[str], sort: str, *, descending: bool) -> None:
        self._heads, self._sort, self._descending = heads, sort, descending
        self.refresh()

    def _columns(self) -> list[ListColumn]:
        # The list's cursor and its scroll bar take a cell each.
        return columns_at(self.size.width - 2, self._heads, self._sort)

    def render_line(self, y: int) -> Strip:
        segments = [Segment(" ", self.rich_style)]
        for column in self._columns():
            arrow = (DOWN if self._descending else UP) if column.sort == self._sort else ""
            head = f"{column.head[: column.width - len(arrow)]}{arrow}"
            head = head.rjust(column.width) if column.right else head
            segments.append(Segment(fitted(head, column.width) + " ", self.rich_style))
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style)

    def on_click(self, event: Click) -> None:
        left = 1
        for column in self._columns():
            if left <= event.x <= left + column.width:
                self.post_message(self.Chosen(column.sort))
                return
            left += column.width + 1


class QuestionList(CursorList):
    """Rows of a run in an order that is given; the cursor is an index into that order."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *("question-list--cursor", "question-list--blurred", "question-list--failed"),
        *("question-list--status", "question-list--labels", "question-list--id"),
        *("question-list--unended", "question-list--nothing"),
    }
    DEFAULT_CSS = """
    QuestionList {
        height: 1fr; background: $background; color: $foreground;
        scrollbar-size-vertical: 1; overflow-x: hidden; overflow-y: scroll;
        & > .question-list--cursor { background: $block-cursor-background;
            color: $block-cursor-foreground; text-style: bold; }
        & > .question-list--blurred { background: $block-cursor-blurred-background;
            color: $block-cursor-blurred-foreground; text-style: bold; }
        & > .question-list--failed { color: $text-error; text-style: bold; }
        & > .question-list--status { color: $text-accent; text-style: bold; }
        & > .question-list--labels { color: $text-warning; }
        & > .question-list--id { color: $text-primary; }
        & > .question-list--unended, & > .question-list--nothing { text-style: dim; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", tooltip="Open the question's trace"),
        *walking("question", page_down="pagedown,space"),
    ]

    @dataclass
    class Opened(Message):
        """A row of the run was opened."""

        row: int

    def __init__(self, run: RunView) -> None:
        super().__init__()
        self.run = run
        self.rows: Sequence[int] = range(run.count)
        self.length = run.count
        self.nothing: Sequence[str] = ()
        self._columns: Sequence[ListColumn] = ()
        self._sort = ""

    @property
    def row(self) -> int | None:
        return self.rows[self.cursor] if 0 <= self.cursor < self.length else None

    def show(
        self, run: RunView, rows: Sequence[int], on: int | None = None, sort: str = ""
    ) -> None:
        """Show these rows; the cursor goes to row `on`, or stays about where it was."""
        self._sort = sort
        same_run, height = run is self.run, self.cursor - self.scroll_offset.y
        self.run, self.rows, self.length = run, rows, len(rows)
        self._lay_out()
        cursor = rows.index(on) if on in rows else self.nearest(self.cursor, 1)
        self.set_reactive(QuestionList.cursor, cursor)
        if same_run:
            # The question stays at its line on the screen while others come and go around it.
            self.scroll_to(y=max(0, cursor - max(0, height)), animate=False)
        self.into_view()
        self.refresh()

    def go_to(self, row: int) -> None:
        if row in self.rows:
            self.cursor = self.rows.index(row)

    def repaint(self, rows: frozenset[int]) -> None:
        """These rows changed: draw those again that are on the screen."""
        top = self.scroll_offset.y
        for index in range(top, min(top + self.size.height, self.length)):
            if self.rows[index] in rows:
                self.refresh_line(index)

    def render_line(self, y: int) -> Strip:
        index, width = self.scroll_offset.y + y, self.size.width
        if index < self.length:
            return self._row_strip(index).adjust_cell_length(width, self.rich_style)
        if not self.rows and y < len(self.nothing):
            return Strip([Segment(fitted(f"  {self.nothing[y]}", width), self._style("nothing"))])
        return Strip.blank(width, self.rich_style)

    def _row_strip(self, index: int) -> Strip:
        line = safe_line(self.run, self.rows[index])
        here = index == self.cursor
        segments = [Segment(CURSOR if here else " ", self._cell_style(line, "", here))]
        for column in self._columns:
            text = drawn(column.cell(line)[: 4 * column.width])
            text = text.rjust(column.width) if column.right else text
            style = self._cell_style(line, column.kind, here)
            segments.append(Segment(fitted(text, column.width) + " ", style))
        return Strip(segments)

    def _cell_style(self, line: ItemLine, kind: str, here: bool) -> Style:
        if here:
            return self._style("cursor" if self.has_focus else "blurred")
        if line.status == "failed" and kind in ("status", "labels"):
            return self._style("failed")
        if line.status in ("pending", "running") and kind != "status":
            return self._style("unended")
        return self._style(kind) if kind else self.rich_style

    def _style(self, kind: str) -> Style:
        own = self.get_component_rich_style(f"question-list--{kind}", partial=True)
        return self.rich_style + own

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self._columns = columns_at(width - 1, self.run.heads, self._sort)
        self.virtual_size = Size(width, self.length)

    def on_resize(self, event: Resize) -> None:
        self._lay_out()
        self.into_view()

    def on_focus(self) -> None:
        self.refresh_line(self.cursor)

    def on_blur(self) -> None:
        self.refresh_line(self.cursor)

    def on_click(self, event: Click) -> None:
        index = self.scroll_offset.y + event.y
        if index < self.length:
            self.cursor = index
            if event.chain == 2:
                self.action_open()

    def watch_cursor(self, before: int, now: int) -> None:
        self.refresh_line(before)
        self.refresh_line(now)
        self.into_view()

    def into_view(self) -> None:
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif height and self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)

    def action_open(self) -> None:
        if self.row is not None:
            self.post_message(self.Opened(self.row))
