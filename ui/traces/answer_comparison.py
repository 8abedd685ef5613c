"""The answers of two traces of one question: which only one of them has."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from branchwise.base.normalise import normalise
from branchwise.ui.traces.trace import AnswerLine, BranchLines, Trace


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """An answer and what it is in each trace; None where a trace does not have it.

    `gold`: a gold answer, which each trace has with a verdict; else a predicted text that is not a
    gold answer of its branch.
    """

    text: str
    gold: bool
    a: AnswerLine | None = None
    b: AnswerLine | None = None

    def side(self, side: int) -> AnswerLine | None:
        """The line of the first trace (0) or of the second (1)."""
        return self.b if side else self.a

    def has(self, side: int) -> bool:
        """Whether that trace gives this answer, under this branch."""
        line = self.side(side)
        if line is None:
            return False
        return line.verdict == "right" if self.gold else True


@dataclass(frozen=True, slots=True)
class BranchPair:
    """A gold branch (`name`), or a predicted one that stands for none (None), in both traces.

    `keys`: the predicted branches of each trace that stand for it.
    """

    name: str | None
    keys: tuple[tuple[str, ...], tuple[str, ...]]
    answers: tuple[AnswerPair, ...]


def compare_answers(a: Trace, b: Trace) -> list[BranchPair]:
    """Gold branches in their order, then predicted branches that stand for none, by their keys.

    Predicted texts are one answer where nothing that counts differs (`corpora.normalise`). Gold
    answers without a verdict (`open`) are left out: it is undecided which trace has them.
    """
    found = [_branch(name, *both) for name, both in _by_name(a, b)]
    return found + [_branch(None, *both) for both in _standing_alone(a, b)]


def only(pairs: Iterable[BranchPair], side: int) -> list[AnswerPair]:
    """The answers that this trace alone gives: right ones and wrong ones."""
    answers = (answer for pair in pairs for answer in pair.answers)
    return [answer for answer in answers if answer.has(side) and not answer.has(1 - side)]


_Both = tuple[BranchLines | None, BranchLines | None]


def _by_name(a: Trace, b: Trace) -> Iterator[tuple[str, _Both]]:
    named = [
        {branch.name: branch for branch in t.branches if branch.name is not None} for t in (a, b)
    ]
    for name in dict.fromkeys([*named[0], *named[1]]):
        yield name, (named[0].get(name), named[1].get(name))


def _standing_alone(a: Trace, b: Trace) -> Iterator[_Both]:
    alone = [_by_keys(trace) for trace in (a, b)]
    for key in dict.fromkeys([*alone[0], *alone[1]]):
        yield alone[0].get(key), alone[1].get(key)


def _by_keys(trace: Trace) -> dict[tuple[str, int], BranchLines]:
    """By normalised key, and the how-manyth of this key it is: none hides another."""
    found: dict[tuple[str, int], BranchLines] = {}
    for branch in trace.branches:
        if branch.name is None:
            key = normalise(" / ".join(branch.keys))
            found[key, sum(known == key for known, _ in found)] = branch
    return found


def _branch(name: str | None, a: BranchLines | None, b: BranchLines | None) -> BranchPair:
    keys = (a.keys if a else (), b.keys if b else ())
    gold = _paired([_by_text(_gold(side), str) for side in (a, b)], gold=True)
    others = _paired([_by_text(_others(side), normalise) for side in (a, b)], gold=False)
    return BranchPair(name, keys, (*gold, *others))


def _gold(branch: BranchLines | None) -> list[AnswerLine]:
    lines = branch.gold if branch else ()
    return [line for line in lines if line.verdict != "open"]


def _others(branch: BranchLines | None) -> list[AnswerLine]:
    """Predicted answers that are not already listed as gold answers."""
    lines = branch.predicted if branch else ()
    return [line for line in lines if line.verdict != "right"]


def _by_text(lines: Sequence[AnswerLine], key: Callable[[str], str]) -> dict[str, AnswerLine]:
    """The first line of each text, in their order."""
    found: dict[str, AnswerLine] = {}
    for line in lines:
        found.setdefault(key(line.text), line)
    return found


def _paired(sides: Sequence[Mapping[str, AnswerLine]], *, gold: bool) -> Iterator[AnswerPair]:
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        a, b = sides[0].get(key), sides[1].get(key)
        text = a.text if a else b.text if b else ""
        yield AnswerPair(text, gold, a, b)
