"""What is spent against recall, with the systems that no other beats in both."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from branchwise.eval.numbers import as_text, interval, number
from branchwise.eval.reporting.figures.cost import Cost, Point
from branchwise.ui.html.scales import Scale, from_zero, tick_words
from branchwise.ui.html.svg import colour, element, figure, label, line, mark, path, text

_HEIGHT = 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 366, 24, 222
_MOST_NAMES = 8
_LETTER, _LINE, _MARK = 6.2, 13.0, 8.0


def draw_scatter(cost: Cost) -> Markup:
    """Points with intervals of recall; the front is a step line, and its points have a ring."""
    systems, x_title, y_title = cost.points, cost.unit.axis, cost.metric.name
    x = from_zero([one.spent for one in systems], _LEFT, _RIGHT, 4)
    y = from_zero([one.found.high or one.value for one in systems], _BOTTOM, _TOP)
    front = cost.front
    parts = [*_axes(x, y, x_title, y_title)]
    parts.append(path(_steps(front, x, y), "front"))
    for one in systems:
        parts += _point(cost, one, x, y, on_front=one in front)
    if len(systems) <= _MOST_NAMES:
        parts += _names(systems, x, y)
    said = f"{y_title} against {x_title} of {len(systems)} systems; values below"
    return figure(_HEIGHT, cost.title, said, parts)


def _axes(x: Scale, y: Scale, x_title: str, y_title: str) -> Iterator[Markup]:
    for tick, said in zip(y.ticks, tick_words(y.ticks), strict=True):
        yield line(_LEFT, y.place(tick), _RIGHT, y.place(tick), "grid" if tick else "axis")
        yield text(_LEFT - 6, y.place(tick) + 4, said, "tick", "end")
    for tick, said in zip(x.ticks, tick_words(x.ticks), strict=True):
        anchor = "end" if tick == x.ticks[-1] else "middle"
        yield text(x.place(tick), _BOTTOM + 17, said, "tick", anchor)
    yield text(4, 12, y_title, "axis-title")
    yield text((_LEFT + _RIGHT) / 2, _HEIGHT - 8, x_title, "axis-title", "middle")


def _steps(front: Sequence[Point], x: Scale, y: Scale) -> list[tuple[float, float]]:
    """From the cheapest to the right edge: what recall can be had for at most so much."""
    points: list[tuple[float, float]] = []
    for one in front:
        if points:
            points.append((x.place(one.spent), points[-1][1]))
        points.append((x.place(one.spent), y.place(one.value)))
    return [*points, (float(_RIGHT), points[-1][1])] if points else []


def _point(cost: Cost, one: Point, x: Scale, y: Scale, *, on_front: bool) -> Iterator[Markup]:
    at, found = x.place(one.spent), one.found
    if found.low is not None and found.high is not None:
        yield line(at, y.place(found.low), at, y.place(found.high), f"whisker {colour(one.index)}")
    if on_front:
        yield element("circle", cx=at, cy=y.place(one.value), r=8, class_="ring")
    spent = f"{as_text(one.spent, cost.unit.unit)} {cost.unit.axis}"
    said = f"{one.name}: {number(one.value)} {interval(found.low, found.high)} for {spent}"
    yield mark(one.index, at, y.place(one.value), said)


def _names(systems: Sequence[Point], x: Scale, y: Scale) -> Iterator[Markup]:
    """Names beside the points, on the side with more room, none over another or over a point."""
    taken = [_place_of_mark(one, x, y) for one in systems]
    for one in sorted(systems, key=lambda one: -one.value):
        at, said = x.place(one.spent), label(one.name, 22)
        right = at < (_LEFT + _RIGHT) / 2
        edge = at + 11 if right else at - 11
        first, last = sorted((edge, edge + _LETTER * len(said) * (1 if right else -1)))
        baseline = _free_line(first, last, y.place(one.value) + 4, taken)
        taken.append((first, last, baseline))
        yield text(edge, baseline, said, "name", "start" if right else "end")


def _place_of_mark(one: Point, x: Scale, y: Scale) -> tuple[float, float, float]:
    """What a point covers, as if it were a name."""
    at = x.place(one.spent)
    return at - _MARK, at + _MARK, y.place(one.value) + 4


def _free_line(
    first: float, last: float, wanted: float, taken: Sequence[tuple[float, float, float]]
) -> float:
    """The baseline nearest to the wanted one at which a name covers nothing, inside the axes."""
    steps = (side * n * _LINE for n in range(2 * len(taken) + 1) for side in (1, -1))
    free = (
        wanted + step
        for step in steps
        if not any(_over((first, last, wanted + step), other) for other in taken)
    )
    return next((line for line in free if _TOP <= line <= _BOTTOM), wanted)


def _over(a: tuple[float, float, float], b: tuple[float, float, float]) -> bool:
    """Whether two names (first, last, baseline) would overlap."""
    return abs(a[2] - b[2]) < _LINE and a[0] < b[1] and b[0] < a[1]
