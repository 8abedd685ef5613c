"""The same questions without a word of conditions, with the model's own, with the gold ones."""

from collections.abc import Mapping

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.tasks.task import capital
from branchwise.report.figures.lines import Lines, Series
from branchwise.report.study_report import StudyReport

# A bound on answers, or worked examples, are left out where a protocol has no place for them.
BY_PROTOCOL = frozenset({"protocol", "at_most", "shots"})
"""What systems may differ in that are compared by protocol."""


def protocol_means(report: StudyReport) -> list[tuple[str, Mapping[str, Aggregate]]]:
    """Model to the main metric by protocol; none where all systems have the same protocol.

    Systems that differ in more than the protocol stay out.
    """
    found: dict[str, dict[str, Aggregate]] = {}
    for system in report.systems:
        if not set(system.changes) - BY_PROTOCOL:
            means = found.setdefault(system.model, {})
            mean = system.mean(report.task.main.key, "all")
            means.setdefault(system.run.protocol, mean)
    several = len({protocol for means in found.values() for protocol in means}) > 1
    return list(found.items()) if several else []


def protocol_figure(report: StudyReport) -> Lines | None:
    """A line a model over the protocols that any was asked by."""
    found, main = protocol_means(report), report.task.main
    if not report.task.is_graded or not found:
        return None
    words = report.task.protocol_words
    asked = [name for name in words if any(name in means for _, means in found)]
    series = tuple(
        Series(
            index,
            model or "all systems",
            tuple((means[name], means[name].n) if name in means else None for name in asked),
        )
        for index, (model, means) in enumerate(found)
    )
    title = f"{capital(main.name)} by protocol"
    caption = (
        f"{capital(main.name)} of the same questions without a word of conditions, with the "
        "model's own, with the gold ones, and without passages; 95% bootstrap intervals."
    )
    columns = tuple(words[name] for name in asked)
    return Lines("protocols", title, "conditions", main.name, columns, series, caption)
