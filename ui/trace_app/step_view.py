"""A step in full: its blocks laid out at the widget's width, drawn line by line."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.report.terminal.blocks import Block
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
_ROWS_BEGIN = 2
"""Lines of a table above its first row: the names of its columns, and a rule."""

LineRole = Literal["title", "text", "more", "gap"]


class Line(NamedTuple):
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
        own = (y for y, line in enumerate(self.lines) if line.block == block and line.role != "gap")
        return next(own, 0)

    def line_of(self, block: int, offset: int) -> int:
        """The line that shows a character of a block's text; the block's last where it is cut."""
        last = self.first(block)
        for y in range(last, len(self.lines)):
            line = self.lines[y]
            if line.block != block or (line.role == "text" and line.start > offset):
                break
            last = y
        return last


def lay_out(blocks: Sequence[Block], width: int, folded: Set[int] = frozenset()) -> StepLayout:
    """All lines of `blocks`; of those whose numbers are in `folded` only the title."""
    lines: list[Line] = []
    widest = width
    for number, block in enumerate(blocks):
        if block.title:
            lines += [Line(number, "gap")] if lines else []
            lines.append(Line(number, "title"))
            if number in folded:
                continue
        if not block.text:
            continue
        indent = 2 if block.title and block.kind != "heading" else 0
        end = 0
        for start, end, extra in islice(_pieces(block, width - indent), MAX_LINES):
            lines.append(Line(number, "text", start, end, indent + extra))
            if block.kind == "table":
                size = indent + extra + cells(block.text[start:end])
                widest = max(widest, min(size, MAX_TABLE_WIDTH))
        if block.text[end:].strip():
            lines.append(Line(number, "more", end, len(block.text), indent))
    return StepLayout(lines, widest)


def _pieces(block: Block, width: int) -> Iterator[tuple[int, int, int]]:
    if block.kind != "table":
        hanging = block.kind in ("json", "sparql")
        yield from wrapped(block.text, width, hanging=hanging, end=MAX_SHOWN)
        return
    start = 0
    for row in block.text[:MAX_SHOWN].split("\n"):
        yield start, start + len(row), 0
        start += len(row) + 1


def find_place(
    blocks: Sequence[Block], place: EvidencePlace, forms: Sequence[str] = ()
) -> tuple[int, int | None] | None:
    """The block that shows a place, and the character where one of `forms` is marked, if any."""
    if place.row is not None and place.passage is None:
        return _row(blocks, place.row)
    wanted = {form.casefold() for form in forms}
    for number, block in enumerate(blocks):
        # A mark with the answer's text, else the first mark of any answer.
        marks = [mark for mark in block.marks if mark.kind in ("gold", "wrong")]
        own = (m.start for m in marks if block.text[m.start : m.end].casefold() in wanted)
        mention = next(own, min((mark.start for mark in marks), default=None))
        # A tool that returns plain text: the first part that names it.
        if mention is not None if place.passage is None else block.passage == place.passage:
            return number, mention
    return None


def _row(blocks: Sequence[Block], row: int) -> tuple[int, int | None] | None:
    tables = [(block.row, n) for n, block in enumerate(blocks) if block.row is not None]
    first, number = max((table for table in tables if table[0] <= row), default=(0, -1))
    if number < 0:
        return None
    offset = 0
    for _ in range(row - first + _ROWS_BEGIN):
        offset = blocks[number].text.find("\n", offset) + 1
        if not offset:
            return number, None
    return number, offset


class StepView(ScrollView, can_focus=True):
    """The selected step; blocks with a title can be folded, one of them is the current one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *("step-view--title", "step-view--current", "step-view--heading", "step-view--error"),
        *("step-view--note", "step-view--bar", "step-view--target"),
    }
    DEFAULT_CSS = """
    StepView {
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; scrollbar-gutter: stable;
        padding: 0 1;
        & > .step-view--title { text-style: bold; color: $text-primary; }
        & > .step-view--current { background: $block-hover-background; }
        &:focus > .step-view--current { background: $block-cursor-background;
            color: $block-cursor-foreground; }
        & > .step-view--heading { text-style: bold; color: $text-accent; }
        & > .step-view--error { color: $text-error; }
        & > .step-view--note { color: $text-muted; text-style: italic; }
        & > .step-view--target { background: $warning-muted; }
        & > .step-view--bar { color: $text-disabled; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", show=False, tooltip="A line down"),
        Binding("k,up", "scroll_up", "Up", show=False, tooltip="A line up"),
        Binding("enter,space", "toggle_fold", "Fold", show=False, tooltip="Open or close the part"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.blocks: Sequence[Block] = ()
        self.current: int | None = None
        """The block that the cursor is on: one with a title."""
        self._folded: set[int] = set()
        self._all_open = False
        self._layout = StepLayout((), 0)
        self._laid_out_for = 0
        self._runs: dict[int, Runs] = {}
        self._target: tuple[int, int] | None = None

    def show(self, blocks: Sequence[Block], *, keep: bool = False) -> None:
        """Show another step from its top; with `keep` the same one as it is now, where it stood."""
        y, known = self.scroll_offset.y, len(self.blocks)
        self.blocks, self._runs = blocks, {}
        folded = self._all_folded()
        if keep:
            kept = {n for n in self._folded if n < len(blocks)}
            folded = kept | {n for n in folded if n >= known}
        else:
            self._target = None
        self._folded = folded
        if not keep or self.current is None or self.current >= len(blocks):
            self.current = next(iter(self._titled(-1, 1)), None)
        self._lay_out()
        self.scroll_to(0, y if keep else 0, animate=False, force=True, immediate=True)

    def show_block(self, number: int, offset: int | None = None) -> None:
        """Open a block, its title on top; the line of the character at `offset` stands out."""
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

    def go_to_next(self, direction: int) -> None:
        """The next passage after the current block, or before it, else any block with a title."""
        here = -1 if self.current is None else self.current
        titled = self._titled(here, direction)
        passages = [number for number in titled if self.blocks[number].kind == "passage"]
        if titled:
            self.current = (passages or titled)[0]
            y = self._layout.first(self.current)
            self.scroll_to(None, y, animate=False, force=True, immediate=True)
            self.refresh()

    def _titled(self, after: int, direction: int) -> list[int]:
        """The blocks with a title from there on."""
        stop = len(self.blocks) if direction > 0 else -1
        return [n for n in range(after + direction, stop, direction) if self.blocks[n].title]

    def toggle_all(self) -> bool:
        """Open all folds, or close them again; says whether they are open now."""
        self._all_open = not self._all_open
        self._folded = self._all_folded()
        self._lay_out()
        return self._all_open

    def toggle_first_fold(self) -> None:
        """Open or close the first part that comes folded (the reasoning of a model turn)."""
        folded = (n for n, block in enumerate(self.blocks) if block.folded and block.title)
        self._toggle(next(folded, None))

    def action_toggle_fold(self) -> None:
        self._toggle(self.current)

    def _all_folded(self) -> set[int]:
        if self._all_open:
            return set()
        return {n for n, block in enumerate(self.blocks) if block.folded and block.title}

    def _toggle(self, number: int | None) -> None:
        if number is not None and self.blocks[number].text and self.blocks[number].title:
            self._folded ^= {number}
            self._lay_out()

    def on_resize(self, event: events.Resize) -> None:
        top = self._line_at(self.scroll_offset.y)
        if self._width != self._laid_out_for:
            self._lay_out()
            if top is not None:
                layout, block = self._layout, top.block
                y = layout.line_of(block, top.start) if top.start else layout.first(block)
                self.scroll_to(None, y, animate=False, force=True, immediate=True)

    def on_click(self, event: events.Click) -> None:
        line = self._line_at(self.scroll_offset.y + event.y)
        if line is None:
            return
        if self.blocks[line.block].title:
            self.current = line.block
        if line.role == "title":
            self._toggle(line.block)
        self.refresh()

    @property
    def _width(self) -> int:
        return max(1, self.scrollable_content_region.width)

    def _lay_out(self) -> None:
        self._laid_out_for = self._width
        self._layout = lay_out(self.blocks, self._laid_out_for, self._folded)
        self.virtual_size = Size(self._layout.width, len(self._layout.lines))
        self.refresh()

    def _line_at(self, y: int) -> Line | None:
        lines = self._layout.lines
        return lines[y] if 0 <= y < len(lines) else None

    def render_line(self, y: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        width, base = self.scrollable_content_region.width, self.rich_style
        line = self._line_at(scroll_y + y)
        if line is None:
            return Strip.blank(width, base)
        return Strip(self._drawn(line, base)).crop_extend(scroll_x, scroll_x + width, base)

    def _drawn(self, line: Line, base: Style) -> Iterator[Segment]:
        block = self.blocks[line.block]
        if line.role == "title":
            yield from self._title(line.block, block)
        elif line.role == "more":
            more = f"… {line.end - line.start:,} more characters: o shows all"
            yield Segment(" " * line.indent + more, self._style("note"))
        elif line.role == "text":
            number, offset = self._target or (-1, 0)
            if number == line.block and line.start <= offset < max(line.end, line.start + 1):
                base = base + self.get_component_rich_style("step-view--target", partial=True)
            indent = line.indent
            if block.kind == "passage" and block.title:
                yield Segment("│", self._style("bar"))
                indent -= 1
            if indent:
                yield Segment(" " * indent, base)
            style = self._style(block.kind) if block.kind in ("error", "note", "heading") else base
            if line.block not in self._runs:
                self._runs[line.block] = runs_of(block.marks)
            runs, styles = self._runs[line.block], mark_styles(self.app)
            yield from segments(block.text, line.start, line.end, runs, style, styles)

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
        yield from segments(title, 0, len(title), runs, style, mark_styles(self.app))

    def _style(self, *names: str) -> Style:
        return self.get_component_rich_style(*(f"step-view--{name}" for name in names))
