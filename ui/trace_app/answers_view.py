"""Gold answers beside predicted ones; from a lost one it is one key to where it was lost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from branchwise.ui.trace_app.drawing import fitted, wrapped
from branchwise.ui.traces.trace import AnswerLine, AnswerVerdict, BranchLines

SIGNS: dict[AnswerVerdict, str] = {
    "right": "✓",
    "missing": "○",
    "wrong": "✗",
    "wrong_branch": "↔",
    "open": "·",
}
WORDS: dict[AnswerVerdict, str] = {
    "right": "right",
    "missing": "missing",
    "wrong": "wrong",
    "wrong_branch": "under the wrong branch",
    "open": "",
}
TWO_COLUMNS = 56
"""The width from which gold and predicted answers are side by side."""
_MAX_TEXT = 400


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A line of one column. `answer`: which answer it belongs to, numbered over all branches."""

    text: str
    style: str
    answer: int | None = None


AnswerRow = tuple[AnswerPiece, AnswerPiece | None]
"""What is on a line: a left and a right piece, or one over the whole width."""


def answers_of(branches: Sequence[BranchLines]) -> list[AnswerLine]:
    """All answers in the order of their numbers: branch by branch, gold before predicted."""
    return [line for branch in branches for line in (*branch.gold, *branch.predicted)]


def lost_of(branches: Sequence[BranchLines]) -> list[int]:
    """Numbers of the gold answers that are missing under their branch."""
    found: list[int] = []
    number = 0
    for branch in branches:
        lost = ("missing", "wrong_branch")
        found += [number + n for n, line in enumerate(branch.gold) if line.verdict in lost]
        number += len(branch.gold) + len(branch.predicted)
    return found


def lay_out(branches: Sequence[BranchLines], width: int) -> list[AnswerRow]:
    """The lines of all branches at a width."""
    rows: list[AnswerRow] = []
    number = 0
    for branch in branches:
        if rows:
            rows.append((AnswerPiece("", "plain"), None))
        rows += [(piece, None) for piece in _heading(branch, width)]
        predicted = number + len(branch.gold)
        rows += _columns(branch, width, number, predicted)
        number = predicted + len(branch.predicted)
    return rows


def _columns(branch: BranchLines, width: int, number: int, predicted: int) -> Iterator[AnswerRow]:
    if width < TWO_COLUMNS:
        for piece in _column("gold", branch.gold, width, number):
            yield piece, None
        for piece in _column("predicted", branch.predicted, width, predicted):
            yield piece, None
        return
    half = (width - 2) // 2
    left = _column("gold", branch.gold, half, number)
    right = _column("predicted", branch.predicted, half, predicted)
    empty = AnswerPiece("", "plain")
    for one, other in zip_longest(left, right):
        yield one or empty, other or empty


def _heading(branch: BranchLines, width: int) -> Iterator[AnswerPiece]:
    if branch.name is not None:
        yield from _wrapped(branch.name, "", width, "branch")
    own = [key for key in branch.keys if key != branch.name]
    sign = "= " if branch.name is not None else "predicted: "
    for key in own:
        yield from _wrapped(key, sign, width, "key" if branch.name is not None else "branch")


def _column(
    title: str, answers: Sequence[AnswerLine], width: int, number: int
) -> Iterator[AnswerPiece]:
    yield AnswerPiece(f"{title} {len(answers)}" if answers else f"{title}: none", "column")
    for answer in answers:
        yield from _wrapped(answer.text, f"{SIGNS[answer.verdict]} ", width, answer.verdict, number)
        words = " · ".join(part for part in (_words(answer), answer.why) if part)
        if words:
            yield from _wrapped(words, "  ", width, "why", number)
        number += 1


def _words(answer: AnswerLine) -> str:
    """The verdict in words, where its sign and its reason do not say it already."""
    return "" if answer.verdict == "right" or answer.why else WORDS[answer.verdict]


def _wrapped(
    text: str, first: str, width: int, style: str, answer: int | None = None
) -> Iterator[AnswerPiece]:
    text = text[: _MAX_TEXT - 1] + "…" if len(text) > _MAX_TEXT else text
    lead = first
    for start, end, _ in wrapped(text, width - len(first)):
        yield AnswerPiece(lead + text[start:end], style, answer)
        lead = " " * len(first)


NOTHING = "no answers: neither gold nor predicted"


class AnswersView(ScrollView, can_focus=True):
    """The answers of all branches; the cursor is on one of them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "answers--branch",
        "answers--key",
        "answers--column",
        "answers--right",
        "answers--missing",
        "answers--wrong",
        "answers--wrong_branch",
        "answers--open",
        "answers--why",
        "answers--cursor",
    }
    DEFAULT_CSS = """
    AnswersView {
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        scrollbar-gutter: stable;
        overflow-x: hidden;
        padding: 0 0 0 1;
    }
    AnswersView > .answers--branch { text-style: bold; color: $text-primary; }
    AnswersView > .answers--key { color: $text-primary; }
    AnswersView > .answers--column { color: $text-muted; text-style: underline; }
    AnswersView > .answers--right { color: $text-success; }
    AnswersView > .answers--missing { color: $text-warning; text-style: bold; }
    AnswersView > .answers--wrong { color: $text-error; }
    AnswersView > .answers--wrong_branch { color: $text-warning; }
    AnswersView > .answers--open { color: $text; }
    AnswersView > .answers--why { color: $text-muted; text-style: italic; }
    AnswersView > .answers--cursor {
        background: $block-cursor-blurred-background;
        color: $block-cursor-blurred-foreground;
    }
    AnswersView:focus > .answers--cursor {
        background: $block-cursor-background;
        color: $block-cursor-foreground;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False, tooltip="To the next answer"),
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="To the previous answer"),
        Binding("enter", "jump", "Jump", show=False, tooltip="To where the answer was lost"),
    ]

    @dataclass
    class Jump(Message):
        """The user wants to see where this answer was lost, or where it was to be seen."""

        answer: AnswerLine

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.answers: Sequence[AnswerLine] = ()
        self.cursor: int | None = None
        """The number of the answer under the cursor; None until the user goes to one."""
        self._branches: Sequence[BranchLines] = ()
        self._rows: Sequence[AnswerRow] = ()
        self._note = ""

    def show(self, branches: Sequence[BranchLines], *, keep: bool = False, note: str = "") -> None:
        """Show the answers of another trace, or with `keep` those of the same one as it is now.

        The cursor stays on its answer then, wherever that stands now. `note` is said above them.
        """
        here = _identities(self._branches)[self.cursor] if self.cursor is not None else None
        self._branches, self.answers, self._note = branches, answers_of(branches), note
        now = _identities(branches)
        self.cursor = now.index(here) if keep and here in now else None
        if not keep:
            self.scroll_to(0, 0, animate=False, force=True, immediate=True)
        self._lay_out()

    def next_lost(self, direction: int) -> AnswerLine | None:
        """Put the cursor on the next lost gold answer, wrapping around; None if none is lost."""
        lost = lost_of(self._branches)
        if not lost:
            return None
        here = (
            self.cursor if self.cursor is not None else -1 if direction > 0 else len(self.answers)
        )
        ahead = [n for n in lost if (n > here if direction > 0 else n < here)] or lost
        self.go_to(ahead[0 if direction > 0 else -1])
        return self.answers[self.cursor or 0]

    def go_to(self, number: int) -> None:
        """Put the cursor on an answer and bring it into view."""
        self.cursor = number
        ys = [y for y, row in enumerate(self._rows) if any(p and p.answer == number for p in row)]
        if ys and self.size.height:
            top, height = self.scroll_offset.y, self.size.height
            y = min(max(top, ys[-1] - height + 1), ys[0])
            self.scroll_to(None, y, animate=False, force=True, immediate=True)
        self.refresh()

    def action_move(self, by: int) -> None:
        if self.answers:
            here = self.cursor if self.cursor is not None else -1 if by > 0 else 0
            self.go_to(min(max(0, here + by), len(self.answers) - 1))

    def action_jump(self) -> None:
        if self.cursor is None:
            self.action_move(1)
        if self.cursor is not None:
            self.post_message(self.Jump(self.answers[self.cursor]))

    def on_click(self, event: events.Click) -> None:
        y = self.scroll_offset.y + event.y
        if not 0 <= y < len(self._rows):
            return
        left, right = self._rows[y]
        half = (self._width() - 2) // 2
        piece = right if right is not None and event.x > half else left
        if piece.answer is not None:
            self.go_to(piece.answer)
            self.action_jump()

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        width = self._width()
        number = self.scroll_offset.y + y
        if number >= len(self._rows):
            text = NOTHING if not self.answers and y == 0 else ""
            return Strip([self._segment(AnswerPiece(text, "why"), width)])
        left, right = self._rows[number]
        if right is None:
            return Strip([self._segment(left, width)])
        half = (width - 2) // 2
        between = Segment("  ", self.rich_style)
        rest = width - half - 2
        return Strip([self._segment(left, half), between, self._segment(right, rest)])

    def _segment(self, piece: AnswerPiece, width: int) -> Segment:
        style = self.rich_style if piece.style == "plain" else self._style(piece.style)
        if piece.answer is not None and piece.answer == self.cursor:
            style = self._style("cursor")
        return Segment(fitted(piece.text, width), style)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"answers--{name}")

    def _width(self) -> int:
        return max(1, self.scrollable_content_region.width)

    def _lay_out(self) -> None:
        note: list[AnswerRow] = [(AnswerPiece(self._note, "why"), None)] if self._note else []
        self._rows = [*note, *lay_out(self._branches, self._width())]
        self.virtual_size = Size(self._width(), len(self._rows))
        self.refresh()


def _identities(branches: Sequence[BranchLines]) -> list[tuple[str | None, bool, str]]:
    """What identifies each answer when it is judged again: predicted ones may change their
    branch."""
    found: list[tuple[str | None, bool, str]] = []
    for branch in branches:
        found += [(branch.name, True, line.text) for line in branch.gold]
        found += [(None, False, line.text) for line in branch.predicted]
    return found
