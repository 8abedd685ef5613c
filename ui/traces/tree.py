"""A trace in the order in which it is walked: what a model turn brought stands below it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from branchwise.eval.errors.mentions import Mentions
from branchwise.report.terminal.marks import mentions_of
from branchwise.trace.events import (
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
from branchwise.ui.steps.describe import brought, label
from branchwise.ui.traces.trace import Step

MAX_SEARCHED = 50_000
"""Characters of one text that are searched for gold answers."""
MAX_IN_ALL = 2_000_000
"""Characters searched in all texts of a trace together."""
_MODULE_ROLES = ("extractor",)


def steps(events: Sequence[Event], names: Sequence[Sequence[str]] = ()) -> list[Step]:
    """The steps in the order of the tree; with `names`, each with its count of gold answers."""
    seen = _Seen(mentions_of(names)) if names else None
    return [
        Step(
            event.seq,
            event.kind,
            label(event),
            depth,
            event.body.failed,
            seen.gold(event) if seen else None,
        )
        for event, depth in in_order(events)
    ]


@dataclass
class TreeNode:
    """An event with what belongs to it: tool calls below a model turn, extraction below a call, a
    whole conversation below the stage that it is."""

    event: Event
    below: list["TreeNode"] = field(default_factory=list)

    def walk(self, depth: int = 0) -> Iterator[tuple[Event, int]]:
        """This event and those below it, each with its depth."""
        yield self.event, depth
        for node in self.below:
            yield from node.walk(depth + 1)


def in_order(events: Iterable[Event]) -> Iterator[tuple[Event, int]]:
    """Every event with its depth, as the tree is read from top to bottom."""
    for root in tree(events):
        yield from root.walk()


def tree(events: Iterable[Event]) -> list[TreeNode]:
    """The events as a tree, never deeper than four.

    Calls of one turn end in any order; they stand in the order in which the model made them.
    """
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


class _Seen:
    """What texts mention; each text is searched once, since the same passages recur."""

    def __init__(self, mentions: Mentions) -> None:
        self._mentions = mentions
        self._known: dict[str, frozenset[int]] = {}
        self._left = MAX_IN_ALL

    def gold(self, event: Event) -> int | None:
        """How many gold answers are named in what a step brought.

        None where it brought nothing, or where the trace is too long to be searched.
        """
        texts = brought(event)
        if texts is None or self._left <= 0:
            return None
        found: set[int] = set()
        for text in texts:
            found |= self._in(text)
        return len(found)

    def _in(self, text: str) -> frozenset[int]:
        if (found := self._known.get(text)) is None:
            searched = text[:MAX_SEARCHED]
            found = self._known[text] = frozenset(self._mentions.present(searched))
            self._left -= len(searched)
        return found
