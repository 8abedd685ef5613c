"""A difference in words, its numbers as papers print them."""

from branchwise.eval.statistics.comparison import Difference


def summary_line(difference: Difference, *, name: str | None = None, digits: int = 2) -> str:
    """One line: effect and interval first, p-value and n last.

    "strict recall on ambiguous questions +.08 [.03, .13] (p = .004 after Holm, n = 120)".
    `name` is what the metric is called in words, by default its key without underscores; `digits`
    after the point. Plain text that is to be escaped where it is shown.
    """
    called = name if name is not None else metric_words(difference.metric)
    subject = f"{called} on {difference.subset} questions"
    if difference.difference is None:
        return f"{subject}: nothing to compare ({_n(difference)})"
    effect = f"{subject} {signed(difference.difference, digits)}"
    if difference.low is None or difference.high is None:
        return f"{effect} (no interval, no test, {_n(difference)})"
    interval = f"[{number(difference.low, digits)}, {number(difference.high, digits)}]"
    return f"{effect} {interval} ({_p(difference)}, {_n(difference)})"


def metric_words(metric: str) -> str:
    """ "strict_em" is read "strict EM"."""
    return " ".join("EM" if word == "em" else word for word in metric.split("_"))


def number(value: float, digits: int = 2) -> str:
    """Without a zero before the point; a negative value keeps its sign when it rounds to zero."""
    shown = f"{abs(value):.{digits}f}"
    bare = shown.removeprefix("0") if digits and abs(float(shown)) < 1 else shown
    return f"-{bare}" if value < 0 else bare


def signed(value: float, digits: int = 2) -> str:
    """As `number`, always with a sign; "±" for no difference at all."""
    if value == 0:
        return f"±{number(0.0, digits)}"
    return number(value, digits) if value < 0 else f"+{number(value, digits)}"


def p_value(p: float) -> str:
    """ "p = .004", "p < .001", "p > .999", "p = 1"."""
    if p < 0.001:
        return "p < .001"
    if p == 1:
        return "p = 1"
    return "p > .999" if p > 0.999 else f"p = {number(p, 3)}"


def _p(difference: Difference) -> str:
    if difference.p is None:
        return "no test"
    if difference.p_holm is None or difference.family < 2:
        return p_value(difference.p)
    return f"{p_value(difference.p_holm)} after Holm"


def _n(difference: Difference) -> str:
    left_out = difference.left_out.reasons()
    return f"n = {difference.n}" + (f"; left out: {left_out}" if left_out else "")
