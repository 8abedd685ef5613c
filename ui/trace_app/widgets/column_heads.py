"""The heads of the list's columns; a click on one sorts by it."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from textual.events import Click
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from branchwise.ui.trace_app.cells import fitted
from branchwise.ui.trace_app.widgets.question_columns import columns_at

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
