"""The trail of the evidence: where in an item's trace each gold answer was to be seen."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from branchwise.eval.branch_matches import GoldPair


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text was to be seen.

    `step`: number of the event in the trace (its `seq`). `call`: the how-manyth tool call of the
    item it came with, from 1; 0 for passages given with the question. `passage`: id of the passage,
    or None; `row`: index of a query's row or of a name search's match, or None (both are None for
    a tool that returns plain text). `shown`: whether the agent saw it there, after extraction.
    """

    step: int
    call: int
    passage: str | None = None
    row: int | None = None
    shown: bool = True


@dataclass(frozen=True)
class CallCost:
    """A tool call of the item: its event, its tool, and the tokens spent before it was made."""

    step: int
    tool: str
    tokens: int
    error: str | None = None


@dataclass(frozen=True)
class Trail:
    """What a trace says about a question's gold answers.

    `places`: for each gold pair where it is mentioned, in order of the trace; nothing for one that
    was never retrieved. `wrong_places`: the same for predicted texts that are wrong. `calls`: the
    tool calls in the order made. `tokens`: input and output of all model calls of the item.
    """

    places: Mapping[GoldPair, tuple[Place, ...]]
    wrong_places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    calls: tuple[CallCost, ...] = ()
    tokens: int = 0
