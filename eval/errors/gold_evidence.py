"""The evidence for gold answers: where in an item's trace each gold answer was to be seen.

The gold entities of a question and the predicted texts that are wrong are numbered things
(`Targets`). A trace is read piece by piece: what each mentions, and what of it the agent saw.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from operator import attrgetter, not_
from typing import NamedTuple

from branchwise.base.normalise import MAX_CHARACTERS
from branchwise.corpora.questions import Question
from branchwise.eval.branch_scores import GoldBranches, GoldPair, gold_pairs
from branchwise.eval.errors.mentions import Mentions, TextSpan
from branchwise.trace.artifacts import other_pieces
from branchwise.trace.conversation import Change, Conversation, ToolCall
from branchwise.trace.events import Start
from branchwise.trace.parts import Extracted

TargetNumbers = frozenset[int]
"""Numbers of the things found."""

_QID = re.compile(r"Q[1-9]\d*")
_CUT = re.compile(r"\n\[cut: \d+ characters\]\Z")
_MAX_CUT = 60
_NOTHING: TargetNumbers = frozenset()
MAX_TOOL_CHARS, MAX_PROBLEM_CHARS = 80, 500
"""Of a tool's name (a model may make one up) and of a problem in words, so much is kept."""


class Targets:
    """Gold entities and texts by number; each text of a trace is searched once. `pairs[n]`: the
    gold pairs that target n is (one entity may answer several branches); target `len(pairs) + m` is
    the m-th of `texts`. `forms`: how each gold pair is written. `support`: the ids of the passages
    that state it under its branch, empty where gold names none."""

    def __init__(self, gold: GoldBranches, question: Question, texts: Sequence[str]) -> None:
        # All names that each Wikidata id has anywhere in the question.
        aliases: dict[str, set[str]] = defaultdict(set)
        for answer in (answer for branch in question.branches for answer in branch.answers):
            if answer.qid:
                aliases[answer.qid].update(answer.forms)
        numbers: dict[tuple[frozenset[str], frozenset[str]], int] = {}
        self.pairs: list[list[GoldPair]] = []
        self.forms: dict[GoldPair, tuple[str, ...]] = {}
        self.support: dict[GoldPair, frozenset[str]] = {}
        self._number: dict[GoldPair, int] = {}
        self._qids: list[frozenset[str]] = []
        self._by_qid: dict[str, set[int]] = defaultdict(set)
        self.texts = tuple(texts)
        for pair in gold_pairs(gold):
            entity = gold.sets[pair.branch].entities[pair.entity]
            forms = {form for answer in entity.answers for form in answer.forms}
            forms = forms.union(*(aliases.get(qid, ()) for qid in entity.qids))
            written = frozenset(form for form in forms if form.strip())
            number = numbers.setdefault((written, entity.qids), len(numbers))
            if number == len(self.pairs):
                self.pairs.append([])
                self._qids.append(entity.qids)
            self.pairs[number].append(pair)
            self._number[pair] = number
            self.forms[pair] = tuple(sorted(written))
            self.support[pair] = entity.support
            for qid in entity.qids:
                self._by_qid[qid].add(number)
        texts_looked_for = ([text[:MAX_CHARACTERS]] for text in self.texts)
        self._looked_for = [*(sorted(names) for names, _ in numbers), *texts_looked_for]
        self._passages: dict[tuple[str, str], TargetNumbers] = {}
        self._names: dict[str, TargetNumbers] = {}
        self._among: dict[tuple[TargetNumbers, str], TargetNumbers] = {}

    @cached_property
    def _mentions(self) -> Mentions:
        # Made with the first text that is searched: a predictions file has none.
        return Mentions(self._looked_for)

    def in_passage(self, title: str, text: str) -> TargetNumbers:
        key = (title, text)
        if (numbers := self._passages.get(key)) is None:
            present = self._mentions.present(f"{title}\n{text}")
            numbers = self._passages[key] = frozenset(present) if present else _NOTHING
        return numbers

    def in_text(self, text: str) -> TargetNumbers:
        if (numbers := self._names.get(text)) is None:
            numbers = self._names[text] = frozenset(self._mentions.present(text))
        return numbers

    def spans(self, pair: GoldPair, text: str) -> list[TextSpan]:
        number = self._number[pair]
        return self._mentions.find(text, among=[number]).get(number, [])

    def among(self, numbers: TargetNumbers, text: str) -> TargetNumbers:
        key = (numbers, text)
        if (mentioned := self._among.get(key)) is None:
            mentioned = self._among[key] = frozenset(self._mentions.present(text, among=numbers))
        return mentioned

    def named(self, id: str, names: Iterable[str]) -> TargetNumbers:
        """Which targets an entity of a graph is, by its id or names; what has Wikidata ids is none
        with another id, whatever the names say: such questions are about shared names."""
        by_id = self._by_qid.get(id, ())
        numbers = _NOTHING.union(*(self.in_text(name) for name in names if name), by_id)
        if not numbers or not _QID.fullmatch(id):
            return numbers
        return numbers - {n for n, qids in enumerate(self._qids) if qids and id not in qids}


class Sighting(NamedTuple):
    """A piece of evidence: what it mentions, and which of these the agent saw there. `taken`: of
    the others, the step of the node that took them out. `step`: of the node that brought the piece;
    None for what the tool itself brought."""

    mentioned: TargetNumbers
    shown: TargetNumbers
    passage: str | None = None
    row: int | None = None
    taken: Mapping[int, int] = {}
    step: int | None = None


class _ChangedResult:
    """A tool result as the node of a step left it."""

    def __init__(self, change: Change, targets: Targets) -> None:
        artifact = change.message.found
        self.step, self._targets = change.step, targets
        self.content = change.message.content
        # By id; None where its artifact lists none.
        self.passages = {p.id: p for p in artifact.passages} if artifact.lists_passages else None

    def visible(self, numbers: TargetNumbers, passage: str | None) -> TargetNumbers:
        """Which of these a reader of the text sees; nothing of a passage that is not listed."""
        if passage is not None and self.passages is not None and passage not in self.passages:
            return frozenset()
        return numbers & self._targets.in_text(self.content)


def _changed(
    pieces: Iterable[Sighting], changed_by: Sequence[Change], targets: Targets
) -> Iterator[Sighting]:
    """What a tool brought, with what nodes left of it, and then what nodes brought themselves: the
    agent saw the last of the texts."""
    changes = [_ChangedResult(change, targets) for change in changed_by]
    last = changes[-1]
    known: set[int] = set()
    ids: set[str | None] = set()
    for piece in pieces:
        known |= piece.mentioned
        ids.add(piece.passage)
        seen = [change.visible(piece.mentioned, piece.passage) for change in changes]
        taken = {
            number: next(c.step for c, own in zip(changes, seen, strict=True) if number not in own)
            for number in piece.mentioned - seen[-1]
        }
        yield piece._replace(shown=piece.shown & seen[-1], taken=taken)
    for id, passage in (last.passages or {}).items():
        if id not in ids and (fresh := targets.in_passage(passage.title, passage.text) - known):
            known |= fresh
            brought_by = next(c.step for c in changes if id in (c.passages or {}))
            yield Sighting(fresh, last.visible(fresh, id), id, step=brought_by)
    for change in changes:
        if fresh := targets.in_text(change.content) - known:
            known |= fresh
            yield Sighting(fresh, last.visible(fresh, None), step=change.step)


def _sightings(call: ToolCall, targets: Targets) -> Iterator[Sighting]:
    """Passages, rows, matches by name, or the text of a tool that has none of them, and what nodes
    brought; nothing for a call that failed, whose text repeats what was asked."""
    pieces = _brought(call, targets) if call.result.error is None else iter(())
    if call.changes:
        pieces = _changed(pieces, call.changes, targets)
    for piece in pieces:
        if piece.step is not None and call.extraction is not None:
            # What a node brought, less what extraction, which read this, cut off then.
            seen = piece.shown & targets.in_text(call.extraction.content)
            piece = piece._replace(shown=seen)
        if piece.mentioned:
            yield piece if call.seen else piece._replace(shown=frozenset())


def _brought(call: ToolCall, targets: Targets) -> Iterator[Sighting]:
    content, artifact = call.result.content, call.result.found
    # What the extraction made of each passage; None for one that it left alone.
    records: Sequence[Extracted | None] = call.extraction.passages if call.extraction else ()
    if records and [r.id for r in records if r] != [p.id for p in artifact.passages]:
        by_id = {record.id: record for record in records if record}
        records = [by_id.get(passage.id) for passage in artifact.passages]
    visible = targets.in_text(content) if _CUT.search(content[-_MAX_CUT:]) else None
    # Most of the work on a trace is here: the same passages come again and again.
    for number, passage in enumerate(artifact.passages):
        mentioned = shown = targets.in_passage(passage.title, passage.text)
        if not mentioned:
            continue
        record = records[number] if records else None
        if record is not None:
            shown = _in_spans(record, passage.title, mentioned, targets)
        elif visible is not None:
            shown = mentioned & visible
        yield Sighting(mentioned, shown, passage.id)
    for piece in other_pieces(artifact, content):
        # Entities by the id at the end of their IRI and by their names, texts by what they say.
        named = (targets.named(re.split("[/#]", iri)[-1], names) for iri, names in piece.things)
        mentioned = _NOTHING.union(*named, *map(targets.in_text, piece.texts))
        if mentioned:
            yield Sighting(mentioned, mentioned, row=piece.number)


def _in_spans(
    record: Extracted, title: str, mentioned: TargetNumbers, targets: Targets
) -> TargetNumbers:
    """What the agent sees of a passage: all where extraction failed or took the whole, nothing
    without a span, else the title and the spans."""
    if record.how == "failed" or record.whole:
        return mentioned
    seen = _NOTHING
    for text in (title, *record.spans) if record.spans else ():
        if seen == mentioned:
            break
        seen |= targets.among(mentioned, text)
    return seen


class EvidencePlace(NamedTuple):
    """Where a text was to be seen.

    `step`: number of the event in the trace (its `seq`). `call`: the how-manyth tool call of the
    item it came with, from 1; 0 for passages given with the question. `passage`: its id; `row`:
    index of a query's row or of a name search's match; both are None for plain text. `shown`:
    whether the agent saw it there: extraction left the mention, and the result was in a request
    that was answered. `node`: step of the plug-in's node that took it out, if one did.
    """

    step: int
    call: int
    passage: str | None = None
    row: int | None = None
    shown: bool = True
    node: int | None = None


_Places = tuple[EvidencePlace, ...]


class CallCost(NamedTuple):
    """A tool call: its event, its tool, and the tokens of all model calls until then."""

    step: int
    tool: str
    tokens: int
    error: str | None = None

    @classmethod
    def of(cls, call: ToolCall) -> "CallCost":
        error, tool = call.result.error, call.result.call.tool[:MAX_TOOL_CHARS]
        problem = None if error is None else error[:MAX_PROBLEM_CHARS]
        return cls(call.step, tool, call.tokens, problem)


@dataclass(frozen=True, slots=True)
class GoldEvidence:
    """What a trace says about a question's gold answers.

    `places`: where each gold pair was retrieved, in order of the trace. A row, or a text that is
    not a passage, brings what it mentions; a passage does where gold counts it as support of the
    pair, or names no support. `wrong_places`: where predicted texts that are wrong are mentioned.
    `tokens`: input and output of all model calls. `extracted`: steps of the results of which the
    agent saw what extraction had left. `elsewhere`: passages that mention a gold pair and do not
    support it.
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
    """Where in an item's trace the gold answers of a question are, and predicted texts: in what
    tools returned and the passages given with the question."""
    sighted = _places_of_targets(targets, reading)
    places, elsewhere = _by_support(sighted, targets)
    return GoldEvidence(
        places=places,
        wrong_places={
            text: sighted[number]
            for number, text in enumerate(targets.texts, len(targets.pairs))
            if number in sighted
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


def _places_of_targets(targets: Targets, reading: Conversation) -> dict[int, _Places]:
    places: dict[int, list[EvidencePlace]] = defaultdict(list)

    def add(step: int, call: int, sighting: Sighting) -> None:
        mentioned, shown, passage, row, taken, brought_at = sighting
        at = EvidencePlace(step if brought_at is None else brought_at, call, passage, row)
        for number in mentioned:
            hidden = number not in shown
            there = at._replace(shown=False, node=taken.get(number)) if hidden else at
            places[number].append(there)

    if (start := reading.start) is not None and isinstance(start.body, Start):
        for passage in start.body.given.passages:  # these are in every request
            if mentioned := targets.in_passage(passage.title, passage.text):
                add(start.seq, 0, Sighting(mentioned, mentioned, passage.id))
    for call in reading.calls:
        for sighting in _sightings(call, targets):
            add(call.step, call.number, sighting)
    return {number: tuple(sorted(own, key=attrgetter("step"))) for number, own in places.items()}


def _by_support(
    sighted: Mapping[int, _Places], targets: Targets
) -> tuple[dict[GoldPair, _Places], dict[GoldPair, _Places]]:
    """Where each gold pair was retrieved, and the passages that only mention it."""
    places: dict[GoldPair, _Places] = {}
    elsewhere: dict[GoldPair, _Places] = {}
    for number, pairs in enumerate(targets.pairs):
        for pair in pairs if number in sighted else ():
            every, support = sighted[number], targets.support[pair]
            states = [not support or at.passage is None or at.passage in support for at in every]
            if any(states):
                places[pair] = tuple(compress(every, states))
            if not all(states):
                elsewhere[pair] = tuple(compress(every, map(not_, states)))
    return places, elsewhere
