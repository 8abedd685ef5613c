"""One item's trace: its steps as a tree, its answers beside the gold, each step in full."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from branchwise.corpora.questions import Branch
from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.errors.labels import Label
from branchwise.eval.items import AnsweredItem
from branchwise.report.terminal.blocks import Block
from branchwise.trace.events import Event
from branchwise.ui.steps import describe
from branchwise.ui.steps.parts import Looked
from branchwise.ui.steps.words import Around
from branchwise.ui.traces.lines import ItemLine

AnswerVerdict = Literal["right", "missing", "wrong", "wrong_branch", "open"]
"""Of a gold answer: right, missing, or under a wrong branch (wrong_branch); of a predicted one:
right, wrong, or of another branch (wrong_branch). `open`: undecided, since the item has not ended
or its answers are sentences."""


@dataclass(frozen=True, slots=True)
class Step:
    """A row of the tree of steps.

    `seq` is the event's number in the trace, `label` what it did on one line (harmless), `depth` 0
    for the steps of the item, 1 for what belongs to a model turn (its tool calls), 2 for the
    extraction below its tool call; within a stage one more. `failed`: the step brought an error.
    `gold`: gold answers named in what it brought; None if they were not looked for.
    """

    seq: int
    kind: str
    label: str
    depth: int = 0
    failed: bool = False
    gold: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A gold or predicted answer with its verdict, on one line (harmless).

    `why` says where a missing or wrong one was lost or belongs, in words; `places` where it was to
    be seen, the one that decided first: one key leads there. `step` is the step to jump to where
    no place is known (the step at which it was lost). `in_corpus`: of one that was never retrieved,
    a passage of the corpus that has it.
    """

    text: str
    verdict: AnswerVerdict
    why: str = ""
    places: tuple[EvidencePlace, ...] = ()
    step: int | None = None
    in_corpus: str | None = None


@dataclass(frozen=True, slots=True)
class BranchLines:
    """A gold branch beside the predicted branches that stand for it.

    `name` is None for predicted branches that stand for no gold branch; `keys` are empty where no
    predicted branch stands for it.
    """

    name: str | None
    keys: tuple[str, ...]
    gold: tuple[AnswerLine, ...]
    predicted: tuple[AnswerLine, ...]


@dataclass(frozen=True)
class Trace:
    """All of one item. `errors` is None for tasks whose answers are sentences.

    `names`: for each gold answer its text and aliases, to be marked in passages. `unjudged`: the
    item, where its errors have yet to be worked out of its events (`reading.judged`). `is_damaged`:
    its events cannot be read. `gold`: the branches that the item is scored against, `gold_set` says
    in words which they are where its question has several gold sets.
    """

    line: ItemLine
    events: Sequence[Event]
    steps: Sequence[Step]
    branches: Sequence[BranchLines]
    errors: ItemErrors | None = None
    names: Sequence[Sequence[str]] = ()
    outcome: Mapping[str, Any] | None = field(default=None, repr=False)
    unjudged: AnsweredItem | None = field(default=None, repr=False)
    is_damaged: bool = False
    gold: Sequence[Branch] = ()
    gold_set: str = ""

    def event(self, seq: int) -> Event | None:
        """The event of a step; None if the trace has no event with this number."""
        return next((event for event in self.events if event.seq == seq), None)


def blocks(trace: Trace, seq: int) -> list[Block]:
    """What a step shows, its heading first; empty if the trace has no such step."""
    event = trace.event(seq)
    if event is None:
        return []
    return describe.blocks(event, Around(trace.events, trace.errors, looked_for(trace)))


def looked_for(trace: Trace) -> Looked:
    """The texts to mark everywhere: gold answers, and wrong texts that are not a gold answer of any
    branch."""
    wrong = trace.errors.wrong if trace.errors else ()
    texts = dict.fromkeys(w.text for w in wrong if w.label is not Label.WRONG_BRANCH)
    return Looked(trace.names, tuple((text,) for text in texts))
