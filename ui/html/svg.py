"""SVG elements as safe markup, and the marks by which systems are told apart."""

from collections.abc import Iterable

from markupsafe import Markup, escape

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
    """A whole figure, `WIDTH` by `height`, that says what it shows to those who do not see it."""
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
    """The mark of the system with this number: colours and shapes repeat at different paces.

    `said` is shown where a pointer rests on it.
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
    """A name that has little room."""
    return short(name, most)


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{round(value, 2):g}"


def swatch(kind: str) -> Markup:
    """A patch of colour for a legend; `kind` is a class of the style sheet."""
    return Markup(
        '<svg viewBox="0 0 14 14" class="key" aria-hidden="true">'
        '<rect x="1" y="1" width="12" height="12" rx="2" class="part {}"></rect></svg>'
    ).format(kind)
