"""The answers of two traces in paired rows: which only one of them gives."""

from collections.abc import Iterator, Sequence

from branchwise.ui.trace_app.answer_lines import SIGNS, WORDS
from branchwise.ui.trace_app.widgets.paired_lines import PairedLine, PairedLines
from branchwise.ui.traces.answer_comparison import AnswerPair, BranchPair, only
from branchwise.ui.traces.trace import AnswerLine

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
