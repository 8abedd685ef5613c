"""Lists over which a cursor walks, and the steps of a trace as one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from branchwise.ui.trace_app.drawing import cells, fitted
from branchwise.ui.traces.trace import Step

NOTHING, READING = "nothing recorded yet", "reading …"


def walking(noun: str, page_down: str = "pagedown") -> list[BindingType]:
    return [
        Binding("down,j", "move(1)", "Down", show=False, tooltip=f"To the next {noun}"),
        Binding("up,k", "move(-1)", "Up", show=False, tooltip=f"To the previous {noun}"),
        Binding(page_down, "page(1)", "Page down", show=False, tooltip="A screen down"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="A screen up"),
        Binding("home,g", "move_to(0)", "First", show=False, tooltip=f"To the first {noun}"),
        Binding("end,G", "move_to(-1)", "Last", show=False, tooltip=f"To the last {noun}"),
    ]


class CursorList(ScrollView, can_focus=True):
    """A list of `length` lines, of which those on the screen are drawn."""

    length = 0
    cursor: reactive[int] = reactive(0, init=False)

    def nearest(self, line: int, by: int) -> int:
        """The line that the cursor comes to on its way to `line` in the direction `by`."""
        return max(0, min(line, self.length - 1))

    def into_view(self) -> None:
        raise NotImplementedError

    def _go(self, line: int, by: int) -> None:
        self.cursor = self.nearest(line, by)
        self.into_view()

    def action_move(self, by: int) -> None:
        self._go(self.cursor + by, by)

    def action_page(self, by: int) -> None:
        self.action_move(by * max(1, self.scrollable_content_region.height - 1))

    def action_move_to(self, line: int) -> None:
        self._go(self.length - 1 if line < 0 else line, 1)


class StepTree(CursorList):
    """Steps in the order of the trace. `Selected` is posted whenever another one is selected."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"step-tree--{part}" for part in ("cursor", "failed", "gold", "dim", "number")
    }
    DEFAULT_CSS = """
    StepTree {
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; overflow-x: hidden;
        & > .step-tree--cursor { background: $block-cursor-blurred-background;
            color: $block-cursor-blurred-foreground; text-style: bold; }
        &:focus > .step-tree--cursor { background: $block-cursor-background;
            color: $block-cursor-foreground; text-style: bold; }
        & > .step-tree--failed { color: $text-error; }
        & > .step-tree--gold { color: $text-success; text-style: bold; }
        & > .step-tree--dim { color: $text-disabled; }
        & > .step-tree--number { color: $text-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = walking("step")

    @dataclass
    class Selected(Message):
        """The cursor is on another step."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: Sequence[Step] = ()
        self._nothing, self._digits = READING, 1

    @property
    def selected(self) -> int | None:
        """The selected step's number in the trace; None if the trace has no steps."""
        return self.steps[self.cursor].seq if self.steps else None

    def show(
        self, steps: Sequence[Step], selected: int | None = None, *, nothing: str = NOTHING
    ) -> None:
        """Show these steps, or `nothing`, the cursor on `selected`, in the middle if need be."""
        self.steps, self.length, self._nothing = steps, len(steps), nothing
        self._digits = max((len(str(step.seq)) for step in steps), default=1)
        cursor = next((n for n, step in enumerate(steps) if step.seq == selected), 0)
        self.set_reactive(StepTree.cursor, cursor)
        self._measure()
        self.into_view(around=self.size.height // 2)
        self.refresh()

    def into_view(self, around: int = 0) -> None:
        height, top = self.size.height, self.scroll_offset.y
        if height and not top <= self.cursor < top + height:
            above = self.cursor < top
            y = self.cursor - around if above else self.cursor - height + 1 + around
            self.scroll_to(None, y, animate=False, force=True, immediate=True)

    def watch_cursor(self) -> None:
        self.refresh()
        self.post_message(self.Selected())

    def on_click(self, event: events.Click) -> None:
        if (number := self.scroll_offset.y + event.y) < self.length:
            self.action_move_to(number)

    def on_resize(self, event: events.Resize) -> None:
        self._measure()
        self.into_view()

    def _measure(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, self.length)

    def render_line(self, y: int) -> Strip:
        """Failure by a sign, gold answers by their number: a colour is never the only sign."""
        width = self.scrollable_content_region.width
        number = self.scroll_offset.y + y
        if number >= self.length:
            text = self._nothing if not self.steps and y == 0 else ""
            return Strip([Segment(fitted(text, width), self._style("dim"))])
        step = self.steps[number]
        gold = f" {step.gold} gold" if step.gold else ""
        head = f"{'✗' if step.failed else ' '}{step.seq:>{self._digits}} "
        text = "  " * step.depth + step.label
        styles = [self._style("cursor")] * 3
        if number != self.cursor:
            failed = self._style("failed")
            plain = [self._style("number"), self.rich_style]
            styles = [*([failed, failed] if step.failed else plain), self._style("gold")]
        texts = [head, fitted(text, max(0, width - cells(head) - cells(gold))), gold]
        return Strip(map(Segment, texts, styles))

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"step-tree--{name}")
