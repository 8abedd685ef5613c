"""Means along steps: recall by a property or by tool calls, ceilings from place to place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from branchwise.base.numbers import interval, number
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.grouping import UNKNOWN
from branchwise.eval.tasks.task import capital
from branchwise.report.study_report import StudyReport
from branchwise.runs.scoring.scored import Analysis

CEILING_PLACES = (
    ("ceiling_reach", "within reach"),
    ("ceiling_retrieved", "retrieved"),
    ("ceiling_extracted", "after extraction"),
    ("ceiling_shown", "shown"),
)
"""Ceilings in the order of an answer's way, with what they are called."""
_PROPERTIES = {
    "calls": ("tool calls", "tool calls made for the question"),
    "branches": ("branches", "gold branches of the question"),
    "steps": ("steps", "steps of the question's plan"),
}
_CALLS = (
    " Which questions are in a bin differs from system to system: hard ones may get more calls, so "
    "a falling line does not say that calls do harm."
)

FEW = 5
"""A mean of fewer questions says little: it is drawn hollow, and no line joins it."""
_HOLLOW = f" Hollow points that no line joins are of fewer than {FEW} questions."

_Found = Mapping[str, tuple[Aggregate, int]]
"""Column to a mean and the number of questions in it."""


@dataclass(frozen=True)
class Series:
    """A system's number in the report and its name; for each column a mean with its number of
    questions, or None."""

    index: int
    name: str
    means: tuple[tuple[Aggregate, int] | None, ...]

    def told(self, column: str, found: Aggregate) -> str:
        """What a point of the line is."""
        return f"{self.name}, {column}: {number(found.mean)} {interval(found.low, found.high)}"


@dataclass(frozen=True)
class Lines:
    """A line a system over columns. `name`: safe in a path; `x`, `y`: what the axes are.

    Columns of a curve are numbers; others are bins or places. A curve's means are of the same
    questions throughout.
    """

    name: str
    title: str
    x: str
    y: str
    columns: tuple[str, ...]
    series: tuple[Series, ...]
    caption: str
    is_curve: bool = False

    def joins(self, found: tuple[Aggregate, int]) -> bool:
        """Whether a mean is of enough questions for the line to pass through it."""
        return self.is_curve or found[1] >= FEW


def line_figures(report: StudyReport) -> list[Lines]:
    """Recall by tool calls, what was retrieved after each, recall by branches and by steps."""
    found = [
        recall_by(report, "calls"),
        retrieved(report),
        recall_by(report, "branches"),
        recall_by(report, "steps"),
    ]
    return [one for one in found if one]


def recall_by(report: StudyReport, by: str) -> Lines | None:
    """Each system's main metric by a property of the question; None where no question has it."""
    main, (words, x) = report.task.main, _PROPERTIES[by]

    def read(analysis: Analysis) -> _Found:
        bins = [one for one in analysis.breakdown(by).bins if one.label != UNKNOWN]
        return {one.label: (one.aggregates[main.key], one.questions) for one in bins}

    caption = (
        f"{capital(main.name)} against the number of {x}: means with 95% bootstrap intervals over "
        "the questions in each bin." + (_CALLS if by == "calls" else "")
    )
    title = f"{capital(main.name)} against {words}"
    return _lines(report, read, f"recall-by-{by}", title, x, main.name, caption)


def retrieved(report: StudyReport) -> Lines | None:
    """Recall of a perfect reader after each tool call; None where nothing was retrieved."""

    def read(analysis: Analysis) -> _Found:
        points = analysis.curve("calls").points
        return {f"{one.effort:,}": (one.recall, one.recall.n) for one in points}

    caption = (
        "Recall of a perfect reader over what had been retrieved after each tool call, over all "
        "questions; those that made fewer calls keep their last value. Where a line is flat, more "
        "calls found nothing more."
    )
    title, x = "Retrieved after each tool call", "tool calls made so far"
    y = "recall of what was retrieved"
    return _lines(report, read, "retrieved-by-calls", title, x, y, caption, is_curve=True)


def ceilings(report: StudyReport, subset: str) -> Lines | None:
    """The ceilings from place to place, then the agent's own; None where no evidence was recorded.

    A place that is unknown is left out, and so is extraction where all that it left was shown.
    """
    main = report.task.main
    known = [
        (index, name, analysis.ceilings.aggregates)
        for index, name, analysis in report.analysed
        if analysis.ceilings.aggregates["all"]["ceiling_retrieved"].n
    ]
    found = [aggregates["all"] for _, _, aggregates in known]
    places = [place for place in CEILING_PLACES if _is_told(place[0], found)]
    places.append((main.key, "answered"))
    series = tuple(
        Series(index, name, tuple((of[subset][key], of[subset][key].n) for key, _ in places))
        for index, name, of in known
    )
    caption = (
        f"{capital(main.name)} of a perfect reader over what the tools could have given, what they "
        "returned, what extraction left and what the agent was shown; then the agent's own."
    )
    title, x = (
        capital(report.task.questions_words(subset)),
        "from what there is to what is answered",
    )
    columns = tuple(words for _, words in places)
    return Lines("ceilings", title, x, main.name, columns, series, caption) if known else None


def _is_told(key: str, systems: Sequence[Mapping[str, Aggregate]]) -> bool:
    if key == "ceiling_extracted":
        return any(one["context_loss"].mean for one in systems)
    return any(one[key].n for one in systems)


def _lines(
    report: StudyReport,
    read: Callable[[Analysis], _Found],
    name: str,
    title: str,
    x: str,
    y: str,
    caption: str,
    *,
    is_curve: bool = False,
) -> Lines | None:
    found = [(index, system, read(analysis)) for index, system, analysis in report.analysed]
    columns = sorted({label for _, _, one in found for label in one}, key=_first_number)
    series = tuple(
        Series(index, system, tuple(one.get(column) for column in columns))
        for index, system, one in found
        if one
    )
    if not columns:
        return None
    lines = Lines(name, title, x, y, tuple(columns), series, caption, is_curve=is_curve)
    known = (mean for one in series for mean in one.means if mean and mean[0].mean is not None)
    return lines if all(map(lines.joins, known)) else replace(lines, caption=caption + _HOLLOW)


def _first_number(label: str) -> tuple[int, str]:
    """What a bin ("3-4", "21+", "1,000-1,999") begins with; words come last."""
    digits = label.split("-")[0].rstrip("+").replace(",", "")
    return (int(digits) if digits.isdigit() else 2**62, label)
