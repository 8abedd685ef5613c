"""Lines in two halves: what one run has on the left, what another has on the right."""

from collections.abc import Iterator, Sequence
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

from branchwise.base.numbers import number
from branchwise.ui.trace_app.answers_view import SIGNS, WORDS
from branchwise.ui.trace_app.drawing import cells, fitted
from branchwise.ui.trace_app.question_list import seconds_cell
from branchwise.ui.traces.comparison import AnswerPair, BranchPair, StepPair, TraceComparison, only
from branchwise.ui.traces.lines import ItemLine, RunLine, named
from branchwise.ui.traces.trace import AnswerLine, Step

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


class PairHeads(PairedLines, can_focus=False):
    """Two lines: the runs with what was set for them, and their items."""

    def show(
        self,
        runs: Sequence[RunLine],
        items: Sequence[ItemLine],
        heads: Sequence[Sequence[str]],
        side: int,
    ) -> None:
        """Show them, two of each. `heads` name the metrics of each run's task; the cursor is on
        `side`."""
        names = [f"{_mark(side == n)}{_run(run)}" for n, run in enumerate(runs)]
        said = [f"{_item(item, own)}" for item, own in zip(items, heads, strict=True)]
        strong, plain = ("strong", "strong"), ("", "")
        self.set_lines(
            [
                PairedLine(names[0], " ", names[1], strong, chosen=False),
                PairedLine(said[0], " ", said[1], plain, chosen=False),
            ]
        )


def _mark(here: bool) -> str:
    return CURSOR if here else " "


def _run(run: RunLine) -> str:
    fork = f"  fork of {run.parent}" if run.parent else ""
    return f"{run.name}{fork}  {run.system}"


def _item(item: ItemLine, heads: Sequence[str]) -> str:
    """Scores first: they are seen on a narrow screen, too."""
    scores = named(heads, item.scores)
    said = [] if item.status == "done" else [item.status]
    if item.status in ("done", "failed"):
        said.append(" ".join(f"{head} {number(value)}" for head, value in scores))
    if item.tokens is not None:
        said.append(f"{item.tokens:,} tokens")
    if item.seconds is not None:
        said.append(f"{seconds_cell(item).strip()} s")
    if item.labels:
        said.append(", ".join(item.labels))
    return f" {'  '.join(said)}"


PARTED = "─── here they part "
_NOTHING = PairedLine(across="nothing recorded yet", looks=("same", ""), chosen=False)
_SEVERAL_DIGITS = 3


class StepPairs(PairedLines):
    """Rows of a comparison; the first difference has a line of its own above it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.compared = TraceComparison(())

    def show(self, compared: TraceComparison, row: int | None = None) -> None:
        """Show these rows, the cursor on `row` or where it was."""
        self.compared = compared
        lines = [_step_line(pair) for pair in compared.pairs] or [_NOTHING]
        if compared.parted is not None:
            lines.insert(compared.parted, PairedLine(across=PARTED, fill="─", chosen=False))
        self.set_lines(lines, None if row is None else self._line_of(row))

    def go_to_row(self, row: int) -> None:
        """Put the cursor on a row of the comparison, with those before it in view."""
        self.go_to(self._line_of(row))

    @property
    def row(self) -> int:
        """The row that the cursor is on."""
        parted = self.compared.parted
        return self.cursor - (parted is not None and self.cursor > parted)

    @property
    def step(self) -> Step | None:
        """The step of the focused side in that row; None where this side has none."""
        return self.step_of(self.side)

    def step_of(self, side: int) -> Step | None:
        """The step of a side in the cursor's row."""
        pairs = self.compared.pairs
        return pairs[self.row].side(side) if self.row < len(pairs) else None

    def _line_of(self, row: int) -> int:
        parted = self.compared.parted
        return row + (parted is not None and row >= parted)


def _step_line(pair: StepPair) -> PairedLine:
    both = pair.a is not None and pair.b is not None
    sign = "=" if pair.same else "≠" if both else " "
    looks = (_step_look(pair, pair.a), _step_look(pair, pair.b))
    return PairedLine(
        _step_words(pair.a), sign, _step_words(pair.b), looks, (_gold(pair.a), _gold(pair.b))
    )


def _step_look(pair: StepPair, step: Step | None) -> str:
    if step is not None and step.failed:
        return "failed"
    return "same" if pair.same else "differs"


def _step_words(step: Step | None) -> str:
    """A sign for an error, the number, the label indented below the step that it belongs to."""
    if step is None:
        return ""
    sign = "✗" if step.failed else " "
    return f"{sign}{step.seq:>{_SEVERAL_DIGITS}} {'  ' * step.depth}{step.label}"


def _gold(step: Step | None) -> str:
    return f" ●{step.gold}" if step and step.gold else ""


NOTHING = PairedLine(
    across="no answers: neither gold nor predicted", looks=("same", ""), chosen=False
)


class AnswerPairs(PairedLines):
    """Each gold branch with its answers in both traces, then what was predicted besides.

    `<` and `>` stand beside what only the left or only the right one gives, `=` beside what is the
    same in both.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._answers: list[AnswerPair | None] = []

    def show(self, pairs: Sequence[BranchPair], names: tuple[str, str], *, keep: bool) -> None:
        """Show the answers of the runs of these names; with `keep` the cursor stays."""
        rows = list(_rows(pairs, names)) or [(NOTHING, None)]
        self._answers = [answer for _, answer in rows]
        self.set_lines([line for line, _ in rows], None if keep else 0)

    @property
    def answer(self) -> AnswerLine | None:
        """The answer under the cursor, of the focused side."""
        pair = self._answers[self.cursor] if self.cursor < len(self._answers) else None
        return pair.side(self.side) if pair else None


_Row = tuple[PairedLine, AnswerPair | None]


def _rows(pairs: Sequence[BranchPair], names: tuple[str, str]) -> Iterator[_Row]:
    if not pairs:
        return
    alone = (f"{sign} only {name}: {len(only(pairs, side))}" for side, (sign, name) in
             enumerate(zip("<>", names, strict=True)))  # fmt: skip
    yield _across("   ".join(alone), "same"), None
    for pair in pairs:
        if pair.name is not None:
            yield _across(pair.name, "strong"), None
        if any(key != pair.name for keys in pair.keys for key in keys):
            yield _keys(pair), None
        for answer in pair.answers:
            yield _line(answer), answer


def _across(text: str, look: str) -> PairedLine:
    return PairedLine(across=text, looks=(look, ""), chosen=False)


def _keys(pair: BranchPair) -> PairedLine:
    """What each run calls the branch, where that is not its name."""
    sign = "predicted: " if pair.name is None else "= "
    left, right = (
        sign + ", ".join(keys) if any(key != pair.name for key in keys) else ""
        for keys in pair.keys
    )
    look = "strong" if pair.name is None else "same"
    return PairedLine(left, " ", right, (look, look), chosen=False)


def _line(answer: AnswerPair) -> PairedLine:
    has = answer.has(0), answer.has(1)
    alike = answer.a and answer.b and answer.a.verdict == answer.b.verdict
    sign = "<" if has == (True, False) else ">" if has == (False, True) else "=" if alike else " "
    return PairedLine(_words(answer.a), sign, _words(answer.b), (_look(answer.a), _look(answer.b)))


def _words(line: AnswerLine | None) -> str:
    if line is None:
        return ""
    why = line.why or ("" if line.verdict == "right" else WORDS[line.verdict])
    return f" {SIGNS[line.verdict]} {line.text}" + (f" · {why}" if why else "")


def _look(line: AnswerLine | None) -> str:
    looks = {"right": "right", "missing": "wrong", "wrong": "wrong", "wrong_branch": "wrong"}
    return looks.get(line.verdict, "") if line else ""
