"""Gold answers beside predicted ones; from a lost one it is one key to where it was lost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from branchwise.base.text import cut
from branchwise.ui.trace_app.drawing import fitted, wrapped
from branchwise.ui.traces.trace import SIGNS, WORDS, AnswerLine, BranchLines

NOTHING = "no answers: neither gold nor predicted"
TWO_COLUMNS = 56
"""The width from which gold and predicted answers are side by side."""
_MAX_TEXT = 400


class AnswerPiece(NamedTuple):
    """A line of one column. `answer`: which answer it belongs to, numbered over all branches."""

    text: str
    style: str
    answer: int | None = None


AnswerRow = tuple[AnswerPiece, AnswerPiece | None]
"""What is on a line: a left and a right piece, or one over the whole width."""
_EMPTY = AnswerPiece("", "plain")


def lay_out(branches: Sequence[BranchLines], width: int) -> list[AnswerRow]:
    rows: list[AnswerRow] = []
    number = 0
    for branch in branches:
        if rows:
            rows.append((_EMPTY, None))
        if branch.name is not None:
            rows += ((piece, None) for piece in _wrapped(branch.name, "", width, "branch"))
        sign, style = ("predicted: ", "branch") if branch.name is None else ("= ", "key")
        for key in branch.keys:
            if key != branch.name:
                rows += ((piece, None) for piece in _wrapped(key, sign, width, style))
        predicted = number + len(branch.gold)
        half = width if width < TWO_COLUMNS else (width - 2) // 2
        left = _column("gold", branch.gold, half, number)
        right = _column("predicted", branch.predicted, half, predicted)
        if width < TWO_COLUMNS:
            rows += ((piece, None) for piece in (*left, *right))
        else:
            rows += ((a or _EMPTY, b or _EMPTY) for a, b in zip_longest(left, right))
        number = predicted + len(branch.predicted)
    return rows


def _column(
    title: str, answers: Sequence[AnswerLine], width: int, number: int
) -> Iterator[AnswerPiece]:
    yield AnswerPiece(f"{title} {len(answers)}" if answers else f"{title}: none", "column")
    for n, answer in enumerate(answers, start=number):
        yield from _wrapped(answer.text, f"{SIGNS[answer.verdict]} ", width, answer.verdict, n)
        # The verdict in words, where its sign and its reason do not say it already.
        why = answer.why or ("" if answer.verdict == "right" else WORDS[answer.verdict])
        if why:
            yield from _wrapped(why, "  ", width, "why", n)


def _wrapped(
    text: str, lead: str, width: int, style: str, answer: int | None = None
) -> Iterator[AnswerPiece]:
    text = cut(text, _MAX_TEXT)
    for start, end, _ in wrapped(text, width - len(lead)):
        yield AnswerPiece(lead + text[start:end], style, answer)
        lead = " " * len(lead)


class AnswersView(ScrollView, can_focus=True):
    """The answers of all branches; the cursor is on one of them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *("answers--branch", "answers--key", "answers--column", "answers--why", "answers--cursor"),
        *(f"answers--{verdict}" for verdict in SIGNS),
    }
    DEFAULT_CSS = """
    AnswersView {
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; scrollbar-gutter: stable;
        overflow-x: hidden; padding: 0 0 0 1;
        & > .answers--branch { text-style: bold; color: $text-primary; }
        & > .answers--key { color: $text-primary; }
        & > .answers--column { color: $text-muted; text-style: underline; }
        & > .answers--right { color: $text-success; }
        & > .answers--missing { color: $text-warning; text-style: bold; }
        & > .answers--wrong { color: $text-error; }
        & > .answers--wrong_branch { color: $text-warning; }
        & > .answers--open { color: $text; }
        & > .answers--why { color: $text-muted; text-style: italic; }
        & > .answers--cursor { background: $block-cursor-blurred-background;
            color: $block-cursor-blurred-foreground; }
        &:focus > .answers--cursor { background: $block-cursor-background;
            color: $block-cursor-foreground; }
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

    def __init__(self) -> None:
        super().__init__()
        self.answers: Sequence[AnswerLine] = ()
        """In the order of their numbers: branch by branch, gold before predicted."""
        self.cursor: int | None = None
        """The number of the answer under the cursor; None until the user goes to one."""
        self._identities: Sequence[tuple[str | None, bool, str]] = ()
        self._branches: Sequence[BranchLines] = ()
        self._rows: Sequence[AnswerRow] = ()
        self._note = ""

    def show(self, branches: Sequence[BranchLines], *, keep: bool = False, note: str = "") -> None:
        """Show the answers of another trace, or with `keep` of the same one as it is now, the
        cursor on its answer, wherever that stands; `note` is said above them."""
        here = self._identities[self.cursor] if self.cursor is not None else None
        self._branches, self._note = branches, note
        self.answers, self._identities = [], []
        for branch in branches:
            self.answers += [*branch.gold, *branch.predicted]
            # Predicted answers may change their branch when they are judged again.
            self._identities += [(branch.name, True, line.text) for line in branch.gold]
            self._identities += [(None, False, line.text) for line in branch.predicted]
        known = keep and here in self._identities
        self.cursor = self._identities.index(here) if known and here else None
        if not keep:
            self.scroll_to(0, 0, animate=False, force=True, immediate=True)
        self._lay_out()

    def next_lost(self, direction: int) -> AnswerLine | None:
        """Put the cursor on the next lost gold answer, wrapping around; None if none is lost."""
        lost = []
        for n, (_, is_gold, _) in enumerate(self._identities):
            if is_gold and self.answers[n].verdict in ("missing", "wrong_branch"):
                lost.append(n)
        if not lost:
            return None
        before = -1 if direction > 0 else len(self.answers)
        here = before if self.cursor is None else self.cursor
        ahead = [n for n in lost if (n > here if direction > 0 else n < here)] or lost
        self.go_to(ahead[0 if direction > 0 else -1])
        return self.answers[self.cursor or 0]

    def go_to(self, number: int) -> None:
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
        half = (self._width - 2) // 2
        piece = right if right is not None and event.x > half else left
        if piece.answer is not None:
            self.go_to(piece.answer)
            self.action_jump()

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        number, width = self.scroll_offset.y + y, self._width
        if number >= len(self._rows):
            text = NOTHING if not self.answers and y == 0 else ""
            return Strip([self._segment(AnswerPiece(text, "why"), width)])
        left, right = self._rows[number]
        if right is None:
            return Strip([self._segment(left, width)])
        half = (width - 2) // 2
        between = Segment("  ", self.rich_style)
        return Strip([self._segment(left, half), between, self._segment(right, width - half - 2)])

    def _segment(self, piece: AnswerPiece, width: int) -> Segment:
        here = piece.answer is not None and piece.answer == self.cursor
        name = "cursor" if here else piece.style
        plain = name == "plain"
        style = self.rich_style if plain else self.get_component_rich_style(f"answers--{name}")
        return Segment(fitted(piece.text, width), style)

    @property
    def _width(self) -> int:
        return max(1, self.scrollable_content_region.width)

    def _lay_out(self) -> None:
        note: list[AnswerRow] = [(AnswerPiece(self._note, "why"), None)] if self._note else []
        self._rows = [*note, *lay_out(self._branches, self._width)]
        self.virtual_size = Size(self._width, len(self._rows))
        self.refresh()
