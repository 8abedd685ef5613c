"""SVG elements as safe markup, the marks that tell systems apart, and the scales of figures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup, escape

from branchwise.eval.numbers import number, signed
from branchwise.ui.html.text import short

WIDTH = 380
"""Units of every figure: its letters have their own size where it is 380 pixels wide."""
COLOURS = 8
_CORNERS: tuple[tuple[tuple[float, float], ...], ...] = (
    (),  # a circle
    ((-3.8, -3.8), (3.8, -3.8), (3.8, 3.8), (-3.8, 3.8)),
    ((-4.6, 3.8), (4.6, 3.8), (0, -4.8)),
    ((-5.2, 0), (0, -5.2), (5.2, 0), (0, 5.2)),
    ((-4.6, -3.8), (4.6, -3.8), (0, 4.8)),
    ((-5, -2), (-2, -5), (2, -5), (5, -2), (5, 2), (2, 5), (-2, 5), (-5, 2)),
)


def element(tag: str, *children: Markup | str, **attributes: str | float) -> Markup:
    """An element; children and attributes are escaped unless they are markup.

    Attribute names have "-" for "_", and `class_` is `class`.
    """
    named = (
        Markup(' {}="{}"').format(key.strip("_").replace("_", "-"), _value(value))
        for key, value in attributes.items()
    )
    inner = Markup("").join(
        child if isinstance(child, Markup) else escape(short(child)) for child in children
    )
    return Markup("<{0}{1}>{2}</{0}>").format(tag, Markup("").join(named), inner)


def figure(height: float, title: str, description: str, parts: Iterable[Markup]) -> Markup:
    """A whole figure, `WIDTH` by `height`, with a title and a description for screen readers."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *parts,
        viewBox=f"0 0 {WIDTH} {_value(height)}",
        role="img",
    )


def text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> Markup:
    """A line of text at its baseline; `kind` is a class of the style sheet."""
    return element("text", said, x=x, y=y, text_anchor=anchor, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def path(points: Iterable[tuple[float, float]], kind: str) -> Markup:
    """A line through points."""
    through = " ".join(f"{_value(x)},{_value(y)}" for x, y in points)
    return element("polyline", points=through, class_=kind)


def colour(index: int) -> str:
    """The class that colours the marks of a system."""
    return f"s{index % COLOURS}"


def mark(index: int, x: float, y: float, said: str = "", *, hollow: bool = False) -> Markup:
    """The mark of the system with this number: colours and shapes repeat with different periods.

    `said` is its tooltip.
    """
    kind = f"mark {colour(index)}" + (" hollow" if hollow else "")
    children = [element("title", said)] if said else []
    corners = _CORNERS[index % len(_CORNERS)]
    if not corners:
        return element("circle", *children, cx=x, cy=y, r=4.2, class_=kind)
    points = " ".join(f"{_value(x + dx)},{_value(y + dy)}" for dx, dy in corners)
    return element("polygon", *children, points=points, class_=kind)


def key(index: int) -> Markup:
    """The mark alone, as it stands in a legend."""
    return element("svg", mark(index, 7, 7), viewBox="0 0 14 14", class_="key", aria_hidden="true")


def label(name: str, most: int = 28) -> str:
    """A name, shortened to fit a figure."""
    return short(name, most)


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{round(value, 2):g}"


def swatch(kind: str) -> Markup:
    """A patch of colour for a legend; `kind` is a class of the style sheet."""
    return Markup(
        '<svg viewBox="0 0 14 14" class="key" aria-hidden="true">'
        '<rect x="1" y="1" width="12" height="12" rx="2" class="part {}"></rect></svg>'
    ).format(kind)


_STEPS = (1, 2, 2.5, 5, 10)
_UNITS = ((1e9, "B"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Scale:
    """A linear scale of values `low` to `high` on units `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """Where a value stands; what is beyond an end stands at the end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def from_zero(values: Sequence[float], start: float, end: float, most: int = 5) -> Scale:
    """From 0 to a round number that no value exceeds."""
    top = max(values, default=0.0) or 1.0
    step = _step(top / most)
    count = ceil(round(top / step, 6))
    ticks = tuple(round(step * i, 12) for i in range(count + 1))
    return Scale(0.0, ticks[-1], start, end, ticks)


def around_zero(values: Sequence[float], start: float, end: float, most: int = 6) -> Scale:
    """With 0 in it, and a round number beyond the values on either side."""
    low, high = min((0.0, *values)), max((0.0, *values))
    step = _step(((high - low) or 0.1) / most)
    first, last = floor(round(low / step, 6)), ceil(round(high / step, 6))
    if first == last:
        first, last = first - 1, last + 1
    ticks = tuple(round(step * i, 12) for i in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], start, end, ticks)


def tick_words(ticks: Sequence[float], *, with_sign: bool = False) -> list[str]:
    """The ticks with as many digits as tell them apart: 0, .05, .10."""
    unit, letter = next(((u, name) for u, name in _UNITS if ticks[-1] >= 5 * u), (1.0, ""))
    scaled = [tick / unit for tick in ticks]
    places, say = digits(scaled), signed if with_sign else number
    return ["0" if tick == 0 else say(tick, places) + letter for tick in scaled]


def digits(ticks: Sequence[float]) -> int:
    """How many digits behind the point tell the ticks apart."""
    step = ticks[1] - ticks[0]
    return next(d for d in range(13) if abs(round(step, d) - step) < step * 1e-6)


def _step(least: float) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `least`."""
    power = 10.0 ** floor(log10(least))
    return float(next(s for s in _STEPS if s * power >= least * (1 - 1e-9)) * power)
