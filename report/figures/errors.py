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
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ErrorCounts:
    """Items of a subset, and those among them whose answer is not exactly right (inexact).

    `with_error`, `inexact_with`: how many of either have an error, by key of a type or class;
    `known`, `inexact_known`: of how many that can be known.
    """

    items: int
    inexact: int
    with_error: Mapping[str, int]
    inexact_with: Mapping[str, int]
    known: Mapping[str, int]
    inexact_known: Mapping[str, int]

    def of_all(self, kind: ErrorType[Any] | ErrorClass[Any]) -> float | None:
        """The share of all items that have an error; None where it is known of none."""
        known = self.known[kind.key]
        return self.with_error[kind.key] / known if known else None

    def of_inexact(self, kind: ErrorType[Any] | ErrorClass[Any]) -> float | None:
        """The share of the inexact items; None where it is known of none."""
        known = self.inexact_known[kind.key]
        return self.inexact_with[kind.key] / known if known else None

    def to_json(self, classes: ErrorClasses[Any]) -> dict[str, Any]:
        """JSON-serialisable: of each class, and as its paper words it, the items that are of it
        and their shares, of all and of those that are not exact."""
        kinds = [one for group in classes.classes for one in group.shown]
        return {
            "items": self.items,
            "inexact": self.inexact,
            **{
                one.key: {
                    "items": self.with_error[one.key],
                    "of_all": self.of_all(one),
                    "inexact": self.inexact_with[one.key],
                    "of_inexact": self.of_inexact(one),
                }
                for one in kinds
            },
        }


def inexact_words(task: Task) -> str:
    """What makes an item inexact."""
    return f"Not exact: {task.exact.name} is below 1."


def found_in(kind: ErrorType[Any] | ErrorClass[Any], counts: Iterable[ErrorCounts]) -> bool:
    """Whether any item has the error."""
    return any(found.with_error[kind.key] for found in counts)


def error_counts(run: ScoredAnswers, subset: str) -> ErrorCounts:
    """Count the items of a subset by error; an item is a question in one epoch.

    Exactly right is what the task's exact match says, or its main metric where it has none; an
    item that this leaves unscored is not inexact. The task has classes of errors.
    """
    assert run.error_classes is not None
    exact = run.scores.scorer.scored_task.exact.key
    is_inexact = {
        (row.id, row.epoch): (value := row.metrics[exact]) is not None and value < 1
        for row in run.scores.items
    }
    items = of_subset(run.errors, subset)
    inexact = [one for one in items if is_inexact[one.id, one.epoch]]
    (found, known), (own, own_known) = (
        _by_kind(run.error_classes, chosen) for chosen in (items, inexact)
    )
    return ErrorCounts(len(items), len(inexact), found, own, known, own_known)


def _by_kind(
    classes: ErrorClasses[Any], items: Sequence[FoundErrors]
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """How many items have each type or class, and of how many that is known."""
    found: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for errors in items:
        found.update(errors.found)
        unknown.update(errors.unknown)
        for group in classes.classes:
            keys = {one.key for one in group.types}
            if keys & errors.found:
                found[group.key] += 1
            elif keys & errors.unknown:
                unknown[group.key] += 1
    every = [*(one.key for one in classes.classes), *(one.key for one in classes.counted)]
    return found, {key: len(items) - unknown[key] for key in every}


@dataclass(frozen=True)
class SystemErrors:
    """A system's number in the report, its name, and its items by error."""

    index: int
    name: str
    counts: ErrorCounts


@dataclass(frozen=True)
class ErrorShares:
    """The items of a subset, of every system that was analysed."""

    task: Task
    subset: str
    of: ErrorClasses[Any]
    systems: tuple[SystemErrors, ...]

    @property
    def classes(self) -> list[ErrorClass[Any]]:
        """Those that any item is of, by their types or as their paper words them."""
        return [one for one in self.of.classes if any(map(self._is_used, one.shown))]

    def types(self, group: ErrorClass[Any]) -> list[ErrorType[Any]]:
        """Those of a class that any item is of."""
        return [one for one in group.types if self._is_used(one)]

    def _is_used(self, kind: ErrorClass[Any] | ErrorType[Any]) -> bool:
        return found_in(kind, [one.counts for one in self.systems])

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
    systems = tuple(
        SystemErrors(index, name, error_counts(run, subset)) for index, name, run in report.examined
    )
    if report.error_classes is None:
        return None
    found = ErrorShares(report.task, subset, report.error_classes, systems)
    return found if found.classes else None


_COLOURS = (ORANGE, BLUE, GREEN, SKY)
_BAR, _ACROSS = 0.62, 0.11
_LINE: dict[str, Any] = {"color": BLACK, "linewidth": 0.9}
_HOLLOW: dict[str, Any] = {"facecolor": "white", "edgecolor": BLACK, "linewidth": 0.6}
_OVER, _ABOVE, _THIN, _BELOW = 0.36, 0.12, 0.16, 0.28
"""Heights of a bar over another and of that one, and how far each is from its row's middle."""
_ROOM = 1.42
"""The end of the axis, with room for the number beside a whole bar."""


def draw_error_classes(report: StudyReport, found: Sequence[ErrorShares]) -> Drawing:
    """Bars of the shares of the items that are not exact."""
    names = [one.name for one in found[0].systems]
    used = {group.key for shares in found for group in shares.classes}
    of = found[0].of
    classes = [one for one in of.classes if one.key in used]
    height = 0.95 + len(found) * (0.3 + len(names) * row_height(names))
    figure, bands = new_grid(height, len(found), len(classes))
    for band, shares_of in zip(bands, found, strict=True):
        for axes, group in zip(band, classes, strict=True):
            for row, one in enumerate(shares_of.systems):
                _draw(axes, one, group, row, _COLOURS[of.classes.index(group) % len(_COLOURS)])
            axes.tick_params(axis="y", length=0)
        band[0].set_title(report.task.questions_words(shares_of.subset))
        name_rows(band[0], names)
    name_columns(bands[0], [group.title for group in classes])
    axes.set_xlim(0, _ROOM)
    axes.set_xticks([0, 0.5, 1], labels=["0", "", "100"])
    _legend(figure, hollow=any(group.published for group in classes))
    return Drawing("error-classes", " ".join([found[0].caption, *of.says]), figure)


def _draw(axes: "Axes", one: SystemErrors, group: ErrorClass[Any], row: int, colour: str) -> None:
    share, of_all = one.counts.of_inexact(group) or 0, one.counts.of_all(group) or 0
    place, height = (row, _BAR) if group.published is None else (row - _ABOVE, _OVER)
    axes.barh(place, share, height, color=colour, gid=tips(_told(one, group)))
    ends = [place - height / 2 - _ACROSS, place + height / 2 + _ACROSS]
    axes.plot([of_all] * 2, ends, **_LINE)
    _number(axes, max(share, of_all), place, one.counts, group)
    if group.published:
        own = one.counts.of_inexact(group.published) or 0
        axes.barh(row + _BELOW, own, _THIN, gid=tips(_told(one, group, by_paper=True)), **_HOLLOW)
        _number(axes, own, row + _BELOW, one.counts, group.published)


def _told(one: SystemErrors, group: ErrorClass[Any], *, by_paper: bool = False) -> str:
    counts = one.counts
    if by_paper and (of_paper := group.published):
        own = counts.inexact_with[of_paper.key]
        share = percent(own, counts.inexact)
        return f"{one.name}: {group.title} {of_paper.title}: {own:,} ({share})"
    inexact, of_all = counts.inexact_with[group.key], counts.with_error[group.key]
    return (
        f"{one.name}: {group.title}: {inexact:,} of {counts.inexact:,} that are not exact "
        f"({percent(inexact, counts.inexact)}), {of_all:,} of all {counts.items:,} "
        f"({percent(of_all, counts.items)})"
    )


def _number(
    axes: "Axes",
    x: float,
    y: float,
    counts: ErrorCounts,
    kind: ErrorClass[Any] | ErrorType[Any],
) -> None:
    """The share of a bar behind its end."""
    said = percent(counts.inexact_with[kind.key], counts.inexact).rstrip("%")
    size = 6 if isinstance(kind, ErrorClass) else 5
    axes.text(x + 0.05, y, said, va="center_baseline", fontsize=size)


def _legend(figure: "Figure", *, hollow: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    line = Line2D([], [], color=BLACK, linestyle="none", marker="|", markersize=7)
    handles: list[Any] = [Patch(color="0.6"), line]
    labels = ["% of the items that are not exact", "% of all items"]
    if hollow:
        handles.append(Patch(**_HOLLOW))
        labels.append("the first, by the paper's own sentence")
    add_legend(figure, handles, labels)
