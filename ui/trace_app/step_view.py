"""A step in full: its blocks laid out at the widget's width, drawn line by line."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.report.terminal.blocks import Block, MarkKind
from branchwise.ui.trace_app.drawing import (
    Runs,
    cells,
    fitted,
    mark_styles,
    runs_of,
    segments,
    wrapped,
)

MAX_SHOWN = 100_000
"""Characters of a block that are laid out; the line behind them says how many more there are."""
MAX_LINES = 5_000
"""Lines of a block that are laid out."""
MAX_TABLE_WIDTH = 4_000
"""Cells of a table's line that can be scrolled to."""

LineRole = Literal["title", "text", "more", "gap"]


@dataclass(frozen=True, slots=True)
class Line:
    """Characters [start, end) of a block's text, `indent` cells from the left."""

    block: int
    role: LineRole
    start: int = 0
    end: int = 0
    indent: int = 0


@dataclass(frozen=True)
class StepLayout:
    """Lines from top to bottom; `width` is what the widest needs, at least what was asked for."""

    lines: Sequence[Line]
    width: int

    def first(self, block: int) -> int:
        """The first line of a block: its title, or its text where it has none."""
        return next((y for y, line in enumerate(self.lines) if _is_of(line, block)), 0)

    def line_of(self, block: int, offset: int) -> int:
        """The line that shows a character of a block's text; the block's last where it is cut."""
        found = self.first(block)
        for y in range(found, len(self.lines)):
            line = self.lines[y]
            if line.block != block or (line.role == "text" and line.start > offset):
                break
            found = y
        return found


def _is_of(line: Line, block: int) -> bool:
    return line.block == block and line.role != "gap"


def lay_out(blocks: Sequence[Block], width: int, folded: Set[int] = frozenset()) -> StepLayout:
    """All lines of `blocks`; of those whose numbers are in `folded` only the title."""
    lines: list[Line] = []
    widest = width
    for number, block in enumerate(blocks):
        if lines and block.title:
            lines.append(Line(number, "gap"))
        if block.title:
            lines.append(Line(number, "title"))
        if number in folded and block.title:
            continue
        for line in _text_lines(number, block, width):
            lines.append(line)
            if block.kind == "table":
                size = line.indent + cells(block.text[line.start : line.end])
                widest = max(widest, min(size, MAX_TABLE_WIDTH))
    return StepLayout(lines, widest)


def indent_of(block: Block) -> int:
    """Cells that a block's text stands to the right of its title."""
    return 2 if block.title and block.kind != "heading" else 0


def _text_lines(number: int, block: Block, width: int) -> Iterator[Line]:
    if not block.text:
        return
    indent = indent_of(block)
    end = 0
    for start, end, extra in islice(_pieces(block, width - indent), MAX_LINES):
        yield Line(number, "text", start, end, indent + extra)
    if block.text[end:].strip():
        yield Line(number, "more", end, len(block.text), indent)


def _pieces(block: Block, width: int) -> Iterator[tuple[int, int, int]]:
    if block.kind != "table":
        hanging = block.kind in ("json", "sparql")
        yield from wrapped(block.text, width, hanging=hanging, end=MAX_SHOWN)
        return
    start = 0
    for row in block.text[:MAX_SHOWN].split("\n"):
        yield start, start + len(row), 0
        start += len(row) + 1


_ROWS_BEGIN = 2
"""Lines of a table above its first row: the names of its columns, and a rule."""


def find_place(
    blocks: Sequence[Block], place: EvidencePlace, forms: Sequence[str] = ()
) -> tuple[int, int | None] | None:
    """The number of the block that shows a place, and the character to be in sight, if any.

    `forms`: the texts of the answer, of which one is marked there. None where no block shows it.
    """
    if place.passage is not None:
        found = [n for n, block in enumerate(blocks) if block.passage == place.passage]
        return (found[0], mention(blocks[found[0]], forms)) if found else None
    if place.row is not None:
        return _row(blocks, place.row)
    # A tool that returns plain text: the first part that names it.
    named = [n for n, block in enumerate(blocks) if mention(block, forms) is not None]
    return (named[0], mention(blocks[named[0]], forms)) if named else None


def mention(block: Block, forms: Sequence[str] = ()) -> int | None:
    """Where a block names the answer: a mark with its text, else the first mark of any answer."""
    wanted = {form.casefold() for form in forms}
    marks = [mark for mark in block.marks if mark.kind in ("gold", "wrong")]
    for mark in marks:
        if block.text[mark.start : mark.end].casefold() in wanted:
            return mark.start
    return min((mark.start for mark in marks), default=None)


def _row(blocks: Sequence[Block], row: int) -> tuple[int, int | None] | None:
    above = [
        (block.row, n)
        for n, block in enumerate(blocks)
        if block.row is not None and block.row <= row
    ]
    if not above:
        return None
    first, number = max(above)
    offset = 0
    for _ in range(row - first + _ROWS_BEGIN):
        offset = blocks[number].text.find("\n", offset) + 1
        if not offset:
            return number, None
    return number, offset


class StepView(ScrollView, can_focus=True):
    """The selected step. Blocks with a title can be folded; one of them is the current one.

    However long a text is, only the lines on the screen are drawn.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "step-view--title",
        "step-view--current",
        "step-view--heading",
        "step-view--error",
        "step-view--note",
        "step-view--bar",
        "step-view--target",
    }
    DEFAULT_CSS = """
    StepView {
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 1;
        scrollbar-gutter: stable;
        padding: 0 1;
    }
    StepView > .step-view--title { text-style: bold; color: $text-primary; }
    StepView > .step-view--current { background: $block-hover-background; }
    StepView:focus > .step-view--current {
        background: $block-cursor-background;
        color: $block-cursor-foreground;
    }
    StepView > .step-view--heading { text-style: bold; color: $text-accent; }
    StepView > .step-view--error { color: $text-error; }
    StepView > .step-view--note { color: $text-muted; text-style: italic; }
    StepView > .step-view--target { background: $warning-muted; }
    StepView > .step-view--bar { color: $text-disabled; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", show=False, tooltip="A line down"),
        Binding("k,up", "scroll_up", "Up", show=False, tooltip="A line up"),
        Binding("enter,space", "toggle_fold", "Fold", show=False, tooltip="Open or close the part"),
    ]

    @dataclass
    class Changed(Message):
        """Another block became the current one, or a fold was opened or closed."""

        view: "StepView"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.blocks: Sequence[Block] = ()
        self.current: int | None = None
        """The block that the cursor is on: one with a title."""
        self._folded: set[int] = set()
        self._all_open = False
        self._layout = StepLayout((), 0)
        self._laid_out_for = 0
        self._runs: dict[int, Runs] = {}
        self._target: tuple[int, int] | None = None
        self._marks: Mapping[MarkKind, Style] | None = None

    def show(self, blocks: Sequence[Block], *, keep: bool = False) -> None:
        """Show another step from its top; with `keep` the same one as it is now, where it stood."""
        y, current = self.scroll_offset.y, self.current
        folded = set() if self._all_open else _folded(blocks)
        if keep:
            known = len(self.blocks)
            folded = {n for n in self._folded if n < len(blocks)} | {
                n for n in folded if n >= known
            }
        self.blocks, self._folded, self._runs = blocks, folded, {}
        self._target = self._target if keep else None
        self.current = current if keep and current is not None else self._next_titled(-1, 1)
        if self.current is not None and self.current >= len(blocks):
            self.current = self._next_titled(-1, 1)
        self._lay_out()
        self.scroll_to(0, y if keep else 0, animate=False, force=True, immediate=True)

    def show_block(self, number: int, offset: int | None = None) -> None:
        """Open a block and make it the current one; its title is on top of what is seen.

        The line of the character at `offset` stands out; where it would be out of sight it is
        brought to the middle.
        """
        self.current = number
        self._target = None if offset is None else (number, offset)
        self._folded.discard(number)
        self._lay_out()
        y = self._layout.first(number)
        if offset is not None:
            line = self._layout.line_of(number, offset)
            if line >= y + self.size.height:
                y = line - self.size.height // 2
        self.scroll_to(0, y, animate=False, force=True, immediate=True)
        self.post_message(self.Changed(self))

    def go_to_next(self, direction: int, *, passages: bool = False) -> None:
        """The next block with a title after the current one, or before it.

        `passages`: the next passage, if there is a further one.
        """
        here = -1 if self.current is None else self.current
        found = self._next_titled(here, direction, passages)
        if found is None and passages:
            found = self._next_titled(here, direction)
        if found is not None:
            self.current = found
            self._bring_to_top(found)
            self.post_message(self.Changed(self))

    def toggle_all(self) -> bool:
        """Open all folds, or close them again; says whether they are open now."""
        self._all_open = not self._all_open
        self._folded = set() if self._all_open else _folded(self.blocks)
        self._lay_out()
        self.post_message(self.Changed(self))
        return self._all_open

    def toggle_first_fold(self) -> None:
        """Open or close the first part that comes folded (the reasoning of a model turn)."""
        first = next(iter(sorted(_folded(self.blocks))), None)
        if first is not None:
            self._toggle(first)

    def action_toggle_fold(self) -> None:
        if self.current is not None:
            self._toggle(self.current)

    def render_line(self, y: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        width = self.scrollable_content_region.width
        base = self.rich_style
        number = scroll_y + y
        if number >= len(self._layout.lines):
            return Strip.blank(width, base)
        line = self._layout.lines[number]
        strip = Strip(self._drawn(line, base))
        return strip.crop_extend(scroll_x, scroll_x + width, base)

    def notify_style_update(self) -> None:
        """The theme may be another one."""
        super().notify_style_update()
        self._marks = None

    def on_resize(self, event: events.Resize) -> None:
        top = self._line_at(self.scroll_offset.y)
        if self._width() != self._laid_out_for:
            self._lay_out()
            if top is not None:
                y = self._layout.line_of(top.block, top.start) if top.start else None
                y = self._layout.first(top.block) if y is None else y
                self.scroll_to(None, y, animate=False, force=True, immediate=True)

    def on_click(self, event: events.Click) -> None:
        line = self._line_at(self.scroll_offset.y + event.y)
        if line is None:
            return
        if self.blocks[line.block].title:
            self.current = line.block
            self.post_message(self.Changed(self))
        if line.role == "title":
            self._toggle(line.block)
        self.refresh()

    def _toggle(self, number: int) -> None:
        if self.blocks[number].text and self.blocks[number].title:
            self._folded ^= {number}
            self._lay_out()
            self.post_message(self.Changed(self))

    def _next_titled(self, after: int, direction: int, passages: bool = False) -> int | None:
        stop = len(self.blocks) if direction > 0 else -1
        for number in range(after + direction, stop, direction):
            block = self.blocks[number]
            if block.title and (block.kind == "passage" or not passages):
                return number
        return None

    def _bring_to_top(self, number: int) -> None:
        y = self._layout.first(number)
        self.scroll_to(None, y, animate=False, force=True, immediate=True)
        self.refresh()

    def _width(self) -> int:
        return max(1, self.scrollable_content_region.width)

    def _lay_out(self) -> None:
        self._laid_out_for = self._width()
        self._layout = lay_out(self.blocks, self._laid_out_for, self._folded)
        self.virtual_size = Size(self._layout.width, len(self._layout.lines))
        self.refresh()

    def _line_at(self, y: int) -> Line | None:
        lines = self._layout.lines
        return lines[y] if 0 <= y < len(lines) else None

    def _drawn(self, line: Line, base: Style) -> list[Segment]:
        block = self.blocks[line.block]
        if line.role == "gap":
            return []
        if line.role == "title":
            return list(self._title(line.block, block))
        if line.role == "more":
            more = f"… {line.end - line.start:,} more characters: o shows all"
            return [Segment(" " * line.indent + more, self._style("note"))]
        if self._is_target(line):
            base = base + self.get_component_rich_style("step-view--target", partial=True)
        style = self._style(block.kind) if block.kind in ("error", "note", "heading") else base
        runs = self._runs.get(line.block)
        if runs is None:
            runs = self._runs[line.block] = runs_of(block.marks)
        text = segments(block.text, line.start, line.end, runs, style, self._mark_styles())
        return [*self._margin(line, block, base), *text]

    def _margin(self, line: Line, block: Block, base: Style) -> list[Segment]:
        if block.kind != "passage" or not indent_of(block):
            return [Segment(" " * line.indent, base)] if line.indent else []
        return [Segment("│", self._style("bar")), Segment(" " * (line.indent - 1), base)]

    def _is_target(self, line: Line) -> bool:
        if self._target is None or self._target[0] != line.block:
            return False
        return line.start <= self._target[1] < max(line.end, line.start + 1)

    def _title(self, number: int, block: Block) -> Iterator[Segment]:
        style = self._style("title")
        if block.kind == "error":
            style += self._style("error")
        if number == self.current:
            style = self._style("title", "current")
        if block.text:
            yield Segment("▸ " if number in self._folded else "▾ ", style)
        room = self._laid_out_for - (2 if block.text else 0)
        # The current title's background goes over the whole line.
        fits = cells(block.title) <= room and number != self.current
        title = block.title if fits else fitted(block.title, room)
        runs = runs_of(block.title_marks)
        yield from segments(title, 0, len(title), runs, style, self._mark_styles())

    def _mark_styles(self) -> Mapping[MarkKind, Style]:
        if self._marks is None:
            self._marks = mark_styles(self.app)
        return self._marks

    def _style(self, *names: str) -> Style:
        return self.get_component_rich_style(*(f"step-view--{name}" for name in names))


def _folded(blocks: Sequence[Block]) -> set[int]:
    return {number for number, block in enumerate(blocks) if block.folded and block.title}
