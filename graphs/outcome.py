"""How a question ended, as Python gets it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from branchwise.agents.prediction import Prediction
from branchwise.base.text import counted, cut, printable

if TYPE_CHECKING:
    from branchwise.graphs.state import Spent

_MOST_LINES, _MOST_CHARACTERS = 5, 100


@dataclass(frozen=True, repr=False)
class Outcome:
    """The outcome of a question. `how`: strict, tolerant, repaired or failed (a format error).

    `evidence`: ids of the passages given and retrieved, in order, each once. `seconds`: in this
    process. Its repr has a line for each of the first branches, and one for what it took.
    """

    prediction: Prediction
    how: str
    problem: str | None
    evidence: tuple[str, ...]
    spent: "Spent"
    seconds: float

    @property
    def words(self) -> str:
        """How the answer was read, and what it took: "strict, 2 turns, 1 tool call, ..."."""
        spent = self.spent
        how = f"failed: {self.problem}" if self.how == "failed" and self.problem else self.how
        took = (counted(spent.turns, "turn"), counted(spent.calls, "tool call"))
        return ", ".join((how, *took, f"{spent.tokens:,} tokens", f"{self.seconds:.1f} s"))

    def __repr__(self) -> str:
        answers = self.prediction.answers
        lines = [f"{name}: {'; '.join(texts) or '(none)'}" for name, texts in answers.items()]
        if not lines:
            task_output = self.prediction.task_output
            lines = ["no answer" if task_output is None else str(task_output)]
        if len(lines) > _MOST_LINES:
            more = len(lines) - _MOST_LINES + 1
            lines[_MOST_LINES - 1 :] = [f"... and {more} more branches (prediction.answers)"]
        return "\n".join(cut(printable(line), _MOST_CHARACTERS) for line in (*lines, self.words))
