"""Two traces of one question side by side: which step stands beside which, which answers differ."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from branchwise.base.normalise import normalise
from branchwise.trace.events import (
    KINDS,
    Body,
    Event,
    Extraction,
    LeftOut,
    Model,
    Remark,
    Retry,
    Tool,
    Unknown,
)
from branchwise.ui.traces.trace import AnswerLine, BranchLines, Step, Trace

MAX_CELLS = 250_000
"""Steps of the one times steps of the other that are aligned, about a fifth of a second; what is
longer stands beside each other in its order."""
_SAME, _ALIKE, _OF_A_KIND = 4, 2, 1


@dataclass(frozen=True, slots=True)
class StepPair:
    """A row: a step of each trace, or of one alone. `same`: of one kind and content."""

    a: Step | None
    b: Step | None
    same: bool = False

    def side(self, side: int) -> Step | None:
        """The step of the first trace (0) or of the second (1)."""
        return self.b if side else self.a


@dataclass(frozen=True)
class TraceComparison:
    """The rows, in the order of both traces. `parted`: the row of their first difference.

    None if there is none: the current end of an unfinished trace is not a difference.
    """

    pairs: tuple[StepPair, ...]
    parted: int | None = None

    def row_of(self, side: int, seq: int) -> int | None:
        """The row that has this step of this side."""
        steps = (pair.side(side) for pair in self.pairs)
        return next((n for n, step in enumerate(steps) if step and step.seq == seq), None)


def compare(a: Trace, b: Trace) -> TraceComparison:
    """Pair the steps of two traces: the same opening, then the pairing with most in common.

    Steps of one kind and content are the same even if time, tokens and call ids differ. The
    pairing maximises the weight of the pairs (the same 4, of one kind 1, by the same tool or both
    replies 2), as global alignment of sequences does (Needleman and Wunsch 1970, gaps free); what
    is left between two pairs stands side by side.
    """
    steps, keys = (a.steps, b.steps), (_keys(a), _keys(b))
    opening = _shared(keys[0], keys[1])
    rest = [side[opening:] for side in keys]
    pairs = [StepPair(x, y, True) for x, y in zip(*(s[:opening] for s in steps), strict=True)]
    for i, j in _alignment(rest[0], rest[1]):
        x = None if i is None else steps[0][opening + i]
        y = None if j is None else steps[1][opening + j]
        same = i is not None and j is not None and rest[0][i] == rest[1][j]
        pairs.append(StepPair(x, y, same))
    return TraceComparison(tuple(pairs), _parted(pairs, (_goes_on(a), _goes_on(b))))


@dataclass(frozen=True, slots=True)
class _Key:
    """What a step is compared by: its kind, what sort of it (tool or role, a call or a reply), and
    its content."""

    kind: str
    by: str
    content: str


def _keys(trace: Trace) -> list[_Key]:
    events = {event.seq: event for event in trace.events}
    return [_key(step, events.get(step.seq)) for step in trace.steps]


def _key(step: Step, event: Event | None) -> _Key:
    if event is None:
        return _Key(step.kind, "", step.label)
    body = event.body
    # What could not be read of a step may differ, too.
    content = event.data if body.problems else body.without_around()
    return _Key(event.kind, _by(body), json.dumps(content, sort_keys=True, default=str))


def _by(body: Body) -> str:
    match body:
        case Tool() | Extraction():
            return body.call.tool
        case Model():
            return f"{body.role} {'calls' if body.calls else 'says'}"
        case Retry() | LeftOut() | Remark():
            return body.role
    return ""


def _shared(a: Sequence[_Key], b: Sequence[_Key]) -> int:
    """How many steps the two openings share."""
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def _weight(x: _Key, y: _Key) -> int:
    if x == y:
        return _SAME
    if x.kind != y.kind:
        return 0
    return _ALIKE if x.by == y.by else _OF_A_KIND


_Row = tuple[int | None, int | None]


def _alignment(a: Sequence[_Key], b: Sequence[_Key]) -> list[_Row]:
    """Rows of positions; in each at least one."""
    if len(a) * len(b) > MAX_CELLS:
        return list(zip_longest(range(len(a)), range(len(b))))
    best = _best(a, b)
    rows: list[_Row] = []
    alone: tuple[list[int], list[int]] = ([], [])
    i = j = 0
    while i < len(a) and j < len(b):
        weight = _weight(a[i], b[j])
        if weight and best[i][j] == weight + best[i + 1][j + 1]:
            rows += [*zip_longest(*alone), (i, j)]
            alone = ([], [])
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            alone[0].append(i)
            i += 1
        else:
            alone[1].append(j)
            j += 1
    ends = [*alone[0], *range(i, len(a))], [*alone[1], *range(j, len(b))]
    return rows + list(zip_longest(*ends))


def _best(a: Sequence[_Key], b: Sequence[_Key]) -> list[list[int]]:
    """The greatest weight of a pairing of what follows position i of the one and j of the other."""
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        row, below = best[i], best[i + 1]
        for j in range(len(b) - 1, -1, -1):
            paired = _weight(a[i], b[j]) + below[j + 1]
            row[j] = max(paired, below[j], row[j + 1])
    return best


def _goes_on(trace: Trace) -> bool:
    return trace.line.status in ("pending", "running")


def _parted(pairs: Sequence[StepPair], goes_on: tuple[bool, bool]) -> int | None:
    """The first row that differs; not a row that one side has not reached yet."""
    end = len(pairs)
    for side in (0, 1):
        if goes_on[side]:
            written = [n for n, pair in enumerate(pairs) if pair.side(side)]
            end = min(end, written[-1] + 1 if written else 0)
    for n, pair in enumerate(pairs[:end]):
        steps = [step for step in (pair.a, pair.b) if step]
        if not pair.same and not all(map(_is_incidental, steps)):
            return n
    return None


def _is_incidental(step: Step) -> bool:
    """Whether the step is about transport only, which does not make two traces differ."""
    return KINDS.get(step.kind, Unknown).INCIDENTAL


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """An answer and what it is in each trace; None where a trace does not have it.

    `gold`: a gold answer, which each trace has with a verdict; else a predicted text that is not a
    gold answer of its branch.
    """

    text: str
    gold: bool
    a: AnswerLine | None = None
    b: AnswerLine | None = None

    def side(self, side: int) -> AnswerLine | None:
        """The line of the first trace (0) or of the second (1)."""
        return self.b if side else self.a

    def has(self, side: int) -> bool:
        """Whether that trace gives this answer, under this branch."""
        line = self.side(side)
        if line is None:
            return False
        return line.verdict == "right" if self.gold else True


@dataclass(frozen=True, slots=True)
class BranchPair:
    """A gold branch (`name`), or a predicted one that stands for none (None), in both traces.

    `keys`: the predicted branches of each trace that stand for it.
    """

    name: str | None
    keys: tuple[tuple[str, ...], tuple[str, ...]]
    answers: tuple[AnswerPair, ...]


def compare_answers(a: Trace, b: Trace) -> list[BranchPair]:
    """Gold branches in their order, then predicted branches that stand for none, by their keys.

    Predicted texts are one answer where nothing that counts differs (`corpora.normalise`). Gold
    answers without a verdict (`open`) are left out: it is undecided which trace has them.
    """
    found = [_branch(name, *both) for name, both in _by_name(a, b)]
    return found + [_branch(None, *both) for both in _standing_alone(a, b)]


def only(pairs: Iterable[BranchPair], side: int) -> list[AnswerPair]:
    """The answers that this trace alone gives: right ones and wrong ones."""
    answers = (answer for pair in pairs for answer in pair.answers)
    return [answer for answer in answers if answer.has(side) and not answer.has(1 - side)]


_Both = tuple[BranchLines | None, BranchLines | None]


def _by_name(a: Trace, b: Trace) -> Iterator[tuple[str, _Both]]:
    named = [
        {branch.name: branch for branch in t.branches if branch.name is not None} for t in (a, b)
    ]
    for name in dict.fromkeys([*named[0], *named[1]]):
        yield name, (named[0].get(name), named[1].get(name))


def _standing_alone(a: Trace, b: Trace) -> Iterator[_Both]:
    alone = [_by_keys(trace) for trace in (a, b)]
    for key in dict.fromkeys([*alone[0], *alone[1]]):
        yield alone[0].get(key), alone[1].get(key)


def _by_keys(trace: Trace) -> dict[tuple[str, int], BranchLines]:
    """By normalised key, and the how-manyth of this key it is: none hides another."""
    found: dict[tuple[str, int], BranchLines] = {}
    for branch in trace.branches:
        if branch.name is None:
            key = normalise(" / ".join(branch.keys))
            found[key, sum(known == key for known, _ in found)] = branch
    return found


def _branch(name: str | None, a: BranchLines | None, b: BranchLines | None) -> BranchPair:
    keys = (a.keys if a else (), b.keys if b else ())
    gold = _paired([_by_text(_gold(side), str) for side in (a, b)], gold=True)
    others = _paired([_by_text(_others(side), normalise) for side in (a, b)], gold=False)
    return BranchPair(name, keys, (*gold, *others))


def _gold(branch: BranchLines | None) -> list[AnswerLine]:
    lines = branch.gold if branch else ()
    return [line for line in lines if line.verdict != "open"]


def _others(branch: BranchLines | None) -> list[AnswerLine]:
    """Predicted answers that are not already listed as gold answers."""
    lines = branch.predicted if branch else ()
    return [line for line in lines if line.verdict != "right"]


def _by_text(lines: Sequence[AnswerLine], key: Callable[[str], str]) -> dict[str, AnswerLine]:
    """The first line of each text, in their order."""
    found: dict[str, AnswerLine] = {}
    for line in lines:
        found.setdefault(key(line.text), line)
    return found


def _paired(sides: Sequence[Mapping[str, AnswerLine]], *, gold: bool) -> Iterator[AnswerPair]:
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        a, b = sides[0].get(key), sides[1].get(key)
        text = a.text if a else b.text if b else ""
        yield AnswerPair(text, gold, a, b)
