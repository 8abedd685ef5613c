"""A report's figures as SVG alone, as tests read them: PDF and PNG take twice as long again."""

from unittest.mock import patch

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.ui.figures.files import figure_files


def svg_files(report: StudyReport) -> dict[str, bytes]:
    """The SVG files and the captions of `figure_files`."""
    with patch("branchwise.ui.figures.files.FORMATS", ("svg",)):
        return figure_files(report)
