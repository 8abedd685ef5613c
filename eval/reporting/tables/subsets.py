"""Which questions a report's rows are about."""

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.scores import told_subsets


def subsets(report: StudyReport) -> tuple[str, ...]:
    """The subsets that any system has questions of."""
    return told_subsets(
        lambda kind: any(system.scores.questions(kind) for system in report.systems)
    )
