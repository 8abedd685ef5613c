"""The steps of a trace as a tree: one line each, the cursor selects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from branchwise.ui.trace_app.drawing import cells, fitted
from branchwise.ui.traces.trace import Step

NOTHING, READING = "nothing recorded yet", "reading …"


class StepTree(ScrollView, can_focus=True):
    """Steps in the order of the trace. `Selected` is posted whenever another one is selected."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "step-tree--cursor",
        "step-tree--failed",
        "step-tree--gold",
        "step-tree--dim",
        "step-tree--number",
    }
    DEFAULT_CSS = """
    StepTree { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; overflow-x: hidden; }
    StepTree > .step-tree--cursor {
        background: $block-cursor-blurred-background;
        color: $block-cursor-blurred-foreground;
        text-style: bold;
    }
    StepTree:focus > .step-tree--cursor {
        background: $block-cursor-background;
        color: $block-cursor-foreground;
        text-style: bold;
    }
    StepTree > .step-tree--failed { color: $text-error; }
    StepTree > .step-tree--gold { color: $text-success; text-style: bold; }
    StepTree > .step-tree--dim { color: $text-disabled; }
    StepTree > .step-tree--number { color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False, tooltip="To the next step"),
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="To the previous step"),
        Binding("pagedown", "page(1)", "Page down", show=False, tooltip="A screen down"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="A screen up"),
        Binding("home,g", "move_to(0)", "First", show=False, tooltip="To the first step"),
        Binding("end,G", "move_to(-1)", "Last", show=False, tooltip="To the last step"),
    ]

    @dataclass
    class Selected(Message):
        """The cursor is on another step."""

        seq: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.steps: Sequence[Step] = ()
        self.cursor = 0
        self._nothing = READING
        self._digits = 1

    @property
    def selected(self) -> int | None:
        """The selected step's number in the trace; None if the trace has no steps."""
        return self.steps[self.cursor].seq if self.steps else None

    @property
    def at_end(self) -> bool:
        """Whether the last step is selected, or no step exists yet."""
        return self.cursor >= len(self.steps) - 1

    def show(
        self, steps: Sequence[Step], selected: int | None = None, *, nothing: str = NOTHING
    ) -> None:
        """Show these steps with the cursor on the step `selected`, else on the first.

        A step that is out of view is scrolled to the middle, to show what is around it. `nothing`
        is shown if there are no steps.
        """
        self.steps, self._nothing = steps, nothing
        self._digits = max((len(str(step.seq)) for step in steps), default=1)
        self.cursor = self._index(selected)
        self._measure()
        self._bring_into_view(around=self.size.height // 2)
        self.refresh()

    def select(self, seq: int) -> None:
        """Put the cursor on a step; `Selected` follows."""
        self.action_move_to(self._index(seq))

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        number = self.scroll_offset.y + y
        base = self.rich_style
        if number >= len(self.steps):
            text = self._nothing if not self.steps and y == 0 else ""
            return Strip([Segment(fitted(text, width), self._style("dim"))])
        step = self.steps[number]
        return Strip(self._drawn(step, width, base, number == self.cursor))

    def action_move(self, by: int) -> None:
        self.action_move_to(max(0, self.cursor + by))

    def action_page(self, by: int) -> None:
        self.action_move(by * max(1, self.size.height - 1))

    def action_move_to(self, number: int) -> None:
        last = len(self.steps) - 1
        if last < 0:
            return
        before, self.cursor = self.cursor, last if number < 0 else min(number, last)
        self._bring_into_view()
        self.refresh()
        if self.cursor != before:
            self.post_message(self.Selected(self.steps[self.cursor].seq))

    def on_click(self, event: events.Click) -> None:
        number = self.scroll_offset.y + event.y
        if 0 <= number < len(self.steps):
            self.action_move_to(number)

    def on_resize(self, event: events.Resize) -> None:
        self._measure()
        self._bring_into_view()

    def _drawn(self, step: Step, width: int, base: Style, here: bool) -> list[Segment]:
        """Failure by a sign, gold answers by their number: a colour is never the only sign."""
        gold = f" ●{step.gold}" if step.gold else ""
        head = f"{'✗' if step.failed else ' '}{step.seq:>{self._digits}} "
        text = "  " * step.depth + step.label
        left = number = right = self._style("cursor")
        if not here:
            left = self._style("failed") if step.failed else base
            number = left if step.failed else self._style("number")
            right = self._style("gold")
        return [
            Segment(head, number),
            Segment(fitted(text, max(0, width - cells(head) - cells(gold))), left),
            Segment(fitted(gold, cells(gold)), right),
        ]

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"step-tree--{name}")

    def _index(self, seq: int | None) -> int:
        found = (number for number, step in enumerate(self.steps) if step.seq == seq)
        return next(found, 0)

    def _measure(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.steps))

    def _bring_into_view(self, around: int = 0) -> None:
        height, top = self.size.height, self.scroll_offset.y
        if height and not top <= self.cursor < top + height:
            above = self.cursor < top
            y = self.cursor - around if above else self.cursor - height + 1 + around
            self.scroll_to(None, y, animate=False, force=True, immediate=True)
