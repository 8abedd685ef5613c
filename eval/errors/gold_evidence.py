"""The evidence for gold answers: where in an item's trace each gold answer was to be seen."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import compress
from operator import attrgetter, not_
from typing import NamedTuple

from branchwise.eval.branch_matches import GoldPair
from branchwise.eval.errors.sightings import Sighting, given_passages, sightings
from branchwise.eval.errors.targets import Targets
from branchwise.trace.conversation import Conversation, ToolCall
from branchwise.trace.events import Start

MAX_TOOL_CHARS, MAX_PROBLEM_CHARS = 80, 500
"""Of a tool's name (a model may make one up) and of a problem in words, so much is kept."""
_STEP = attrgetter("step")


class EvidencePlace(NamedTuple):
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


class CallCost(NamedTuple):
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


@dataclass(frozen=True, slots=True)
class GoldEvidence:
    """What a trace says about a question's gold answers.

    `places`: for each gold pair where it was retrieved, in order of the trace; nothing for one that
    never was. A row, or a text that is not a passage, brings what it mentions; a passage does where
    gold counts it as support of the pair, or names no support. `wrong_places`: where predicted
    texts that are wrong are mentioned. `calls`: the tool calls in the order made. `tokens`: input
    and output of all model calls of the item. `extracted`: steps of the results of which the agent
    saw what evidence extraction had left. `elsewhere`: the passages that mention a gold pair and do
    not support it.
    """

    places: Mapping[GoldPair, tuple[EvidencePlace, ...]]
    wrong_places: Mapping[str, tuple[EvidencePlace, ...]] = field(default_factory=dict)
    calls: tuple[CallCost, ...] = ()
    tokens: int = 0
    extracted: frozenset[int] = frozenset()
    elsewhere: Mapping[GoldPair, tuple[EvidencePlace, ...]] = field(default_factory=dict)

    def dropped(self, place: EvidencePlace) -> bool:
        """Whether it was extraction that kept the agent from seeing the text there."""
        return not place.shown and place.node is None and place.step in self.extracted


def gold_evidence(targets: Targets, reading: Conversation) -> GoldEvidence:
    """Where in an item's trace the gold answers of a question are, and predicted texts.

    Evidence is what tools returned (passages with their titles, rows, matches, else their text)
    and the passages given with the question; never the text of a call that failed, which repeats
    what was asked.
    """
    found = _found(targets, reading)
    places, elsewhere = _told_apart(found, targets)
    return GoldEvidence(
        places=places,
        wrong_places={
            text: found[thing]
            for thing, text in enumerate(targets.texts, len(targets.pairs))
            if thing in found
        },
        calls=tuple(map(CallCost.of, reading.calls)),
        tokens=reading.tokens,
        extracted=frozenset(
            step
            for call in reading.calls
            if call.extraction is not None and call.seen
            for step in (call.step, *(change.step for change in call.changes))
        ),
        elsewhere=elsewhere,
    )


def _found(targets: Targets, reading: Conversation) -> dict[int, tuple[EvidencePlace, ...]]:
    """Where each thing is mentioned, in order of the trace."""
    found: dict[int, list[EvidencePlace]] = defaultdict(list)
    for step, number, sighting in _sightings(targets, reading):
        for things, place in _placed(step, number, sighting):
            for thing in things:
                found[thing].append(place)
    return {thing: tuple(sorted(places, key=_STEP)) for thing, places in found.items()}


def _placed(
    step: int, number: int, sighting: Sighting
) -> Iterator[tuple[Iterable[int], EvidencePlace]]:
    """A sighting's things by what became of them: shown, not shown, or taken out by a node."""
    things, shown, passage, row, taken, brought_at = sighting
    at = step if brought_at is None else brought_at
    if shown:
        yield shown, EvidencePlace(at, number, passage, row)
    if shown == things:  # as nearly always
        return
    if hidden := things - shown - taken.keys():
        yield hidden, EvidencePlace(at, number, passage, row, shown=False)
    for thing, node in taken.items():
        yield (thing,), EvidencePlace(at, number, passage, row, shown=False, node=node)


_Places = dict[GoldPair, tuple[EvidencePlace, ...]]


def _told_apart(
    found: Mapping[int, tuple[EvidencePlace, ...]], targets: Targets
) -> tuple[_Places, _Places]:
    """Where each gold pair was retrieved, and the passages that only mention it."""
    places: _Places = {}
    elsewhere: _Places = {}
    for thing, pairs in enumerate(targets.pairs):
        for pair in pairs if thing in found else ():
            every, support = found[thing], targets.support[pair]
            states = [not support or at.passage is None or at.passage in support for at in every]
            if any(states):
                places[pair] = tuple(compress(every, states))
            if not all(states):
                elsewhere[pair] = tuple(compress(every, map(not_, states)))
    return places, elsewhere


def _sightings(targets: Targets, reading: Conversation) -> Iterator[tuple[int, int, Sighting]]:
    """Each sighting with its step and the number of its call."""
    start = reading.start
    if start is not None and isinstance(start.body, Start):
        for sighting in given_passages(start.body, targets):
            yield start.seq, 0, sighting
    for call in reading.calls:
        for sighting in sightings(call, targets):
            yield call.step, call.number, sighting
