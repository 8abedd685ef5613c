"""The evidence for gold answers: where in an item's trace each gold answer was to be seen."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from branchwise.eval.branch_matches import GoldPair
from branchwise.eval.errors.sightings import Sighting, given_passages, sightings
from branchwise.eval.errors.targets import Targets
from branchwise.trace.conversation import Conversation, ToolCall
from branchwise.trace.events import Start

MAX_TOOL_CHARS, MAX_PROBLEM_CHARS = 80, 500
"""Of a tool's name (a model may make one up) and of a problem in words, so much is kept."""


@dataclass(frozen=True, slots=True)
class EvidencePlace:
    """Where a text was to be seen.

    `step`: number of the event in the trace (its `seq`). `call`: the how-manyth tool call of the
    item it came with, from 1; 0 for passages given with the question. `passage`: id of the passage,
    or None; `row`: index of a query's row or of a name search's match, or None (both are None for
    a tool that returns plain text). `shown`: whether the agent saw it there: extraction left the
    mention, and the result was in a request that was answered. A result that is left out of later
    requests, to fit the context window, was shown before; one that never fitted was not.
    `node`: step of the plug-in's node that took it out of what the agent saw, if one did.
    """

    step: int
    call: int
    passage: str | None = None
    row: int | None = None
    shown: bool = True
    node: int | None = None


@dataclass(frozen=True)
class CallCost:
    """A tool call of the item: its event, its tool, and the tokens spent before it was made.

    `tokens` are input and output of all model calls until then, the one that made it included.
    """

    step: int
    tool: str
    tokens: int
    error: str | None = None

    @classmethod
    def of(cls, call: ToolCall) -> "CallCost":
        """The cost of a call, with one line about why it has no result, if it has none."""
        error, tool = call.result.error, call.result.call.tool[:MAX_TOOL_CHARS]
        problem = None if error is None else error[:MAX_PROBLEM_CHARS]
        return cls(call.step, tool, call.tokens, problem)


@dataclass(frozen=True)
class GoldEvidence:
    """What a trace says about a question's gold answers.

    `places`: for each gold pair where it is mentioned, in order of the trace; nothing for one that
    was never retrieved. `wrong_places`: the same for predicted texts that are wrong. `calls`: the
    tool calls in the order made. `tokens`: input and output of all model calls of the item.
    `extracted`: steps of the results of which the agent saw what evidence extraction had left.
    """

    places: Mapping[GoldPair, tuple[EvidencePlace, ...]]
    wrong_places: Mapping[str, tuple[EvidencePlace, ...]] = field(default_factory=dict)
    calls: tuple[CallCost, ...] = ()
    tokens: int = 0
    extracted: frozenset[int] = frozenset()

    def dropped(self, place: EvidencePlace) -> bool:
        """Whether it was extraction that kept the agent from seeing the text there."""
        return not place.shown and place.node is None and place.step in self.extracted


def gold_evidence(targets: Targets, reading: Conversation) -> GoldEvidence:
    """Where in an item's trace the gold answers of a question are, and predicted texts.

    Evidence is what tools returned (passages with their titles, rows, matches, else their text)
    and the passages given with the question; never the text of a call that failed, which repeats
    what was asked.
    """
    found: dict[int, list[EvidencePlace]] = defaultdict(list)
    for shown, hidden, sighting in _placed(targets, reading):
        for thing in sighting.things:
            place = shown if thing in sighting.shown else hidden
            if (node := sighting.taken.get(thing)) is not None:
                place = replace(hidden, node=node)
            found[thing].append(place)
    places = {n: tuple(sorted(listed, key=_step)) for n, listed in found.items()}
    first_text = len(targets.pairs)
    return GoldEvidence(
        places={
            pair: places[thing]
            for thing, pairs in enumerate(targets.pairs)
            if thing in places
            for pair in pairs
        },
        wrong_places={
            text: places[first_text + n]
            for n, text in enumerate(targets.texts)
            if first_text + n in places
        },
        calls=tuple(map(CallCost.of, reading.calls)),
        tokens=reading.tokens,
        extracted=frozenset(
            step
            for call in reading.calls
            if call.extraction is not None and call.seen
            for step in (call.step, *(change.step for change in call.changes))
        ),
    )


def _placed(
    targets: Targets, reading: Conversation
) -> Iterator[tuple[EvidencePlace, EvidencePlace, Sighting]]:
    """Each sighting with its place, as one that was shown and as one that was not."""
    for step, number, sighting in _sightings(targets, reading):
        at = step if sighting.step is None else sighting.step
        shown = EvidencePlace(at, number, sighting.passage, sighting.row)
        if len(sighting.shown) == len(sighting.things):
            yield shown, shown, sighting
        else:
            yield shown, EvidencePlace(at, number, sighting.passage, sighting.row, False), sighting


def _sightings(targets: Targets, reading: Conversation) -> Iterator[tuple[int, int, Sighting]]:
    """Each sighting with its step and the number of its call."""
    start = reading.start
    if start is not None and isinstance(start.body, Start):
        for sighting in given_passages(start.body, targets):
            yield start.seq, 0, sighting
    for call in reading.calls:
        for sighting in sightings(call, targets):
            yield call.step, call.number, sighting


def _step(place: EvidencePlace) -> int:
    return place.step
