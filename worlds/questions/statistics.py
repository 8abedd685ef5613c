"""What a set of questions is like, in the terms of DeepAmbigQA's Table 2 and Figures 5 to 9."""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple, TypeVar

from branchwise.corpora.questions import Question

AMBIGUOUS, OTHER = True, False
_PREDICATES = {"years": "date", "amount": "number", "holds": "value"}
_SIZES = (0, 1, 2, 3, 4, 6, 9, 13, 21, 46)
"""Where the classes of answer sets' sizes begin; published ones have up to 45."""

_Value = TypeVar("_Value", bound=Hashable)
_Halves = Mapping[bool, Sequence[Question]]


@dataclass(frozen=True)
class Means:
    """Means over questions; None where no question says, or nothing is published.

    `words` of a question; `answers` in all its branches together, where one of two branches counts
    twice; `branch_answers` in a branch: the mean of a question's branches, then of questions;
    `steps` of its plan; `entities`: different ones in the sets of all steps of all its branches;
    `branches`, and the `most_branches` of any. Of questions with alternatives only their branches
    are measured; `with_alternatives` says how many there are.
    """

    questions: int
    words: float | None
    answers: float | None
    branch_answers: float | None
    steps: float | None
    entities: float | None
    branches: float | None
    most_branches: int | None
    with_alternatives: int = 0


PUBLISHED: Mapping[bool, Means] = {
    OTHER: Means(1_800, 13.9, 8.8, None, 4.3, 463.1, None, None),
    AMBIGUOUS: Means(1_800, 12.4, 10.3, 2.7, 3.7, 247.4, 3.3, 14),
}
"""As printed there. Branches seem to be averaged by question: 10.3 answers in 3.3 are 3.1 each."""
SOURCE = "DeepAmbigQA (Ji et al. 2025, arXiv:2511.01323), Table 2"


class SubsetCount(NamedTuple):
    """How often something comes in the questions with one reading, and in the ambiguous ones."""

    other: int
    ambiguous: int


Histogram = Mapping[str, SubsetCount]
"""Counts in the order in which they are to be shown."""


@dataclass(frozen=True)
class Statistics:
    """Means of ambiguous and other questions; `histograms` by heading; `shapes`: different shapes
    of plans; `meta`: questions that have a key with values to break scores down by."""

    means: Mapping[bool, Means]
    histograms: Mapping[str, Histogram]
    shapes: int
    meta: Mapping[str, int]

    @property
    def have_plans(self) -> bool:
        """Whether they are of DeepAmbigQA's kind, so that its numbers can stand beside them."""
        return any(means.steps is not None for means in self.means.values())


def describe_questions(questions: Sequence[Question]) -> Statistics:
    """Measure questions of any origin; what needs plans counts those that have one."""
    halves = {kind: [q for q in questions if q.ambiguous is kind] for kind in (OTHER, AMBIGUOUS)}
    # Scores can be broken down by a key whose values are texts or numbers.
    keys: Counter[str] = Counter()
    for question in questions:
        for key, value in question.meta.items():
            values = value if isinstance(value, list) else [value]
            if all(isinstance(entry, str | int | float) for entry in values):
                keys[key] += 1
    return Statistics(
        {kind: _means(half) for kind, half in halves.items()},
        _histograms(halves),
        len({shape for q in questions if (shape := q.meta.get("shape"))}),
        keys,
    )


def _means(questions: Sequence[Question]) -> Means:
    answered = [q for q in questions if q.branches]
    return Means(
        len(questions),
        _mean(len(q.question.split()) for q in questions),
        _mean(_answers(q) for q in answered),
        _mean(_answers(q) / len(q.branches) for q in answered),
        _mean(len(q.plan) for q in questions if q.plan),
        _mean(n for q in questions if isinstance(n := q.meta.get("entities"), int)),
        _mean(len(q.branches) for q in answered),
        max((len(q.branches) for q in answered), default=None),
        sum(bool(q.alternatives) for q in questions),
    )


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None


def _answers(question: Question) -> int:
    return sum(len(branch.answers) for branch in question.branches)


def _histograms(halves: _Halves) -> dict[str, Histogram]:
    def counted(values: Callable[[Question], Iterable[_Value]]) -> dict[_Value, SubsetCount]:
        every = (chain.from_iterable(map(values, halves[kind])) for kind in (OTHER, AMBIGUOUS))
        other, ambiguous = map(Counter, every)
        return {value: SubsetCount(other[value], ambiguous[value]) for value in other | ambiguous}

    # Of all classes of sizes up to the largest that comes.
    answers = counted(lambda q: [bisect(_SIZES, _answers(q)) - 1] if q.branches else [])
    sizes = [str(low) if low + 1 == end else f"{low} to {end - 1}" for low, end in pairwise(_SIZES)]
    sizes.append(f"{_SIZES[-1]} or more")
    numbers = range(0 if 0 in answers else 1, max(answers, default=0) + 1)
    return {
        "domains": _by_count(counted(lambda q: [str(d)] if (d := q.meta.get("domain")) else [])),
        "steps": _in_order(counted(lambda q: [len(q.plan)] if q.plan else [])),
        "answers": {sizes[n]: answers.get(n, SubsetCount(0, 0)) for n in numbers},
        "branches": _in_order(counted(lambda q: [len(q.branches)] if q.ambiguous else [])),
        "operations": _by_count(counted(_operations)),
        "predicates": _by_count(counted(_predicates)),
    }


def _operations(question: Question) -> Iterable[str]:
    return (str(s["op"]) for s in question.plan if isinstance(s, Mapping) and "op" in s)


def _predicates(question: Question) -> Iterable[str]:
    """The kinds of a question's filters: as it says itself, or by their conditions."""
    if isinstance(kinds := question.meta.get("predicates"), list):
        return map(str, kinds)
    conditions = (s.get("condition") for s in question.plan if isinstance(s, Mapping))
    names = (str(c.get("kind")) for c in conditions if isinstance(c, Mapping))
    return (_PREDICATES.get(name, "other") for name in names)


def _by_count(counts: Mapping[str, SubsetCount]) -> Histogram:
    return dict(sorted(counts.items(), key=lambda entry: (-sum(entry[1]), entry[0])))


def _in_order(counts: Mapping[int, SubsetCount]) -> Histogram:
    return {str(value): count for value, count in sorted(counts.items())}
