"""Two systems, or several against their bases, compared question by question, and said in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from branchwise.base.errors import InputError
from branchwise.base.numbers import interval, p_value, signed
from branchwise.eval.paired_tests import (
    FLIPS,
    LeftOutQuestions,
    PairedTest,
    Pairs,
    TestName,
    TotalPairs,
    check_same_questions,
    holm,
    pair_questions,
    pair_totals,
    paired_tests,
    students_intervals,
    total_interval,
    total_test,
)
from branchwise.eval.scores import SUBSETS, Scores
from branchwise.eval.tasks import totals_of

_SCORER_FIELDS = ("version", "matcher", "threshold", "model", "judge", "prompts")

SIGNIFICANT = 0.05
"""Reports call a difference better or worse below this corrected p."""


@dataclass(frozen=True)
class ScoreDifference:
    """One metric on one subset: the other system minus the base, over `n` questions of both.

    `base`, `other`: means over these n; `low` to `high`: 95% interval of `difference`. All are
    None for n = 0, the interval and `p` also for n = 1. `higher`, `lower`, `same`: how many
    questions have a higher value in the other system and so on (better and worse, where more is
    better). Of a score that is not a mean, `base` and `other` are the scores of these n questions,
    the interval is a paired bootstrap's, and a question is compared by its score alone. `p_holm`
    is `p` corrected for the `family` of comparisons that were made on this metric and subset; None
    where the comparison stands alone.
    """

    metric: str
    subset: str
    n: int
    base: float | None
    other: float | None
    difference: float | None
    low: float | None
    high: float | None
    higher: int
    lower: int
    same: int
    test: TestName | None
    p: float | None
    left_out: LeftOutQuestions
    p_holm: float | None = None
    family: int = 1

    @property
    def corrected_p(self) -> float | None:
        return self.p if self.p_holm is None else self.p_holm

    def __str__(self) -> str:
        return summary_line(self)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "left_out": self.left_out.to_json()}


@dataclass(frozen=True)
class Comparison:
    """All differences of one system to its base, by subset and then by metric. `cautions`: what
    else differs between the two sides, in plain text, and may explain a difference."""

    differences: tuple[ScoreDifference, ...]
    cautions: tuple[str, ...] = ()

    def find(self, metric: str, subset: str = "all") -> ScoreDifference:
        """The difference of one metric on one subset; KeyError where it was not compared."""
        return {(d.metric, d.subset): d for d in self.differences}[metric, subset]

    def to_json(self) -> dict[str, Any]:
        return {
            "differences": [difference.to_json() for difference in self.differences],
            "cautions": list(self.cautions),
        }


def compare(
    base: Scores,
    other: Scores,
    *,
    metrics: Sequence[str] | None = None,
    subsets: Sequence[str] = SUBSETS,
    seed: int = 0,
    flips: int = FLIPS,
) -> Comparison:
    """Compare two systems on the questions that both have, epochs of a question averaged first.
    `metrics`: by default all that both have; KeyError for one that a side lacks. Neither the order
    of items nor that of metrics changes a number. Raises InputError where the two were scored as
    different tasks, or answered different questions under one id."""
    if base.scorer.task != other.scorer.task:
        tasks = f"{base.scorer.task} and {other.scorer.task}"
        problem = f"scores of the tasks {tasks} have no metric in common"
        raise InputError(problem, remedy="compare runs over the same questions")
    check_same_questions(base, other)
    if metrics is None:
        metrics = [metric for metric in base.aggregates["all"] if metric in other.aggregates["all"]]
    totals = totals_of(base.scorer.columns)
    means = [metric for metric in metrics if metric not in totals]
    differences: list[ScoreDifference] = []
    for subset in subsets:
        pairs = pair_questions(base, other, means, subset)
        intervals = students_intervals(pairs.differences, pairs.strata)
        tests = paired_tests(pairs, seed=seed, flips=flips)
        by_metric = {d.metric: d for d in _differences(pairs, subset, intervals, tests)}
        for metric in metrics:
            if total := totals.get(metric):
                summed = pair_totals(base, other, total, subset)
                by_metric[metric] = _of_total(summed, metric, subset, seed, flips)
        differences += [by_metric[metric] for metric in metrics]
    return Comparison(tuple(differences), _cautions(base, other))


def compare_systems(
    base: Scores,
    others: Mapping[str, Scores],
    *,
    metrics: Sequence[str] | None = None,
    subsets: Sequence[str] = SUBSETS,
    seed: int = 0,
    flips: int = FLIPS,
) -> dict[str, Comparison]:
    """Compare each of several systems with one base: name to comparison, as in `compare_each`."""
    pairs = {name: (base, other) for name, other in others.items()}
    return compare_each(pairs, metrics=metrics, subsets=subsets, seed=seed, flips=flips)


def compare_each(
    pairs: Mapping[str, tuple[Scores, Scores]],
    *,
    metrics: Sequence[str] | None = None,
    subsets: Sequence[str] = SUBSETS,
    seed: int = 0,
    flips: int = FLIPS,
) -> dict[str, Comparison]:
    """Compare several systems, each with a base of its own: name to comparison, as in `compare`.
    `pairs`: by the system's name the scores of its base and its own. The tests of one metric on one
    subset are a family, whichever their bases: their p-values are corrected by Holm's method. A
    system on which no test was possible does not count."""
    alone = {
        name: compare(base, other, metrics=metrics, subsets=subsets, seed=seed, flips=flips)
        for name, (base, other) in pairs.items()
    }
    tested: dict[tuple[str, str], list[str]] = {}
    for name, comparison in alone.items():
        for difference in comparison.differences:
            if difference.p is not None:
                tested.setdefault((difference.metric, difference.subset), []).append(name)
    adjusted = {
        (name, *key): (p, len(names))
        for key, names in tested.items()
        for name, p in zip(names, holm([alone[n].find(*key).p for n in names]), strict=True)
    }

    def corrected(name: str, difference: ScoreDifference) -> ScoreDifference:
        p, family = adjusted.get((name, difference.metric, difference.subset), (None, 1))
        return replace(difference, p_holm=p, family=family)

    return {
        name: replace(own, differences=tuple(corrected(name, d) for d in own.differences))
        for name, own in alone.items()
    }


def _differences(
    pairs: Pairs,
    subset: str,
    intervals: Sequence[tuple[float, float] | None],
    tests: Sequence[PairedTest | None],
) -> list[ScoreDifference]:
    import numpy as np

    differences: list[ScoreDifference] = []
    for row, (metric, change) in enumerate(zip(pairs.metrics, pairs.differences, strict=True)):
        paired = ~np.isnan(change)
        columns = (pairs.base[row], pairs.other[row], change)
        base, other, mean = (float(own[paired].mean()) if paired.any() else None for own in columns)
        key, scores, changes = (metric, subset), (base, other, mean), change[paired].tolist()
        left_out = pairs.left_out(row)
        differences.append(_difference(key, scores, intervals[row], changes, tests[row], left_out))
    return differences


def _of_total(
    pairs: TotalPairs, metric: str, subset: str, seed: int, flips: int
) -> ScoreDifference:
    base, other = pairs.score(0), pairs.score(1)
    is_undefined = base is None or other is None
    interval = None if is_undefined else total_interval(pairs, seed=seed)
    test = total_test(pairs, seed=seed, flips=flips)
    scores = (base, other, None if base is None or other is None else other - base)
    key, changes = (metric, subset), [*pairs.questions()]
    of_changes = _difference(key, scores, interval, changes, test, pairs.left_out)
    return replace(of_changes, n=len(pairs.paired))


def _difference(
    key: tuple[str, str],
    scores: tuple[float | None, float | None, float | None],
    interval: tuple[float, float] | None,
    changes: Sequence[float],
    test: PairedTest | None,
    left_out: LeftOutQuestions,
) -> ScoreDifference:
    """`scores`: of the base, of the other, and their difference; `changes`: of each question."""
    signs = Counter((change > 0) - (change < 0) for change in changes)
    low, high = interval or (None, None)
    name, p = (test.name, test.p) if test else (None, None)
    counts = signs[1], signs[-1], signs[0]
    return ScoreDifference(*key, len(changes), *scores, low, high, *counts, name, p, left_out)


def _cautions(base: Scores, other: Scores) -> tuple[str, ...]:
    scorers = (base.scorer, other.scorer)
    settings = ((name, *(getattr(own, name) for own in scorers)) for name in _SCORER_FIELDS)
    cautions = [
        f"scored with a different {name}: {ours} and {theirs}"
        for name, ours, theirs in settings
        if ours != theirs
    ]
    ours, theirs = ({column["key"]: column["source"] for column in s.metrics} for s in scorers)
    cautions += [
        f"the metric {key} has different code on the two sides"
        for key in ours.keys() & theirs.keys()
        if ours[key] != theirs[key]
    ]
    epochs = [len({item.epoch for item in scores.items}) for scores in (base, other)]
    if epochs[0] != epochs[1] and all(epochs):
        cautions.append(f"different numbers of epochs: {epochs[0]} and {epochs[1]}")
    return tuple(cautions)


def summary_line(
    difference: ScoreDifference,
    *,
    name: str | None = None,
    digits: int = 2,
    questions: str | None = None,
) -> str:
    """One line: effect and interval first, p-value and n last.

    "strict recall on ambiguous questions +.08 [.03, .13] (p = .004 after Holm, n = 120)".
    `name`: what the metric is called, by default its key without underscores; `digits` after the
    point; `questions`: what the subset is called. Plain text, to be escaped where it is shown.
    """
    # "strict_em" is read "strict EM".
    words = ("EM" if word == "em" else word for word in difference.metric.split("_"))
    called = name if name is not None else " ".join(words)
    subject = f"{called} on {questions or f'{difference.subset} questions'}"
    if difference.difference is None:
        return f"{subject}: nothing to compare ({paired_count(difference)})"
    effect = f"{subject} {signed(difference.difference, digits)}"
    if difference.low is None or difference.high is None:
        return f"{effect} (no interval, no test, {paired_count(difference)})"
    ends = interval(difference.low, difference.high, digits)
    p = "no test" if difference.p is None else p_value(difference.p)
    if difference.p is not None and difference.p_holm is not None and difference.family > 1:
        p = f"{p_value(difference.p_holm)} after Holm"
    return f"{effect} {ends} ({p}, {paired_count(difference)})"


def paired_count(difference: ScoreDifference) -> str:
    """ "n = 120; left out: 2 only in the base"."""
    left_out = difference.left_out.reasons()
    return f"n = {difference.n}" + (f"; left out: {left_out}" if left_out else "")
