"""A difference in words, its numbers as papers print them."""

from branchwise.base.numbers import interval, p_value, signed
from branchwise.eval.statistics.comparison import ScoreDifference


def summary_line(
    difference: ScoreDifference,
    *,
    name: str | None = None,
    digits: int = 2,
    questions: str | None = None,
) -> str:
    """One line: effect and interval first, p-value and n last.

    "strict recall on ambiguous questions +.08 [.03, .13] (p = .004 after Holm, n = 120)".
    `name` is what the metric is called in words, by default its key without underscores; `digits`
    after the point; `questions` what the subset is called. Plain text that is to be
    escaped where it is shown.
    """
    called = name if name is not None else metric_words(difference.metric)
    subject = f"{called} on {questions or f'{difference.subset} questions'}"
    if difference.difference is None:
        return f"{subject}: nothing to compare ({_n(difference)})"
    effect = f"{subject} {signed(difference.difference, digits)}"
    if difference.low is None or difference.high is None:
        return f"{effect} (no interval, no test, {_n(difference)})"
    ends = interval(difference.low, difference.high, digits)
    return f"{effect} {ends} ({_p(difference)}, {_n(difference)})"


def metric_words(metric: str) -> str:
    """ "strict_em" is read "strict EM"."""
    return " ".join("EM" if word == "em" else word for word in metric.split("_"))


def _p(difference: ScoreDifference) -> str:
    if difference.p is None:
        return "no test"
    if difference.p_holm is None or difference.family < 2:
        return p_value(difference.p)
    return f"{p_value(difference.p_holm)} after Holm"


def _n(difference: ScoreDifference) -> str:
    left_out = difference.left_out.reasons()
    return f"n = {difference.n}" + (f"; left out: {left_out}" if left_out else "")
