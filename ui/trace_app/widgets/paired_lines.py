"""Lines in two halves: what one run has on the left, what another has on the right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from branchwise.ui.trace_app.cells import cells, fitted

CURSOR = "›"
_BETWEEN = 3
"""Cells between the halves: the sign, with a space on each side."""


@dataclass(frozen=True, slots=True)
class PairedLine:
    """One line. `looks` name the component classes of the halves, without "paired--".

    `ends` stand at the right ends of the halves and are never cut. `chosen`: whether the cursor
    may stand on it. A line without halves (`across`) is drawn over the whole width, filled up with
    `fill`.
    """

    left: str = ""
    sign: str = " "
    right: str = ""
    looks: tuple[str, str] = ("", "")
    ends: tuple[str, str] = ("", "")
    chosen: bool = True
    across: str | None = None
    fill: str = " "


class PairedLines(ScrollView, can_focus=True):
    """Draws the lines on the screen, and no others; a cursor walks over them, on one side.

    The side is marked with a sign, too: colour is never the only one.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "paired--cursor",
        "paired--beside",
        "paired--sign",
        "paired--same",
        "paired--differs",
        "paired--failed",
        "paired--right",
        "paired--wrong",
        "paired--strong",
        "paired--across",
    }
    DEFAULT_CSS = """
    PairedLines {
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        .paired--cursor { background: $block-cursor-background; color: $block-cursor-foreground;
            text-style: bold; }
        .paired--beside { background: $block-cursor-blurred-background; }
        .paired--sign { color: $text-muted; }
        .paired--same { color: $text-muted; }
        .paired--differs { color: $foreground; }
        .paired--failed { color: $text-error; }
        .paired--right { color: $text-success; }
        .paired--wrong { color: $text-error; }
        .paired--strong { text-style: bold; }
        .paired--across { color: $text-warning; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", tooltip="Open what is on the line"),
        Binding("down,j", "move(1)", "Down", show=False, tooltip="To the next line"),
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="To the previous line"),
        Binding("pagedown", "page(1)", "Page down", show=False, tooltip="A screen down"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="A screen up"),
        Binding("home,g", "move_to(0)", "First", show=False, tooltip="To the first line"),
        Binding("end,G", "move_to(-1)", "Last", show=False, tooltip="To the last line"),
        Binding("left,h", "to_side(0)", "Left", show=False, tooltip="To the left side"),
        Binding("right,l", "to_side(1)", "Right", show=False, tooltip="To the right side"),
    ]

    cursor: reactive[int] = reactive(0)
    side: reactive[int] = reactive(0)

    @dataclass
    class Moved(Message):
        """The cursor stands on another line or on the other side."""

        lines: "PairedLines"

    @dataclass
    class Opened(Message):
        """The line was opened: by enter, or by a second click."""

        lines: "PairedLines"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[PairedLine] = ()

    def set_lines(self, lines: Sequence[PairedLine], cursor: int | None = None) -> None:
        """Show these lines; the cursor goes to `cursor`, or stays where it was."""
        self._lines = lines
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        self.cursor = self._nearest(self.cursor if cursor is None else cursor, 1)
        self.refresh()
        self._show_cursor()

    def go_to(self, line: int) -> None:
        """Put the cursor on a line, with what stands before it in view."""
        self.cursor = self._nearest(line, 1)
        height = self.scrollable_content_region.height
        self.scroll_to(y=max(0, self.cursor - height // 3), animate=False, force=True)

    @property
    def lines(self) -> Sequence[PairedLine]:
        """What is shown."""
        return self._lines

    def watch_cursor(self) -> None:
        self.refresh()
        self._show_cursor()
        self.post_message(self.Moved(self))

    def watch_side(self) -> None:
        self.refresh()
        self.post_message(self.Moved(self))

    def action_move(self, by: int) -> None:
        self.cursor = self._nearest(self.cursor + by, by)

    def action_open(self) -> None:
        if self._lines:
            self.post_message(self.Opened(self))

    def action_page(self, by: int) -> None:
        rows = max(1, self.scrollable_content_region.height - 1)
        self.cursor = self._nearest(self.cursor + by * rows, by)

    def action_move_to(self, line: int) -> None:
        self.cursor = self._nearest(len(self._lines) - 1 if line < 0 else line, 1)

    def action_to_side(self, side: int) -> None:
        self.side = side

    def on_resize(self, _: events.Resize) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._lines))
        self._show_cursor()

    def on_click(self, event: events.Click) -> None:
        line = event.y + self.scroll_offset.y
        if 0 <= line < len(self._lines) and self._lines[line].chosen:
            self.side = int(event.x >= self._left() + _BETWEEN // 2)
            self.cursor = line
            if event.chain == 2:
                self.action_open()

    def _nearest(self, line: int, by: int) -> int:
        """The line there that may be chosen, else the next one in the direction, else before."""
        if not self._lines:
            return 0
        line = max(0, min(line, len(self._lines) - 1))
        onwards = range(line, len(self._lines)) if by > 0 else range(line, -1, -1)
        back = range(line, -1, -1) if by > 0 else range(line, len(self._lines))
        return next((n for n in (*onwards, *back) if self._lines[n].chosen), 0)

    def _show_cursor(self) -> None:
        """Scroll so that the cursor's line is in view, and the heading above the first one."""
        if self._lines:
            top = 0 if not any(line.chosen for line in self._lines[: self.cursor]) else self.cursor
            region = Region(0, top, 1, self.cursor - top + 1)
            self.scroll_to_region(region, animate=False, force=True)

    def _left(self) -> int:
        return (self.scrollable_content_region.width - _BETWEEN) // 2

    def render_line(self, y: int) -> Strip:
        """Line `y` of the screen."""
        width, number = self.scrollable_content_region.width, y + self.scroll_offset.y
        if number >= len(self._lines) or width <= _BETWEEN:
            return Strip.blank(width, self.rich_style)
        line = self._lines[number]
        if line.across is not None:
            text = fitted(line.across + line.fill * (width - cells(line.across)), width)
            return Strip([Segment(text, self._look(line.looks[0] or "across"))], width)
        left = self._left()
        halves = [
            Segment(self._half(line, number, 0, left), self._half_look(line, number, 0)),
            Segment(f" {line.sign} ", self._look("sign")),
            Segment(
                self._half(line, number, 1, width - left - _BETWEEN),
                self._half_look(line, number, 1),
            ),
        ]
        return Strip(halves, width)

    def _half(self, line: PairedLine, number: int, side: int, width: int) -> str:
        here = number == self.cursor and side == self.side and line.chosen
        end = line.ends[side]
        text = (CURSOR if here else " ") + (line.right if side else line.left)
        return fitted(text, max(0, width - cells(end))) + end

    def _half_look(self, line: PairedLine, number: int, side: int) -> Style:
        if number != self.cursor or not line.chosen:
            return self._look(line.looks[side])
        return self._look(line.looks[side], "cursor" if side == self.side else "beside")

    def _look(self, *names: str) -> Style:
        style = self.rich_style
        for name in filter(None, names):
            style += self.get_component_rich_style(f"paired--{name}", partial=True)
        return style
