"""What is above a trace: the question, and how its item went, each on as few lines as it needs."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from branchwise.base.numbers import number
from branchwise.base.text import one_line
from branchwise.report.terminal.blocks import harmless
from branchwise.ui.trace_app.cells import fitted
from branchwise.ui.trace_app.widgets.question_columns import seconds_cell
from branchwise.ui.trace_app.wrapping import wrapped
from branchwise.ui.traces.lines import ItemLine, named

_MAX_QUESTION = 2_000


class TraceHeader(Widget):
    """The question in full where there is room, then run, status, scores, labels and costs."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "trace-header--question",
        "trace-header--facts",
        "trace-header--error",
        "trace-header--note",
    }
    DEFAULT_CSS = """
    TraceHeader { height: auto; background: $panel; padding: 0 1; }
    TraceHeader > .trace-header--question { text-style: bold; color: $foreground; }
    TraceHeader > .trace-header--facts { color: $text-primary; }
    TraceHeader > .trace-header--error { color: $text-error; text-style: bold; }
    TraceHeader > .trace-header--note { color: $text-warning; text-style: bold; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._line: ItemLine | None = None
        self._facts = ""
        self._note = ""

    def show(self, line: ItemLine, run: str, heads: Sequence[str]) -> None:
        """Show another item, or the same as it is now. `heads` name the three metrics."""
        self._line, self._facts = line, "  ".join(_facts(line, run, heads))
        self.refresh(layout=True)

    @property
    def noted(self) -> str:
        """What was said last, while it stands there."""
        return self._note

    def note(self, text: str = "") -> None:
        """Say what is shown now in the place of the item's facts, until it is something else."""
        self._note = text
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        lines = self._lines(width)
        text, style = lines[y] if y < len(lines) else ("", "facts")
        found = self.get_component_rich_style(f"trace-header--{style}")
        return Strip([Segment(fitted(text, width), found)], width)

    def _lines(self, width: int) -> list[tuple[str, str]]:
        if self._line is None or width < 1:
            return [("", "facts")]
        question = _one_line(self._line.question[:_MAX_QUESTION])
        places = list(wrapped(question, width))
        most = 2 if self.app.size.height < 40 else 4
        lines = [(question[start:end], "question") for start, end, _ in places[:most]]
        if len(places) > most:
            lines[-1] = (question[places[most - 1][0] :], "question")
        lines.append((self._note, "note") if self._note else (self._facts, "facts"))
        if self._line.error:
            lines.append((f"✗ {_one_line(self._line.error[:_MAX_QUESTION])}", "error"))
        return lines


def _facts(line: ItemLine, run: str, heads: Sequence[str]) -> Iterator[str]:
    yield _one_line(run)
    yield line.status
    if line.status in ("done", "failed"):
        scores = named(heads, line.scores)
        yield "  ".join(f"{head} {number(value)}" for head, value in scores)
    if line.tokens is not None:
        yield f"{line.tokens:,} tokens"
    if line.seconds is not None:
        yield f"{seconds_cell(line).strip()} s"
    if line.labels:
        yield ", ".join(line.labels)
    yield _one_line(line.id) + (f" epoch {line.epoch}" if line.epoch else "")


def _one_line(text: str) -> str:
    return one_line(harmless(text))
