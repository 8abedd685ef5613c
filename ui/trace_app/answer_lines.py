"""Gold and predicted answers laid out in two columns, or one below the other where it is narrow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from branchwise.ui.trace_app.wrapping import wrapped
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
