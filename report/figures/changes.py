"""What each system changes against its base: a figure a metric, models by settings."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from branchwise.base.numbers import interval, signed
from branchwise.base.text import listed
from branchwise.eval.comparison import Comparison, ScoreDifference
from branchwise.eval.effects import Effect
from branchwise.eval.tasks import Column
from branchwise.eval.tasks.task import capital
from branchwise.report.figures.drawing import (
    BLACK,
    BLUE,
    Drawing,
    add_legend,
    name_columns,
    name_rows,
    name_x,
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
_AGAINST = "change against the base"


@dataclass(frozen=True)
class ModelGrid(Generic[T]):
    """What there is of models and settings, in the systems' order; a model may lack a setting."""

    cells: Mapping[tuple[str, str], T]

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(model for model, _ in self.cells))

    @property
    def settings(self) -> list[str]:
        return list(dict.fromkeys(setting for _, setting in self.cells))


def system_grid(report: StudyReport) -> ModelGrid[SystemReport] | None:
    """The systems; None for fewer than two models, and where two are of one model and setting."""
    grid = ModelGrid({(system.model, system.setting): system for system in report.systems})
    is_whole = len(grid.cells) == len(report.systems)
    return grid if is_whole and len(grid.models) > 1 else None


def change_grid(report: StudyReport) -> ModelGrid[Comparison] | None:
    """The systems' comparisons with the base of their own model; None for fewer than two models."""
    systems = system_grid(report)
    if systems is None:
        return None
    grid = ModelGrid(
        {
            (model, setting): report.comparisons[cell.name]
            for (model, setting), cell in systems.cells.items()
            if cell.name in report.comparisons and report.base_of(cell).model == model
        }
    )
    return grid if len(grid.models) > 1 else None


@dataclass(frozen=True)
class ChangeFigure:
    """Differences to the base in one metric: a row a system, each with those of its subsets.
    `setting`: the one that all are of, where rows are models. `of_effects`: a row an effect of a
    factorial study instead. `alike`: the metric, and those that are the same in every item."""

    metric: Column
    rows: tuple[tuple[str, tuple[ScoreDifference | Effect, ...]], ...]
    setting: str = ""
    of_effects: bool = False
    alike: tuple[Column, ...] = ()

    @property
    def words(self) -> str:
        """What stands over its panel."""
        return ", ".join(metric.title for metric in self.alike or (self.metric,))

    @property
    def title(self) -> str:
        name = listed(metric.name for metric in self.alike or (self.metric,))
        if self.setting:
            return f"{self.setting}: change of {name}"
        return f"{capital(name)}: {'effects of the factors' if self.of_effects else _AGAINST}"


def change_figures(report: StudyReport, metrics: Collection[str] = ()) -> list[ChangeFigure]:
    """One for each of the `metrics` that systems are compared by (all where none are named) that
    are not the same in every item, without unknown differences."""
    compared = report.comparisons
    named = [(s.name, compared[s.name]) for s in report.systems if s.name in compared]
    figures = [_figure(report, own, named) for own in _drawn(report, metrics)]
    return [figure for figure in figures if any(differences for _, differences in figure.rows)]


def effect_figures(report: StudyReport, metrics: Collection[str] = ()) -> list[ChangeFigure]:
    """The same of the effects of a factorial study."""
    rows: dict[str, dict[str, list[Effect]]] = {}
    for effect in report.effects:
        if effect.subset in report.parts and effect.difference is not None:
            name = f"{effect.group}: {effect.name}" if effect.group else effect.name
            rows.setdefault(effect.metric, {}).setdefault(name, []).append(effect)
    return [
        ChangeFigure(
            own[0], tuple((n, tuple(of)) for n, of in rows[own[0].key].items()), "", True, own
        )
        for own in _drawn(report, metrics)
        if own[0].key in rows
    ]


def _drawn(report: StudyReport, metrics: Collection[str]) -> list[tuple[Column, ...]]:
    """The metrics that panels are of, those that are the same in every item together."""
    groups = [
        tuple(metric for metric in own if not metrics or metric.key in metrics)
        for own in report.alike
    ]
    return [own for own in groups if own]


def model_change_figures(
    report: StudyReport, metrics: Collection[str] = ()
) -> list[list[ChangeFigure]]:
    """For each setting one for each metric, a row a model; empty without several models."""
    grid = change_grid(report)
    if grid is None:
        return []
    bands = []
    for setting in grid.settings:
        named = [(model, grid.cells.get((model, setting))) for model in grid.models]
        bands.append([_figure(report, own, named, setting) for own in _drawn(report, metrics)])
    return [band for band in bands if band]


def _figure(
    report: StudyReport,
    metrics: tuple[Column, ...],
    named: Iterable[tuple[str, Comparison | None]],
    setting: str = "",
) -> ChangeFigure:
    rows = []
    for name, comparison in named:
        subsets = report.parts if comparison else ()
        differences = (comparison.find(metrics[0].key, subset) for subset in subsets if comparison)
        rows.append((name, tuple(d for d in differences if d.difference is not None)))
    return ChangeFigure(metrics[0], tuple(rows), setting, alike=metrics)


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
_EFFECTS = (
    "mean difference over the other factors' levels; of changes joined by ×, the whole difference "
    "of differences; Student's 95% interval of the contrast within questions."
)


def draw_changes(report: StudyReport, figures: Sequence[ChangeFigure]) -> Drawing:
    """A panel a metric, a row a system or an effect, a marker a subset."""
    names = [name for name, _ in figures[0].rows]
    height = 0.7 + len(figures) * (0.25 + len(names) * row_height(names, 0.24))
    figure, rows = new_grid(height, len(figures), 1)
    panels = [axes for (axes,) in rows]
    for axes, change in zip(panels, figures, strict=True):
        _draw_panel(axes, change, report)
        axes.set_title(change.words)
        name_rows(axes, names)
    share_ticks(panels[-1].xaxis)
    if figures[0].of_effects:
        panels[-1].set_xlabel("effect")
        return _finished("effects", "Effects of the factors", figure, report, _EFFECTS)
    base = system_name(report.base_words)
    name_x(panels[-1], f"difference to {base}")
    return _finished("changes", f"Change of each system against {base}", figure, report)


def draw_model_changes(report: StudyReport, bands: Sequence[Sequence[ChangeFigure]]) -> Drawing:
    """A band a setting, a panel a metric, a row a model."""
    names = [name for name, _ in bands[0][0].rows]
    height = 0.85 + len(bands) * (0.28 + len(names) * row_height(names, 0.24))
    figure, rows = new_grid(height, len(bands), len(bands[0]))
    for panels, band in zip(rows, bands, strict=True):
        for axes, change in zip(panels, band, strict=True):
            _draw_panel(axes, change, report)
            axes.tick_params(axis="y", length=0)
        panels[0].set_title(system_name(band[0].setting))
        name_rows(panels[0], names)
    name_columns(rows[0], [change.words for change in bands[0]])
    share_ticks(rows[-1][0].xaxis, 3)
    caption = "Change by each setting and model against the model's base"
    return _finished("model-changes", caption, figure, report)


def _finished(
    name: str, caption: str, figure: Any, report: StudyReport, meaning: str = _MEANING
) -> Drawing:
    """With a legend, and what must be kept in mind in the caption."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **_LOOKS[subset]) for subset in report.parts]
    add_legend(figure, handles, [report.task.questions_words(part) for part in report.parts])
    notes = [*total_notes(report), *report.alike_notes, *map(one_line, report.cautions)]
    return Drawing(name, " ".join([f"{caption}: {meaning}", *notes]), figure)


def _draw_panel(axes: "Axes", figure: ChangeFigure, report: StudyReport) -> None:
    subsets = report.parts
    for row, (name, differences) in enumerate(figure.rows):
        for difference in differences:
            y = row + _APART * (subsets.index(difference.subset) - (len(subsets) - 1) / 2)
            look, change = _LOOKS[difference.subset], difference.difference or 0.0
            low, high = difference.low, difference.high
            if low is not None and high is not None:
                axes.plot([low, high], [y, y], color=look["color"], linewidth=0.9)
            ends = f"{signed(change)} {interval(low, high)}".strip()
            tip = tips(f"{name}, {report.task.questions_words(difference.subset)}: {ends}")
            axes.plot([change], [y], linestyle="none", gid=tip, **look)
    axes.axvline(0, color="0.6", linewidth=0.6, zorder=0)
