"""A report's figures as SVG alone, as tests read them: PDF and PNG take twice as long again."""

from unittest.mock import patch

from branchwise.report.figures.files import figure_files
from branchwise.report.study_report import StudyReport


def svg_files(report: StudyReport) -> dict[str, bytes]:
    """The SVG files and the captions of `figure_files`."""
    with patch("branchwise.report.figures.files.FORMATS", ("svg",)):
        return figure_files(report)
