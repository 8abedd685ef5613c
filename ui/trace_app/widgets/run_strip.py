"""The runs above the list of questions: what each is, how far it is, its mean scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from branchwise.base.numbers import number
from branchwise.report.terminal.cells import run_name
from branchwise.ui.trace_app.cells import cells, fitted
from branchwise.ui.traces.lines import RunLine, named

_WIDEST_NAME = 30


class RunStrip(ScrollView, can_focus=False):
    """A line for each run; the chosen one is marked. A click chooses."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"run-strip--chosen", "run-strip--parent"}

    @dataclass
    class Chosen(Message):
        """A run was clicked: its place in the strip."""

        index: int

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[RunLine] = ()
        self._chosen = 0

    def show(self, lines: Sequence[RunLine], chosen: int) -> None:
        """Show these runs, each with the means of its own task's metrics."""
        self._lines, self._chosen = lines, chosen
        self.virtual_size = Size(self.size.width, len(lines))
        self.styles.height = min(len(lines), max(1, self.app.size.height // 5))
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if not top <= chosen < top + height:
            self.scroll_to(y=max(0, chosen - height + 1), animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        index = self.scroll_offset.y + y
        if index >= len(self._lines):
            return Strip.blank(self.size.width, self.rich_style)
        style = self.rich_style
        if index == self._chosen:
            style += self.get_component_rich_style("run-strip--chosen", partial=True)
        width = self.scrollable_content_region.width
        text = self._text(self._lines[index], width, chosen=index == self._chosen)
        strip = Strip([Segment(text, style)])
        return strip.adjust_cell_length(self.size.width, self.rich_style)

    def _text(self, line: RunLine, width: int, *, chosen: bool) -> str:
        means = named(line.heads, line.means)
        scores = "  ".join(f"{head} {number(mean):>4}" for head, mean in means)
        ended = f"{line.done + line.failed:,}/{line.total:,}"
        failed = f" ({line.failed:,} failed)" if line.failed else ""
        right = f"  {ended}{failed}  {scores} "
        mark = "›" if chosen and len(self._lines) > 1 else " "
        widest = max(cells(run_name(line.name)) for line in self._lines)
        name = fitted(run_name(line.name), min(widest, _WIDEST_NAME, max(8, width // 3)))
        system = f"fork of {line.parent}: {line.system}" if line.parent else line.system
        left = fitted(f"{mark}{name}  {system}", max(0, width - cells(right)))
        return left + right

    def on_click(self, event: Click) -> None:
        index = self.scroll_offset.y + event.y
        if index < len(self._lines):
            self.post_message(self.Chosen(index))
