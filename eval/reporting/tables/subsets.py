"""Which questions a report's rows are about."""

from branchwise.eval.question_scores import told_subsets
from branchwise.eval.reporting.study_report import StudyReport


def subsets(report: StudyReport) -> tuple[str, ...]:
    """The subsets that any system has questions of."""
    return told_subsets(
        lambda kind: any(system.scores.questions(kind) for system in report.systems)
    )
