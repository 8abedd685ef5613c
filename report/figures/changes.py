"""What each system changes against its base: a figure a metric, models by settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from branchwise.base.numbers import interval, signed
from branchwise.eval.comparison import Comparison, ScoreDifference
from branchwise.eval.tasks import Column
from branchwise.eval.tasks.task import capital
from branchwise.report.figures.drawing import (
    BLACK,
    BLUE,
    Drawing,
    add_legend,
    name_columns,
    name_rows,
    new_figure,
    new_grid,
    row_height,
    share_ticks,
    system_name,
    tips,
)
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.table import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes


T = TypeVar("T")


@dataclass(frozen=True)
class ModelGrid(Generic[T]):
    """What there is of models and settings, `cells` by both; a model may lack a setting."""

    cells: Mapping[tuple[str, str], T]

    @property
    def models(self) -> list[str]:
        """In the order of the systems."""
        return list(dict.fromkeys(model for model, _ in self.cells))

    @property
    def settings(self) -> list[str]:
        """In the order of the systems."""
        return list(dict.fromkeys(setting for _, setting in self.cells))


def system_grid(report: StudyReport) -> ModelGrid[SystemReport] | None:
    """The systems; None for fewer than two models, and where two are of one model and setting."""
    grid = ModelGrid({(one.model, one.setting): one for one in report.systems})
    is_whole = len(grid.cells) == len(report.systems)
    return grid if is_whole and len(grid.models) > 1 else None


def change_grid(report: StudyReport) -> ModelGrid[Comparison] | None:
    """The systems' comparisons with the base of their own model; None for fewer than two models."""
    systems = system_grid(report)
    if systems is None:
        return None
    grid = ModelGrid(
        {
            place: report.comparisons[one.name]
            for place, one in systems.cells.items()
            if one.name in report.comparisons and report.base_of(one).model == one.model
        }
    )
    return grid if len(grid.models) > 1 else None


@dataclass(frozen=True)
class ChangeRow:
    """A system's number in the report, its name, and its differences to the base by subset."""

    index: int
    name: str
    differences: tuple[ScoreDifference, ...]


@dataclass(frozen=True)
class ChangeFigure:
    """The systems' differences in one metric, the base left out.

    `setting`: the one that all are of, where rows are models.
    """

    metric: Column
    rows: tuple[ChangeRow, ...]
    setting: str = ""

    @property
    def title(self) -> str:
        if self.setting:
            return f"{self.setting}: change of {self.metric.name}"
        return f"{capital(self.metric.name)}: change against the base"


def change_figures(report: StudyReport) -> list[ChangeFigure]:
    """One for each metric that the systems are compared by; none without a comparison.

    Differences that are unknown are left out.
    """
    if not report.comparisons:
        return []
    found = [ChangeFigure(metric, _rows(report, metric.key)) for metric in report.compared]
    return [one for one in found if any(row.differences for row in one.rows)]


def model_change_figures(report: StudyReport) -> list[list[ChangeFigure]]:
    """For each setting one for each metric, rows being the models, which have numbers of their own.

    Empty without several models; a model that lacks the setting has no differences.
    """
    grid = change_grid(report)
    if grid is None:
        return []
    return [
        [
            ChangeFigure(metric, _model_rows(report, grid, setting, metric.key), setting)
            for metric in report.compared
        ]
        for setting in grid.settings
    ]


def _model_rows(
    report: StudyReport, grid: ModelGrid[Comparison], setting: str, metric: str
) -> tuple[ChangeRow, ...]:
    found = ((name, grid.cells.get((name, setting))) for name in grid.models)
    return tuple(
        ChangeRow(index, name, _differences(report, one, metric) if one else ())
        for index, (name, one) in enumerate(found)
    )


def _rows(report: StudyReport, metric: str) -> tuple[ChangeRow, ...]:
    return tuple(
        ChangeRow(index, system.name, _differences(report, found, metric))
        for index, system in enumerate(report.systems)
        if (found := report.comparisons.get(system.name))
    )


def _differences(
    report: StudyReport, comparison: Comparison, metric: str
) -> tuple[ScoreDifference, ...]:
    found = (comparison.find(metric, subset) for subset in report.parts)
    return tuple(one for one in found if one.difference is not None)


def total_notes(report: StudyReport) -> tuple[str, ...]:
    """How scores that are not means are compared, a line each."""
    return tuple(
        f"{capital(column.name)} is a function of sums over questions: its interval is a paired "
        "bootstrap's, its test swaps the two systems' sums of a question."
        for column in report.columns
        if column.total
    )


_LOOKS: dict[str, dict[str, Any]] = {
    "ambiguous": {"color": BLACK, "marker": "o"},
    "unambiguous": {"color": BLUE, "marker": "s", "markerfacecolor": "white"},
    "all": {"color": BLACK, "marker": "o"},
}
_APART = 0.16
_MEANING = (
    "difference of the means over the questions that both have, with Student's paired 95% interval."
)


def draw_changes(report: StudyReport, found: Sequence[ChangeFigure]) -> Drawing:
    """A panel a metric, a row a system, a marker a subset."""
    names = [row.name for row in found[0].rows]
    height = 0.7 + len(found) * (0.25 + len(names) * row_height(names, 0.24))
    figure, panels = new_figure(height, len(found))
    kinds = report.parts
    for axes, one in zip(panels, found, strict=True):
        _draw_panel(axes, one, report)
        axes.set_title(one.metric.title)
        name_rows(axes, names)
    share_ticks(panels[-1].xaxis)
    base = system_name(report.base_words)
    panels[-1].set_xlabel(f"difference to {base}")
    add_legend(
        figure,
        [_handle(subset) for subset in kinds],
        [report.task.questions_words(s) for s in kinds],
    )
    caption = f"Change of each system against {base}: {_MEANING}"
    return Drawing("changes", _with_notes(caption, report), figure)


def draw_model_changes(report: StudyReport, found: Sequence[Sequence[ChangeFigure]]) -> Drawing:
    """A band a setting, a panel a metric, a row a model."""
    kinds = report.parts
    names = [row.name for row in found[0][0].rows]
    height = 0.85 + len(found) * (0.28 + len(names) * row_height(names, 0.24))
    figure, bands = new_grid(height, len(found), len(report.compared))
    for panels, band in zip(bands, found, strict=True):
        for axes, one in zip(panels, band, strict=True):
            _draw_panel(axes, one, report)
            axes.tick_params(axis="y", length=0)
        panels[0].set_title(system_name(band[0].setting))
        name_rows(panels[0], names)
    name_columns(bands[0], [metric.title for metric in report.compared])
    share_ticks(bands[-1][0].xaxis, 3)
    add_legend(
        figure,
        [_handle(subset) for subset in kinds],
        [report.task.questions_words(s) for s in kinds],
    )
    caption = f"Change by each setting and model against the model's base: {_MEANING}"
    return Drawing("model-changes", _with_notes(caption, report), figure)


def _with_notes(caption: str, report: StudyReport) -> str:
    """A caption with how odd scores are compared, and what must be kept in mind of each system."""
    return " ".join([caption, *total_notes(report), *map(one_line, report.cautions)])


def _draw_panel(axes: "Axes", found: ChangeFigure, report: StudyReport) -> None:
    kinds = report.parts
    for place, row in enumerate(found.rows):
        for difference in row.differences:
            shift = _APART * (kinds.index(difference.subset) - (len(kinds) - 1) / 2)
            _draw(axes, difference, place + shift, _told(row.name, difference, report))
    axes.axvline(0, color="0.6", linewidth=0.6, zorder=0)


def _told(name: str, one: ScoreDifference, report: StudyReport) -> str:
    change = f"{signed(one.difference or 0.0)} {interval(one.low, one.high)}".strip()
    return f"{name}, {report.task.questions_words(one.subset)}: {change}"


def _draw(axes: "Axes", one: ScoreDifference, y: float, told: str) -> None:
    look = _LOOKS[one.subset]
    if one.difference is None:
        return
    if one.low is not None and one.high is not None:
        axes.plot([one.low, one.high], [y, y], color=look["color"], linewidth=0.9)
    axes.plot([one.difference], [y], linestyle="none", gid=tips(told), **look)


def _handle(subset: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **_LOOKS[subset])
