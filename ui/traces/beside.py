"""Answers that no trace can judge: each gold one beside the predicted one that stands for it."""

from collections.abc import Iterable, Sequence

from branchwise.eval.numbers import number
from branchwise.eval.tasks.task import Beside
from branchwise.ui.traces.answers import one_line
from branchwise.ui.traces.trace import AnswerLine, BranchLines


def beside_lines(pairs: Iterable[Beside]) -> list[BranchLines]:
    """A task's own alignment (`Task.beside`).

    No answer is right or wrong: a predicted one says how far it agrees with the gold one.
    """
    found = []
    for pair in pairs:
        why = ", ".join(f"{name} {number(score)}" for name, score in pair.scores)
        name = one_line(pair.gold[0]) if pair.gold else None
        keys = (one_line(pair.predicted[0]),) if pair.predicted else ()
        gold = _lines(pair.gold[1], "") if pair.gold else ()
        predicted = _lines(pair.predicted[1], why) if pair.predicted else ()
        found.append(BranchLines(name, keys, gold, predicted))
    return found


def _lines(texts: Sequence[str], why: str) -> tuple[AnswerLine, ...]:
    return tuple(AnswerLine(one_line(text), "open", why) for text in texts)
