"""What a set of questions is like, in the terms of DeepAmbigQA's Table 2."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from branchwise.corpora.questions import Question

AMBIGUOUS, OTHER = True, False
_PREDICATES = {"years": "date", "amount": "number", "holds": "value"}


@dataclass(frozen=True)
class Means:
    """Means over questions; None where no question says.

    `words` of a question, `answers` of a branch, `steps` of a plan, `entities` in the sets of all
    steps of a branch together, `branches` of a question and the `most` of any.
    """

    questions: int
    words: float | None
    answers: float | None
    steps: float | None
    entities: float | None
    branches: float | None
    most: int


PUBLISHED: Mapping[bool, Means] = {
    OTHER: Means(1_800, 13.9, 8.8, 4.3, 463, 1, 1),
    AMBIGUOUS: Means(1_800, 12.4, 10.3, 3.7, 247, 3.3, 14),
}
"""DeepAmbigQA, Table 2."""


@dataclass(frozen=True)
class Statistics:
    """Means of the ambiguous and the other questions, and how often what comes.

    `histograms`: by heading, counts in the order in which they are to be shown. `shapes` counts
    different plan shapes.
    """

    means: Mapping[bool, Means]
    histograms: Mapping[str, Mapping[str, int]]
    shapes: int


def describe_questions(questions: Sequence[Question]) -> Statistics:
    """Measure questions of any origin; what needs plans counts those that have one."""
    halves = {kind: [q for q in questions if q.ambiguous is kind] for kind in (OTHER, AMBIGUOUS)}
    return Statistics(
        {kind: _means(half) for kind, half in halves.items()},
        _histograms(questions),
        len({shape for q in questions if (shape := q.meta.get("shape"))}),
    )


def _means(questions: Sequence[Question]) -> Means:
    return Means(
        len(questions),
        _mean(len(q.question.split()) for q in questions),
        _mean(len(branch.answers) for q in questions for branch in q.branches),
        _mean(len(q.plan) for q in questions if q.plan),
        _mean(sum(sizes) for q in questions for sizes in _sizes(q)),
        _mean(len(q.branches) for q in questions),
        max((len(q.branches) for q in questions), default=0),
    )


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None


def _sizes(question: Question) -> list[list[int]]:
    """How large each step's set is, branch by branch, where the question says."""
    sizes = question.meta.get("sizes")
    found = sizes.values() if isinstance(sizes, Mapping) else ()
    return [list(map(int, one)) for one in found if isinstance(one, Sequence)]


def _histograms(questions: Sequence[Question]) -> dict[str, dict[str, int]]:
    steps = [step for q in questions for step in q.plan if isinstance(step, Mapping)]
    kinds = [kind for q in questions for kind in _predicates(q)]
    return {
        "domains": _by_count(str(d) for q in questions if (d := q.meta.get("domain"))),
        "steps": _in_order(len(q.plan) for q in questions if q.plan),
        "operations": _by_count(str(step["op"]) for step in steps if "op" in step),
        "predicates": _by_count(kinds),
        "answers of a branch": _in_classes(len(b.answers) for q in questions for b in q.branches),
        "branches": _in_order(len(q.branches) for q in questions if q.ambiguous),
    }


def _predicates(question: Question) -> Iterable[str]:
    """The kinds of a question's filters: as it says itself, or by their conditions."""
    if isinstance(said := question.meta.get("predicates"), Sequence):
        return map(str, said)
    conditions = (
        s["condition"] for s in question.plan if isinstance(s, Mapping) and "condition" in s
    )
    return (_PREDICATES.get(str(one.get("kind")), "other") for one in conditions)


def _by_count(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda entry: (-entry[1], entry[0])))


def _in_order(values: Iterable[int]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(Counter(values).items())}


_CLASSES = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 8), (9, 12), (13, 20), (21, 40))


def _in_classes(values: Iterable[int]) -> dict[str, int]:
    counts = Counter(values)
    found = {
        (str(low) if low == high else f"{low} to {high}"): sum(
            count for value, count in counts.items() if low <= value <= high
        )
        for low, high in _CLASSES
    }
    if more := sum(count for value, count in counts.items() if value > _CLASSES[-1][1]):
        found["more"] = more
    return found
