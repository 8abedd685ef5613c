"""The lines above and below: runs, filters, a trace's question, keys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual.binding import Binding
from textual.content import Content
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from branchwise.base.numbers import number
from branchwise.base.text import counted, one_line
from branchwise.eval.errors.labels import label_words
from branchwise.eval.tasks import DEFAULT, TASKS
from branchwise.report.terminal.blocks import harmless
from branchwise.report.terminal.cells import run_name
from branchwise.ui.trace_app.drawing import cells, drawn, fitted, wrapped
from branchwise.ui.trace_app.question_list import item_facts
from branchwise.ui.traces.lines import Arrangement, ItemLine, RunLine, named

_WIDEST_NAME = 30
_MAX_QUESTION = 2_000
_MOST_NOTED = 2
_ENDS = {
    "id": ("from A", "from Z"),
    "question": ("from A", "from Z"),
    "status": ("running first", "done first"),
    "labels": ("fewest first", "most first"),
}


class RunStrip(ScrollView, can_focus=False):
    """A line for each run: what it is, how far, its means. The chosen one is marked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"run-strip--chosen"}
    DEFAULT_CSS = """
    RunStrip {
        height: 1; background: $panel; color: $foreground;
        scrollbar-size-vertical: 1; overflow-x: hidden;
        & > .run-strip--chosen { text-style: bold; }
    }
    """

    @dataclass
    class Chosen(Message):
        """A run was clicked: its place in the strip."""

        index: int

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[RunLine] = ()
        self._chosen = 0

    def show(self, lines: Sequence[RunLine], chosen: int) -> None:
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
        line, style, chosen = self._lines[index], self.rich_style, index == self._chosen
        mark = "›" if chosen and len(self._lines) > 1 else " "
        if chosen:
            style += self.get_component_rich_style("run-strip--chosen", partial=True)
        width = self.scrollable_content_region.width
        means = named(line.heads, line.means)
        scores = "  ".join(f"{head} {number(mean):>4}" for head, mean in means)
        failed = f" ({line.failed:,} failed)" if line.failed else ""
        right = f"  {line.done + line.failed:,}/{line.total:,}{failed}  {scores} "
        widest = max(cells(run_name(run.name)) for run in self._lines)
        name = fitted(run_name(line.name), min(widest, _WIDEST_NAME, max(8, width // 3)))
        system = f"fork of {line.parent}: {line.system}" if line.parent else line.system
        left = fitted(f"{mark}{name}  {system}", max(0, width - cells(right)))
        strip = Strip([Segment(left + right, style)])
        return strip.adjust_cell_length(self.size.width, self.rich_style)

    def on_click(self, event: Click) -> None:
        index = self.scroll_offset.y + event.y
        if index < len(self._lines):
            self.post_message(self.Chosen(index))


class FilterBar(Widget):
    """One line: how many rows of how many, what was filtered, how it is sorted."""

    DEFAULT_CSS = """
    FilterBar { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap;
        text-overflow: ellipsis; }
    """
    _text = _end = ""

    def show(self, text: str, end: str = "") -> None:
        """Show a line that holds text from outside; `end` stands at its right."""
        self._text, self._end = drawn(text), end
        self.refresh()

    def render(self) -> Content:
        room = self.content_size.width - len(self._end)
        return Content(fitted(self._text, max(0, room - 2)) + "  " + self._end)


def in_words(
    how: Arrangement, shown: int, total: int, other: str | None = None, task: str = ""
) -> str:
    """An arrangement as a sentence; `other`: the run that the shown questions differ from."""
    words = TASKS.get(task, DEFAULT).subset_words
    filters = [words[how.subset]] if how.subset != "all" else []
    filters += [how.status] if how.status else []
    filters += [f"with {label_words(how.label)}"] if how.label else []
    filters += [f"“{how.text}”"] if how.text else []
    filters += [f"different in {other or 'another run'}"] if how.differs else []
    whole = counted(total, "question")
    count = f"{shown:,} of {whole}: {', '.join(filters)}" if filters else whole
    if how.sort == "order":
        return f"{count} · in the run's order{', last first' if how.descending else ''}"
    ends = _ENDS.get(how.sort, ("lowest first", "highest first"))
    return f"{count} · by {how.sort}, {ends[how.descending]}"


class TraceHeader(Widget):
    """The question in full where there is room, then run, status, scores, labels and costs."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"trace-header--{part}" for part in ("question", "facts", "error", "note")
    }
    DEFAULT_CSS = """
    TraceHeader {
        height: auto; background: $panel; padding: 0 1;
        & > .trace-header--question { text-style: bold; color: $foreground; }
        & > .trace-header--facts { color: $text-primary; }
        & > .trace-header--error { color: $text-error; text-style: bold; }
        & > .trace-header--note { color: $text-warning; text-style: bold; }
    }
    """
    noted = ""
    """What was said last, while it stands there."""
    _facts = ""
    _line: ItemLine | None = None

    def show(self, line: ItemLine, run: str, heads: Sequence[str]) -> None:
        id = _one_line(line.id) + (f" epoch {line.epoch}" if line.epoch else "")
        facts = [_one_line(run), line.status, *item_facts(line, heads, "  "), id]
        self._line, self._facts = line, "  ".join(facts)
        self.refresh(layout=True)

    def note(self, text: str = "") -> None:
        """Say what is shown now in the place of the item's facts, until it is something else."""
        self.noted = text
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        lines = self._lines(width)
        text, style = lines[y] if y < len(lines) else ("", "facts")
        look = self.get_component_rich_style(f"trace-header--{style}")
        return Strip([Segment(fitted(text, width), look)], width)

    def _lines(self, width: int) -> list[tuple[str, str]]:
        if self._line is None or width < 1:
            return [("", "facts")]
        question = _one_line(self._line.question[:_MAX_QUESTION])
        places = list(wrapped(question, width))
        most = 2 if self.app.size.height < 40 else 4
        lines = [(question[start:end], "question") for start, end, _ in places[:most]]
        if len(places) > most:
            lines[-1] = (question[places[most - 1][0] :], "question")
        # Where an answer was lost takes more than a narrow line, and is not to be cut.
        noted = [self.noted[start:end] for start, end, _ in wrapped(self.noted, width)]
        parts = [(part, "note") for part in noted[:_MOST_NOTED]]
        lines += parts if self.noted else [(self._facts, "facts")]
        if self._line.error:
            lines.append((f"✗ {_one_line(self._line.error[:_MAX_QUESTION])}", "error"))
        return lines


def _one_line(text: str) -> str:
    return one_line(harmless(text))


class _Key(NamedTuple):
    """A key of the bar: its first cell, the one after its last, what a click on it presses."""

    left: int
    right: int
    shown: str
    binding: Binding


class KeyBar(Widget):
    """One line, drawn at once (Textual's Footer comes one refresh late). Where it is too short,
    whole keys are left out, help and leaving last; a click presses a key."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-bar--key"}
    DEFAULT_CSS = """
    KeyBar {
        dock: bottom; height: 1; color: $footer-foreground; background: $footer-background;
        & > .key-bar--key { color: $footer-key-foreground; text-style: bold; }
    }
    """

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        self.refresh()

    def render_line(self, y: int) -> Strip:
        plain = self.rich_style
        strong = plain + self.get_component_rich_style("key-bar--key", partial=True)
        segments = []
        for key in self._keys():
            description = Segment(f" {key.binding.description} ", plain)
            segments += [Segment(key.shown, strong), description]
        return Strip(segments).adjust_cell_length(self.size.width, plain)

    def _keys(self) -> Iterator[_Key]:
        """The keys that fit; of several keys for one action the first."""
        actions: dict[str, Binding] = {}
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if binding.show and enabled:
                actions.setdefault(binding.action, binding)
        first, left = ("help", "leave", "dismiss"), 0
        for action in sorted(actions, key=lambda name: name.rpartition(".")[2] not in first):
            binding = actions[action]
            shown = self.app.get_key_display(binding)
            right = left + cells(f"{shown} {binding.description}")
            if right > self.size.width:
                return
            yield _Key(left, right, shown, binding)
            left = right + 1

    def on_click(self, event: Click) -> None:
        for key in self._keys():
            if key.left <= event.x < key.right:
                self.app.simulate_key(key.binding.key)
