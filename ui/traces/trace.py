"""One item's trace: its steps as a tree, its answers beside the gold, each step in full."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from branchwise.corpora.passages import Passage
from branchwise.corpora.questions import Branch
from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.errors.labels import Label
from branchwise.eval.items import AnsweredItem
from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.marks import mentions_of
from branchwise.trace.artifacts import ShownPassage
from branchwise.trace.events import (
    AnswerRead,
    Error,
    Event,
    Extraction,
    LeftOut,
    Model,
    Node,
    Remark,
    Retry,
    Stage,
    StageEnded,
    Tool,
)
from branchwise.ui.steps import parts, words
from branchwise.ui.steps.parts import Looked
from branchwise.ui.traces.lines import ItemLine

AnswerVerdict = Literal["right", "missing", "wrong", "wrong_branch", "open"]
"""Of a gold answer: right, missing, or under a wrong branch (wrong_branch); of a predicted one:
right, wrong, or of another branch (wrong_branch). `open`: undecided, since the item has not ended
or its answers are sentences."""
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
MAX_SEARCHED = 50_000
"""Characters of one text that are searched for gold answers."""
MAX_IN_ALL = 2_000_000
"""Characters searched in all texts of a trace together."""
_MODULE_ROLES = ("extractor",)


@dataclass(frozen=True, slots=True)
class Step:
    """A row of the tree of steps: the event's number, what it did on one line (harmless).
    `depth`: 0 of the item, 1 below a model turn, 2 below a tool call, one more in a stage.
    `gold`: gold answers named in what it brought; None if they were not looked for."""

    seq: int
    kind: str
    label: str
    depth: int = 0
    failed: bool = False
    gold: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A gold or predicted answer with its verdict, on one line (harmless). `why`: where it was
    lost or belongs; `places`: where it was to be seen, the first that decided; `step`: where to
    jump without one. `in_corpus`: of one never retrieved, a passage of the corpus that has it."""

    text: str
    verdict: AnswerVerdict
    why: str = ""
    places: tuple[EvidencePlace, ...] = ()
    step: int | None = None
    in_corpus: str | None = None


@dataclass(frozen=True, slots=True)
class BranchLines:
    """A gold branch (None: there is none) and the predicted branches that stand for it."""

    name: str | None
    keys: tuple[str, ...]
    gold: tuple[AnswerLine, ...]
    predicted: tuple[AnswerLine, ...]


@dataclass(frozen=True)
class Trace:
    """All of one item. `errors`: None for tasks whose answers are sentences. `names`: each gold
    answer's forms. `unjudged`: the item while its errors have yet to be worked out.
    `is_damaged`: its events cannot be read. `gold_set`: which of several gold sets `gold` is."""

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
        return next((event for event in self.events if event.seq == seq), None)


def blocks(trace: Trace, seq: int) -> list[Block]:
    """What a step shows, its heading first; empty if the trace has no such step. Marked are gold
    answers, and wrong texts that are not a gold answer of any branch."""
    event = trace.event(seq)
    if event is None:
        return []
    wrong = trace.errors.wrong if trace.errors else ()
    texts = dict.fromkeys(w.text for w in wrong if w.label is not Label.WRONG_BRANCH)
    looked = Looked(trace.names, tuple((text,) for text in texts))
    return words.blocks(event, words.Around(trace.events, trace.errors, looked))


def first_shown(trace: Trace) -> int | None:
    """The step at which a trace opens: its answer or what ended it, else the newest one."""
    ends = [event.seq for event in trace.events if isinstance(event.body, AnswerRead | Error)]
    return ends[-1] if ends else trace.steps[-1].seq if trace.steps else None


def unfound_blocks(trace: Trace, answer: AnswerLine, passage: Passage, ranked: str) -> list[Block]:
    """The passage of the corpus that has an answer which was never retrieved, the answer marked."""
    forms = next((forms for forms in trace.names if answer.text in forms), [answer.text])
    shown = ShownPassage(passage.model_dump())
    return [
        parts.heading(f"never retrieved: {answer.text}"),
        *parts.note("a passage of the corpus that names it", *filter(None, (ranked,))),
        *parts.passage_blocks(shown, Looked((tuple(forms),))),
    ]


def steps(events: Sequence[Event], names: Sequence[Sequence[str]] = ()) -> list[Step]:
    """The steps in the order of the tree; with `names`, each with its count of gold answers."""
    mentions, left = mentions_of(names), MAX_IN_ALL
    # Each text is searched once, since the same passages recur.
    known: dict[str, frozenset[int]] = {}
    rows = []
    for event, depth in in_order(events):
        gold = None
        if names and left > 0 and (texts := words.brought(event)) is not None:
            answers: set[int] = set()
            for text in texts:
                if text not in known:
                    searched = text[:MAX_SEARCHED]
                    known[text] = frozenset(mentions.present(searched))
                    left -= len(searched)
                answers |= known[text]
            gold = len(answers)
        label, failed = words.label(event), event.body.failed
        rows.append(Step(event.seq, event.kind, label, depth, failed, gold))
    return rows


@dataclass
class TreeNode:
    """An event with what belongs to it: of a turn its calls, of a stage its conversation."""

    event: Event
    below: list["TreeNode"] = field(default_factory=list)

    def walk(self, depth: int = 0) -> Iterator[tuple[Event, int]]:
        yield self.event, depth
        for node in self.below:
            yield from node.walk(depth + 1)


def in_order(events: Iterable[Event]) -> Iterator[tuple[Event, int]]:
    """Every event with its depth, as the tree is read from top to bottom."""
    for root in tree(events):
        yield from root.walk()


def tree(events: Iterable[Event]) -> list[TreeNode]:
    """The events as a tree, never deeper than four; calls stand in the order of their turn."""
    roots: list[TreeNode] = []
    turns: list[TreeNode] = []
    stage: TreeNode | None = None
    turn: TreeNode | None = None
    for event in events:
        node = TreeNode(event)
        if isinstance(event.body, Stage | Error):
            stage = turn = None
        home = _home(event, turn) or stage
        (roots if home is None else home.below).append(node)
        match event.body:
            case Model():
                turn = node
                turns.append(node)
            case Stage():
                stage = node
            case StageEnded():
                stage = turn = None
    for turn in turns:
        # Stable: events that belong to no call of the turn stay after those that do.
        turn.below.sort(key=lambda node: _place(node.event))
    return roots


def _home(event: Event, turn: TreeNode | None) -> TreeNode | None:
    """The node that an event belongs to; None for a step of the item itself, or of a stage."""
    if turn is None:
        return None
    match event.body:
        case Tool():
            return turn
        case Extraction(of=of):
            calls = (node for node in turn.below if isinstance(node.event.body, Tool))
            return next((call for call in calls if _place(call.event) == of), turn)
        case Node(slot="after_tools"):
            return turn if turn.below else None
        case Retry(role=role) | LeftOut(role=role) | Remark(role=role) if role in _MODULE_ROLES:
            return turn if turn.below else None
    return None


def _place(event: Event) -> float:
    body = event.body
    return body.of if isinstance(body, Tool | Extraction) else float("inf")
