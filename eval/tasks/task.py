"""What a task is: how a kind of question is put to an agent, and how its answers are scored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem

Setting = Literal["search", "given", "direct"]
"""The agent has tools / finds fixed passages in its prompt / has neither."""

Metrics = Mapping[str, float | None]
"""Metric key to value; None is unscored on purpose and stays out of the mean."""


@dataclass(frozen=True)
class Column:
    """A metric in the report table.

    `heading` may hold one line break; columns with the same `table` stand side by side; `note`
    is the line under the table that says what the number means. A metric that `needs_evidence`
    is left unscored where no item of a set was shown any passage (no tools, or answers from a
    file): zero would blame the agent for what nobody recorded.
    """

    key: str
    heading: str
    table: str
    digits: int = 2
    note: str = ""
    needs_evidence: bool = False


class Task(Protocol):
    """A kind of question. Stateless; `get_task` returns the one instance of each.

    `format` is the answer format that the parser reads (a key of `agents.formats.FORMATS`);
    `version` changes whenever a score of the same item may change; `matcher` says by what
    predicted branches are aligned with gold ones.
    """

    name: str
    version: int
    format: str
    matcher: str
    columns: tuple[Column, ...]

    def setting(self, question: Question, has_tools: bool) -> Setting:
        """How this question is asked of an agent with or without tools."""
        ...

    def prompt(self, setting: Setting) -> str:
        """Name of the prompt file for a setting that `setting` returns, without its ending."""
        ...

    def user_message(self, question: Question, setting: Setting) -> str:
        """What the agent is asked: see `ask`."""
        ...

    def fragments(self, question: Question, setting: Setting) -> tuple[str, ...]:
        """Ids of the passages in the user message, in the order numbered; else empty."""
        ...

    def score(self, item: AnsweredItem) -> Metrics:
        """All metrics of one item."""
        ...


def ask(question: Question, setting: Setting) -> str:
    """The user message: the question in one line; with given passages also these, numbered from 1.

    Blocks are apart by an empty line, each passage as `Fragment k: title`, then its text.
    """
    line = " ".join(question.question.split())
    if setting != "given":
        return line
    blocks = [
        f"Fragment {k}: {' '.join(passage.title.split())}\n{passage.text}"
        for k, passage in enumerate(question.passages, start=1)
    ]
    return "\n\n".join([line, *blocks])
