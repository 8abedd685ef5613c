"""Items by class of error, as shares of all and of those that are not exactly right."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from branchwise.base.numbers import percent
from branchwise.eval.errors.labels import ErrorClass, ErrorClasses, ErrorType, FoundErrors
from branchwise.eval.scores import of_subset
from branchwise.eval.tasks import Task
from branchwise.report.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    SKY,
    Drawing,
    add_legend,
    name_columns,
    name_rows,
    new_grid,
    row_height,
    tips,
)
from branchwise.report.study_report import StudyReport
from branchwise.runs.scoring.scored import ScoredAnswers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AnyError = ErrorType[Any] | ErrorClass[Any]


@dataclass(frozen=True)
class ErrorCounts:
    """Items of a subset, and those among them that are not exactly right (inexact): how many of
    either have an error, by key of a type or class, and of how many that is known."""

    items: int
    inexact: int
    with_error: Mapping[str, int]
    inexact_with: Mapping[str, int]
    known: Mapping[str, int]
    inexact_known: Mapping[str, int]

    def of_all(self, error: AnyError) -> float | None:
        """The share of all items that have an error; None where it is known of none."""
        known = self.known[error.key]
        return self.with_error[error.key] / known if known else None

    def of_inexact(self, error: AnyError) -> float | None:
        """The share of the inexact items; None where it is known of none."""
        known = self.inexact_known[error.key]
        return self.inexact_with[error.key] / known if known else None

    def to_json(self, classes: ErrorClasses[Any]) -> dict[str, Any]:
        """JSON-serialisable: of each class, also as its paper words it, items and their shares."""
        by_class = {
            error.key: {
                "items": self.with_error[error.key],
                "of_all": self.of_all(error),
                "inexact": self.inexact_with[error.key],
                "of_inexact": self.of_inexact(error),
            }
            for group in classes.classes
            for error in group.shown
        }
        return {"items": self.items, "inexact": self.inexact, **by_class}


def inexact_words(task: Task) -> str:
    return f"Not exact: {task.exact.name} is below 1."


def has_any(error: AnyError, counts: Iterable[ErrorCounts]) -> bool:
    return any(count.with_error[error.key] for count in counts)


def error_counts(run: ScoredAnswers, subset: str) -> ErrorCounts:
    """Count the items (a question in one epoch) of a subset by error. Inexact: below 1 by the
    task's exact match, or by its main metric; not what this leaves unscored."""
    assert run.error_classes is not None
    exact = run.scores.scorer.scored_task.exact.key
    is_inexact = {
        (row.id, row.epoch): (value := row.metrics[exact]) is not None and value < 1
        for row in run.scores.items
    }
    items = of_subset(run.errors, subset)
    inexact = [item for item in items if is_inexact[item.id, item.epoch]]
    of_all, known = _by_error(run.error_classes, items)
    of_inexact, inexact_known = _by_error(run.error_classes, inexact)
    return ErrorCounts(len(items), len(inexact), of_all, of_inexact, known, inexact_known)


def _by_error(
    classes: ErrorClasses[Any], items: Sequence[FoundErrors]
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """How many items have each type or class, and of how many that is known."""
    counts: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for errors in items:
        counts.update(errors.found)
        unknown.update(errors.unknown)
        for group in classes.classes:
            keys = {error_type.key for error_type in group.types}
            if keys & errors.found:
                counts[group.key] += 1
            elif keys & errors.unknown:
                unknown[group.key] += 1
    every: list[AnyError] = [*classes.classes, *classes.counted]
    return counts, {error.key: len(items) - unknown[error.key] for error in every}


@dataclass(frozen=True)
class ErrorShares:
    """The items of a subset by error, of every system that was analysed, by its name."""

    task: Task
    subset: str
    of: ErrorClasses[Any]
    systems: tuple[tuple[str, ErrorCounts], ...]

    @property
    def classes(self) -> list[ErrorClass[Any]]:
        """Those that any item is of, by their types or as their paper words them."""
        return [group for group in self.of.classes if any(map(self._is_used, group.shown))]

    def types(self, group: ErrorClass[Any]) -> list[ErrorType[Any]]:
        """Those of a class that any item is of."""
        return [error_type for error_type in group.types if self._is_used(error_type)]

    def _is_used(self, error: AnyError) -> bool:
        return has_any(error, (counts for _, counts in self.systems))

    @property
    def title(self) -> str:
        return f"Errors on {self.task.questions_words(self.subset)}"

    @property
    def caption(self) -> str:
        published = any(group.published for group in self.classes)
        hollow = "; the hollow bar is by the paper's own sentence" if published else ""
        return (
            "Items with an error of each class, as shares of those that are not exact; the line "
            f"across a bar is the share of all items{hollow}. {inexact_words(self.task)} An item "
            "may be of several classes."
        )


def error_shares(report: StudyReport, subset: str) -> ErrorShares | None:
    """None for tasks whose answers are sentences, and where no item has an error."""
    if report.error_classes is None:
        return None
    systems = tuple((name, error_counts(run, subset)) for name, run in report.examined)
    shares = ErrorShares(report.task, subset, report.error_classes, systems)
    return shares if shares.classes else None


_COLOURS = (ORANGE, BLUE, GREEN, SKY)
_BAR, _ACROSS = 0.62, 0.11
_HOLLOW: dict[str, Any] = {"facecolor": "white", "edgecolor": BLACK, "linewidth": 0.6}
_OVER, _ABOVE, _THIN, _BELOW = 0.36, 0.12, 0.16, 0.28
"""Heights of a bar over another and of that one, and how far each is from its row's middle."""
_ROOM = 1.42
"""The end of the axis, with room for the number beside a whole bar."""


def draw_error_classes(report: StudyReport, of_subsets: Sequence[ErrorShares]) -> Drawing:
    """A column a class, a row a system, a band of rows a subset: bars of inexact items."""
    names = [name for name, _ in of_subsets[0].systems]
    used = {group.key for shares in of_subsets for group in shares.classes}
    of = of_subsets[0].of
    classes = [group for group in of.classes if group.key in used]
    height = 0.95 + len(of_subsets) * (0.3 + len(names) * row_height(names))
    figure, bands = new_grid(height, len(of_subsets), len(classes))
    for band, shares in zip(bands, of_subsets, strict=True):
        for axes, group in zip(band, classes, strict=True):
            colour = _COLOURS[of.classes.index(group) % len(_COLOURS)]
            for row, (name, counts) in enumerate(shares.systems):
                _draw(axes, name, counts, group, row, colour)
            axes.tick_params(axis="y", length=0)
        band[0].set_title(report.task.questions_words(shares.subset))
        name_rows(band[0], names)
    name_columns(bands[0], [group.title for group in classes])
    axes.set_xlim(0, _ROOM)
    axes.set_xticks([0, 0.5, 1], labels=["0", "", "100"])
    _legend(figure, hollow=any(group.published for group in classes))
    return Drawing("error-classes", " ".join([of_subsets[0].caption, *of.says]), figure)


def _draw(
    axes: "Axes", name: str, counts: ErrorCounts, group: ErrorClass[Any], row: int, colour: str
) -> None:
    share, of_all = counts.of_inexact(group) or 0, counts.of_all(group) or 0
    y, height = (row, _BAR) if group.published is None else (row - _ABOVE, _OVER)
    inexact, every = counts.inexact_with[group.key], counts.with_error[group.key]
    tip = (
        f"{name}: {group.title}: {inexact:,} of {counts.inexact:,} that are not exact "
        f"({percent(inexact, counts.inexact)}), {every:,} of all {counts.items:,} "
        f"({percent(every, counts.items)})"
    )
    axes.barh(y, share, height, color=colour, gid=tips(tip))
    ends = [y - height / 2 - _ACROSS, y + height / 2 + _ACROSS]
    axes.plot([of_all] * 2, ends, color=BLACK, linewidth=0.9)
    _number(axes, max(share, of_all), y, percent(inexact, counts.inexact), 6)
    if group.published:
        own = counts.inexact_with[group.published.key]
        words = percent(own, counts.inexact)
        tip = f"{name}: {group.title} {group.published.title}: {own:,} ({words})"
        share, y = counts.of_inexact(group.published) or 0, row + _BELOW
        axes.barh(y, share, _THIN, gid=tips(tip), **_HOLLOW)
        _number(axes, share, y, words, 5)


def _number(axes: "Axes", x: float, y: float, share: str, size: int) -> None:
    axes.text(x + 0.05, y, share.rstrip("%"), va="center_baseline", fontsize=size)


def _legend(figure: Any, *, hollow: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    line = Line2D([], [], color=BLACK, linestyle="none", marker="|", markersize=7)
    handles: list[Any] = [Patch(color="0.6"), line]
    labels = ["% of the items that are not exact", "% of all items"]
    if hollow:
        handles.append(Patch(**_HOLLOW))
        labels.append("the first, by the paper's own sentence")
    add_legend(figure, handles, labels)
