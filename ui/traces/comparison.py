"""Two traces of one question side by side: which step stands beside which, which answers differ."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple

from branchwise.base.normalise import normalise
from branchwise.trace.events import (
    KINDS,
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
    """The rows, in the order of both traces. `parted`: the row of their first difference, if
    any; the current end of an unfinished trace is none."""

    pairs: tuple[StepPair, ...]
    parted: int | None = None

    def row_of(self, side: int, seq: int) -> int | None:
        steps = (pair.side(side) for pair in self.pairs)
        return next((n for n, step in enumerate(steps) if step and step.seq == seq), None)

    def last(self, side: int) -> int:
        """The last row that has a step of this side; 0 where none has."""
        return max((n for n, pair in enumerate(self.pairs) if pair.side(side)), default=0)


def compare(a: Trace, b: Trace) -> TraceComparison:
    """Pair the steps of two traces: the same opening, then the pairing of most weight by global
    alignment (Needleman and Wunsch 1970, gaps free). Steps are the same even if time, tokens and
    call ids differ; what is left between two pairs stands side by side."""
    keys = [_keys(trace) for trace in (a, b)]
    shared = zip(*keys, strict=False)
    opening = next((n for n, (x, y) in enumerate(shared) if x != y), min(map(len, keys)))
    rest = [side[opening:] for side in keys]
    pairs = [StepPair(a.steps[n], b.steps[n], True) for n in range(opening)]
    for i, j in _alignment(rest[0], rest[1]):
        x = None if i is None else a.steps[opening + i]
        y = None if j is None else b.steps[opening + j]
        same = i is not None and j is not None and rest[0][i] == rest[1][j]
        pairs.append(StepPair(x, y, same))
    # Not a row that one side has not reached yet.
    whole, end = TraceComparison(tuple(pairs)), len(pairs)
    for side, trace in enumerate((a, b)):
        if goes_on(trace):
            end = min(end, whole.last(side) + 1 if any(p.side(side) for p in pairs) else 0)
    for row, pair in enumerate(pairs[:end]):
        kinds = [KINDS.get(step.kind, Unknown) for step in (pair.a, pair.b) if step]
        # Steps that are about transport alone are no difference.
        if not pair.same and not all(kind.INCIDENTAL for kind in kinds):
            return replace(whole, parted=row)
    return whole


def goes_on(trace: Trace) -> bool:
    """Whether its item has not ended."""
    return trace.line.status in ("pending", "running")


class _Key(NamedTuple):
    """What a step is compared by; `sort`: its tool or role, whether it is a call or a reply."""

    kind: str
    sort: str
    content: str


def _keys(trace: Trace) -> list[_Key]:
    events = {event.seq: _key(event) for event in trace.events}
    return [events.get(step.seq) or _Key(step.kind, "", step.label) for step in trace.steps]


def _key(event: Event) -> _Key:
    body, sort = event.body, ""
    match body:
        case Tool() | Extraction():
            sort = body.call.tool
        case Model():
            sort = f"{body.role} {'calls' if body.calls else 'says'}"
        case Retry() | LeftOut() | Remark():
            sort = body.role
    # What could not be read of a step may differ, too.
    content = event.data if body.problems else body.without_around()
    return _Key(event.kind, sort, json.dumps(content, sort_keys=True, default=str))


def _weight(x: _Key, y: _Key) -> int:
    if x.kind != y.kind:
        return 0
    return _SAME if x == y else _ALIKE if x.sort == y.sort else _OF_A_KIND


_Row = tuple[int | None, int | None]


def _alignment(a: Sequence[_Key], b: Sequence[_Key]) -> list[_Row]:
    """Rows of positions; in each at least one."""
    if len(a) * len(b) > MAX_CELLS:
        return list(zip_longest(range(len(a)), range(len(b))))
    # The greatest weight of a pairing of what follows position i of the one and j of the other.
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        row, below = best[i], best[i + 1]
        for j in range(len(b) - 1, -1, -1):
            row[j] = max(_weight(a[i], b[j]) + below[j + 1], below[j], row[j + 1])
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


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """An answer and what it is in each trace; None where a trace does not have it. `gold`: a
    gold answer, else a predicted text that is not a gold answer of its branch."""

    text: str
    gold: bool
    a: AnswerLine | None = None
    b: AnswerLine | None = None

    def side(self, side: int) -> AnswerLine | None:
        return self.b if side else self.a

    def has(self, side: int) -> bool:
        """Whether that trace gives this answer, under this branch."""
        line = self.side(side)
        return line is not None and (line.verdict == "right" or not self.gold)


@dataclass(frozen=True, slots=True)
class BranchPair:
    """A gold branch (`name`), or a predicted one that stands for none (None), in both traces.
    `keys`: the predicted branches of each trace that stand for it."""

    name: str | None
    keys: tuple[tuple[str, ...], tuple[str, ...]]
    answers: tuple[AnswerPair, ...]


def compare_answers(a: Trace, b: Trace) -> list[BranchPair]:
    """Gold branches in order, then predicted ones that stand for none, by their keys. Predicted
    texts are one where nothing that counts differs; undecided gold answers are left out."""
    sides: list[dict[tuple[str | None, str, int], BranchLines]] = [{}, {}]
    for side, trace in zip(sides, (a, b), strict=True):
        for branch in trace.branches:
            key = normalise(" / ".join(branch.keys)) if branch.name is None else ""
            # Of several that are called alike none hides another.
            before = sum(known[:2] == (branch.name, key) for known in side)
            side[branch.name, key, before if branch.name is None else 0] = branch
    all_keys = dict.fromkeys([*sides[0], *sides[1]])
    ordered = sorted(all_keys, key=lambda key: key[0] is None)
    return [_branch(key[0], sides[0].get(key), sides[1].get(key)) for key in ordered]


def only(pairs: Iterable[BranchPair], side: int) -> list[AnswerPair]:
    """The answers that this trace alone gives: right ones and wrong ones."""
    answers = (answer for pair in pairs for answer in pair.answers)
    return [answer for answer in answers if answer.has(side) and not answer.has(1 - side)]


def _branch(name: str | None, a: BranchLines | None, b: BranchLines | None) -> BranchPair:
    none = BranchLines(name, (), (), ())
    sides = (a or none, b or none)
    gold = [[line for line in side.gold if line.verdict != "open"] for side in sides]
    # Those that are right are listed as gold answers.
    others = [[line for line in side.predicted if line.verdict != "right"] for side in sides]
    keys = (sides[0].keys, sides[1].keys)
    answers = [*_paired(gold, str, gold=True), *_paired(others, normalise, gold=False)]
    return BranchPair(name, keys, tuple(answers))


def _paired(
    sides: Sequence[Sequence[AnswerLine]], key: Callable[[str], str], *, gold: bool
) -> list[AnswerPair]:
    """The first line of each text, in their order."""
    lines = [{key(line.text): line for line in reversed(side)} for side in sides]
    texts = dict.fromkeys(key(line.text) for side in sides for line in side)
    pairs = []
    for text in texts:
        a, b = lines[0].get(text), lines[1].get(text)
        pairs.append(AnswerPair(a.text if a else b.text if b else "", gold, a, b))
    return pairs
