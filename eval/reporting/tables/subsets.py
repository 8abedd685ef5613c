"""Which questions a report's rows are about."""

from branchwise.eval.reporting.study_report import StudyReport


def subsets(report: StudyReport) -> tuple[str, ...]:
    """Ambiguous and unambiguous as far as there are any, then all where it says something else."""
    kinds = tuple(
        kind
        for kind in ("ambiguous", "unambiguous")
        if any(system.scores.questions(kind) for system in report.systems)
    )
    return (*kinds, "all") if len(kinds) != 1 else kinds
