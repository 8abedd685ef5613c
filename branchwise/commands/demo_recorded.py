"""The demo's last part: what a language model did, from runs that ship with the package."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from branchwise.commands.demo_story import show_story
from branchwise.report.figures.cost import ratio_words
from branchwise.report.html.page import write_html
from branchwise.report.run_folders import report_of_runs
from branchwise.report.study_report import StudyReport
from branchwise.report.terminal.cells import notes
from branchwise.report.terminal.console import console, print_line
from branchwise.report.terminal.error_table import error_tables
from branchwise.report.terminal.lost_answers import lost_lines
from branchwise.report.terminal.report_table import headline_tables
from branchwise.report.terminal.step_text import indented
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.store import open_run

RUNS = ("base", "expand", "kg")
QUESTION = "music-91-0008"
"""The first search of `base` brings an album by the singer that it leaves out."""
_SYSTEMS = """\
  base    searches passages
  expand  first writes out what the question may mean, then searches
  kg      searches passages and queries the knowledge graph; an upper end, since
          the graph states every right answer"""
_LEGEND = (
    "P, R, EM: precision, recall, exact match; below each its 95% interval",
    "strict: an answer counts under the right reading only; p: after Holm",
)
_TITLE = "A language model on 16 generated questions (recorded)"


class RecordedPart(NamedTuple):
    """Where the recorded runs are, and the page that compares them."""

    runs: Path
    page: Path


def show_recorded(page: Path) -> RecordedPart:
    """Compare the recorded runs, show where one lost an answer, write the comparison to `page`.

    The runs are read where they are installed; nothing is written there.
    """
    folder = recorded_folder()
    report = _report(folder)
    screen = console()
    screen.print(
        "\n4. A language model on 16 questions of the same kind (recorded beforehand).",
        style="bold",
    )
    screen.print(_SYSTEMS)
    lost = error_tables([(name, one.errors) for _, name, one in report.analysed])
    cost = (f"{one.name}: {ratio_words(report, one)} of base" for one in report.systems[1:])
    for part in (*headline_tables(report), notes((*_LEGEND, ", ".join(cost))), *lost):
        screen.print(part)
    _show_lost(folder / RUNS[0], report)
    write_html(report, page)
    return RecordedPart(folder, page)


def recorded_folder() -> Path:
    """The folder of the recorded runs. SQLite reads files, so they cannot be inside an archive."""
    return Path(str(files("branchwise.examples.recorded")))


def _report(folder: Path) -> StudyReport:
    reading = ScoringSettings(asks=False, saves=False)
    return report_of_runs([(name, score_answers(folder / name, reading)) for name in RUNS], _TITLE)


def _show_lost(run: Path, report: StudyReport) -> None:
    """What the run did with one question, and where it lost an answer."""
    screen = console()
    screen.print(f"\nOne answer that {run.name} lost:", style="bold")
    reader = open_run(run)
    try:
        row = next(row for row in reader.items() if row.question.id == QUESTION)
        show_story(reader, row)
    finally:
        reader.close()
    for line in _losses(report, row.question.question):
        print_line(screen, f"  {line}")


def _losses(report: StudyReport, question: str) -> Iterator[str]:
    """Where the base lost answers, and which systems lost none."""
    found = {
        name: next(one for one in analysis.item_errors if one.id == QUESTION)
        for _, name, analysis in report.analysed
    }
    yield "lost"
    for line in lost_lines(question, found[report.systems[0].name])[1:]:
        yield indented(line.removeprefix("  "))
    if whole := [name for name, one in found.items() if not one.missing]:
        yield indented(f"lost nothing here: {', '.join(whole)}")
