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
from textual.strip import Strip

from branchwise.ui.trace_app.drawing import cells, fitted
from branchwise.ui.trace_app.question_list import item_facts
from branchwise.ui.trace_app.step_tree import CursorList, walking
from branchwise.ui.traces.comparison import AnswerPair, BranchPair, StepPair, TraceComparison, only
from branchwise.ui.traces.lines import ItemLine, RunLine
from branchwise.ui.traces.trace import SIGNS, WORDS, AnswerLine, Step

CURSOR = "›"
PARTED = "─── here they part "
_BETWEEN = 3
"""Cells between the halves: the sign, with a space on each side."""


@dataclass(frozen=True, slots=True)
class PairedLine:
    """One line. `looks`: component classes of the halves; `ends` stand at their right, never
    cut; `chosen`: the cursor may stand on it; `across`: over the whole width, with `fill`."""

    left: str = ""
    sign: str = " "
    right: str = ""
    looks: tuple[str, str] = ("", "")
    ends: tuple[str, str] = ("", "")
    chosen: bool = True
    across: str | None = None
    fill: str = " "


class PairedLines(CursorList):
    """Lines over which a cursor walks on one side, marked with a sign: colour is never alone."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *("paired--cursor", "paired--beside", "paired--sign", "paired--same", "paired--differs"),
        *("paired--failed", "paired--right", "paired--wrong", "paired--strong", "paired--across"),
    }
    DEFAULT_CSS = """
    PairedLines {
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        .paired--cursor { background: $block-cursor-background; color: $block-cursor-foreground;
            text-style: bold; }
        .paired--beside { background: $block-cursor-blurred-background; }
        .paired--sign, .paired--same { color: $text-muted; }
        .paired--differs { color: $foreground; }
        .paired--failed, .paired--wrong { color: $text-error; }
        .paired--right { color: $text-success; }
        .paired--strong { text-style: bold; }
        .paired--across { color: $text-warning; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", tooltip="Open what is on the line"),
        *walking("line"),
        Binding("left,h", "to_side(0)", "Left", show=False, tooltip="To the left side"),
        Binding("right,l", "to_side(1)", "Right", show=False, tooltip="To the right side"),
    ]
    side: reactive[int] = reactive(0)

    @dataclass
    class Moved(Message):
        """The cursor stands on another line or on the other side."""

    @dataclass
    class Opened(Message):
        """The line was opened: by enter, or by a second click."""

        lines: "PairedLines"

    def __init__(self) -> None:
        super().__init__()
        self.lines: Sequence[PairedLine] = ()

    def set_lines(self, lines: Sequence[PairedLine], cursor: int | None = None) -> None:
        """Show these lines; the cursor goes to `cursor`, or stays where it was."""
        self.lines, self.length = lines, len(lines)
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        self.cursor = self.nearest(self.cursor if cursor is None else cursor, 1)
        self.refresh()
        self.into_view()

    def nearest(self, line: int, by: int) -> int:
        """The line there that may be chosen, else the next one in the direction, else before."""
        line = super().nearest(line, by)
        onwards, back = range(line, self.length), range(line, -1, -1)
        ways = (*onwards, *back) if by > 0 else (*back, *onwards)
        return next((n for n in ways if n < self.length and self.lines[n].chosen), 0)

    def into_view(self) -> None:
        """The cursor's line, and the heading above the first one."""
        if self.lines:
            top = 0 if not any(line.chosen for line in self.lines[: self.cursor]) else self.cursor
            region = Region(0, top, 1, self.cursor - top + 1)
            self.scroll_to_region(region, animate=False, force=True)

    def watch_cursor(self) -> None:
        self.into_view()
        self.watch_side()

    def watch_side(self) -> None:
        self.refresh()
        self.post_message(self.Moved())

    def action_open(self) -> None:
        if self.lines:
            self.post_message(self.Opened(self))

    def action_to_side(self, side: int) -> None:
        self.side = side

    def on_resize(self, _: events.Resize) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, self.length)
        self.into_view()

    def on_click(self, event: events.Click) -> None:
        line = event.y + self.scroll_offset.y
        if 0 <= line < self.length and self.lines[line].chosen:
            left = (self.scrollable_content_region.width - _BETWEEN) // 2
            self.side = int(event.x >= left + _BETWEEN // 2)
            self.cursor = line
            if event.chain == 2:
                self.action_open()

    def render_line(self, y: int) -> Strip:
        width, number = self.scrollable_content_region.width, y + self.scroll_offset.y
        if number >= self.length or width <= _BETWEEN:
            return Strip.blank(width, self.rich_style)
        line = self.lines[number]
        if line.across is not None:
            text = fitted(line.across + line.fill * (width - cells(line.across)), width)
            return Strip([Segment(text, self._look(line.looks[0] or "across"))], width)
        left = (width - _BETWEEN) // 2
        here = number == self.cursor and line.chosen
        between = Segment(f" {line.sign} ", self._look("sign"))
        halves = self._half(line, 0, left, here), self._half(line, 1, width - left - _BETWEEN, here)
        return Strip([halves[0], between, halves[1]], width)

    def _half(self, line: PairedLine, side: int, width: int, here: bool) -> Segment:
        end, focused = line.ends[side], here and side == self.side
        text = (CURSOR if focused else " ") + (line.right if side else line.left)
        look = self._look(line.looks[side], "cursor" if focused else "beside" if here else "")
        return Segment(fitted(text, max(0, width - cells(end))) + end, look)

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
        names, states = [], []
        for n, (run, item, own) in enumerate(zip(runs, items, heads, strict=True)):
            fork = f"  fork of {run.parent}" if run.parent else ""
            names.append(f"{CURSOR if side == n else ' '}{run.name}{fork}  {run.system}")
            # Scores come first: they are seen on a narrow screen, too.
            status = [] if item.status == "done" else [item.status]
            states.append(f" {'  '.join([*status, *item_facts(item, own, ' ')])}")
        strong = ("strong", "strong")
        first = PairedLine(names[0], " ", names[1], strong, chosen=False)
        self.set_lines([first, PairedLine(states[0], " ", states[1], chosen=False)])


class StepPairs(PairedLines):
    """Rows of a comparison of steps; the first difference has a line of its own above it."""

    compared = TraceComparison(())

    def show(self, compared: TraceComparison, row: int) -> None:
        self.compared = compared
        lines = [_step_line(pair) for pair in compared.pairs]
        if not lines:
            lines = [PairedLine(across="nothing recorded yet", looks=("same", ""), chosen=False)]
        if compared.parted is not None:
            lines.insert(compared.parted, PairedLine(across=PARTED, fill="─", chosen=False))
        self.set_lines(lines, self._line_of(row))

    def go_to_row(self, row: int) -> None:
        """Put the cursor on a row of the comparison, with those before it in view."""
        self.cursor = self.nearest(self._line_of(row), 1)
        height = self.scrollable_content_region.height
        self.scroll_to(y=max(0, self.cursor - height // 3), animate=False, force=True)

    @property
    def row(self) -> int:
        parted = self.compared.parted
        return self.cursor - (parted is not None and self.cursor > parted)

    @property
    def step(self) -> Step | None:
        return self.step_of(self.side)

    def step_of(self, side: int) -> Step | None:
        pairs = self.compared.pairs
        return pairs[self.row].side(side) if self.row < len(pairs) else None

    def _line_of(self, row: int) -> int:
        parted = self.compared.parted
        return row + (parted is not None and row >= parted)


def _step_line(pair: StepPair) -> PairedLine:
    """A sign for an error, the number, the label indented below the step that it belongs to."""
    texts, looks, ends = [], [], []
    for step in (pair.a, pair.b):
        failed = step is not None and step.failed
        looks.append("failed" if failed else "same" if pair.same else "differs")
        ends.append(f" {step.gold} gold" if step and step.gold else "")
        sign = "✗" if failed else " "
        texts.append(f"{sign}{step.seq:>3} {'  ' * step.depth}{step.label}" if step else "")
    sign = "=" if pair.same else "≠" if pair.a and pair.b else " "
    return PairedLine(texts[0], sign, texts[1], (looks[0], looks[1]), (ends[0], ends[1]))


class AnswerPairs(PairedLines):
    """Each gold branch with its answers in both traces, then what was predicted besides. `<`,
    `>` and `=`: what the left, the right, or both give."""

    _answers: Sequence[AnswerPair | None] = ()

    def show(self, pairs: Sequence[BranchPair], names: tuple[str, str], *, keep: bool) -> None:
        nothing = _across("no answers: neither gold nor predicted", "same")
        rows = list(_answer_rows(pairs, names)) if pairs else [(nothing, None)]
        self._answers = [answer for _, answer in rows]
        self.set_lines([line for line, _ in rows], None if keep else 0)

    @property
    def answer(self) -> AnswerLine | None:
        pair = self._answers[self.cursor] if self.cursor < len(self._answers) else None
        return pair.side(self.side) if pair else None


def _across(text: str, look: str) -> PairedLine:
    return PairedLine(across=text, looks=(look, ""), chosen=False)


def _answer_rows(
    pairs: Sequence[BranchPair], names: tuple[str, str]
) -> Iterator[tuple[PairedLine, AnswerPair | None]]:
    alone = (f"{'<>'[n]} only {name}: {len(only(pairs, n))}" for n, name in enumerate(names))
    yield _across("   ".join(alone), "same"), None
    for pair in pairs:
        if pair.name is not None:
            yield _across(pair.name, "strong"), None
        if any(key != pair.name for keys in pair.keys for key in keys):
            # What each run calls the branch, where that is not its name.
            sign, look = ("predicted: ", "strong") if pair.name is None else ("= ", "same")
            left, right = (
                sign + ", ".join(keys) if {*keys} - {pair.name} else "" for keys in pair.keys
            )
            yield PairedLine(left, " ", right, (look, look), chosen=False), None
        for answer in pair.answers:
            yield _answer_line(answer), answer


def _answer_line(answer: AnswerPair) -> PairedLine:
    texts, looks = [], []
    for line in (answer.a, answer.b):
        text = look = ""
        if line is not None:
            why = line.why or ("" if line.verdict == "right" else WORDS[line.verdict])
            text = f" {SIGNS[line.verdict]} {line.text}" + (f" · {why}" if why else "")
            look = {"right": "right", "open": ""}.get(line.verdict, "wrong")
        texts.append(text)
        looks.append(look)
    has = answer.has(0), answer.has(1)
    alike = answer.a and answer.b and answer.a.verdict == answer.b.verdict
    sign = "<" if has == (True, False) else ">" if has == (False, True) else "=" if alike else " "
    return PairedLine(texts[0], sign, texts[1], (looks[0], looks[1]))
