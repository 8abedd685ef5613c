"""How figures look, and how they are made reproducible byte by byte.

One column of a two-column paper wide, text as text (so that it can be edited, searched and set in
the paper's own font), told apart by shape, dash and hatch as well as by colours that colour-blind
readers can tell (Okabe and Ito 2008).
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from os.path import commonprefix
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

from branchwise.base.numbers import number
from branchwise.base.text import cut_within
from branchwise.report.table import one_line

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDTH = 3.35  # inches
MAX_NAME = 48
_NAME_LINE = 19
_X_LINE = 36  # letters below a panel beside long names
_NAMES_LINE = 48  # letters, all panels of a row together
_LEGEND_LINE = 60  # letters, all columns together

BLACK, BLUE, VERMILION, GREEN = "#000000", "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY, YELLOW = "#CC79A7", "#E69F00", "#56B4E9", "#F0E442"
_COLOURS = (BLACK, BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES = ("-", "--", "-.", ":")

FORMATS = ("svg", "pdf", "png")
TIP = "\N{LINE SEPARATOR}"
"""Stands before each of the tips of an artist; no text on one line has it."""
PNG_DPI = 300
_MAKER = {"svg": "Creator", "pdf": "Creator", "png": "Software"}
_DATE = {"svg": "Date", "pdf": "CreationDate"}
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # publishers refuse Type 3
    # A name with two dollar signs is a name, not a formula.
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica", "sans-serif"],
    "font.size": 7,
    "axes.labelsize": 7,
    "axes.titlesize": 7,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.0,
    "lines.markersize": 4,
    "hatch.linewidth": 0.5,
    "figure.constrained_layout.h_pad": 0.03,
}


@dataclass(frozen=True)
class Drawing:
    """A figure with its name (safe in a path) and caption; an artist's `gid` is its `tips`."""

    name: str
    caption: str
    figure: "Figure"


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw in the style of papers, independent of the user's matplotlib settings."""
    from matplotlib import style

    with style.context(["default", _SETTINGS], after_reset=True), catch_warnings():
        # Text is text: the font that lacks a letter here is not the one that shows it.
        filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def new_figure(height: float, panels: int = 1) -> "tuple[Figure, list[Axes]]":
    """A figure of `height` inches with panels under each other that share their x-axis."""
    figure, rows = new_grid(height, panels, 1)
    return figure, [axes for (axes,) in rows]


def new_grid(height: float, rows: int, columns: int) -> "tuple[Figure, list[list[Axes]]]":
    """A figure of `height` inches with rows of panels: all share their x-axis, a row its y-axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey="row", squeeze=False)
    return figure, [list(row) for row in axes]


def saved(drawing: Drawing, form: str) -> bytes:
    """The file of a drawing in one of `FORMATS`; the same report gives the same bytes."""
    from matplotlib import rc_context

    stream = BytesIO()
    metadata: dict[str, str | None] = {"Title": drawing.name, _MAKER[form]: "branchwise"}
    metadata |= {_DATE[form]: None} if form in _DATE else {}
    with rc_context({"svg.hashsalt": drawing.name}):
        drawing.figure.savefig(stream, format=form, dpi=PNG_DPI, metadata=metadata)
    return stream.getvalue()


def tips(*words: str) -> str:
    """The `gid` of an artist that says `words` on a page: all of it one, or each mark its own."""
    return "".join(f"{TIP}{one_line(word)}" for word in words)


def system_name(name: str) -> str:
    return cut_within(one_line(name), MAX_NAME) or "–"


def system_names(names: Sequence[str]) -> list[str]:
    """Names beside each other: where one is too long, without the words that all begin with."""
    shared = ""
    if len(names) > 1 and max(map(len, names)) > MAX_NAME:
        shared = re.sub(r"[^\W_]+$", "", commonprefix(names))  # noqa: RUF071 - no paths
    return [system_name(f"…{name[len(shared) :]}" if shared else name) for name in names]


def name_x(axes: "Axes", words: str) -> None:
    """The title below a panel, on lines that fit beside long names."""
    axes.set_xlabel("\n".join(wrap(words, _X_LINE)))


def row_name(name: str, letters: int = _NAME_LINE) -> str:
    """What `system_names` made, beside a row, on lines of so many letters."""
    return "\n".join(wrap(name, letters))


def colour(index: int) -> str:
    return _COLOURS[index % len(_COLOURS)]


def line_look(index: int) -> dict[str, Any]:
    """Colour, marker and dash of a system: no two of the first 56 have the same."""
    return {
        "color": colour(index),
        "marker": _MARKERS[index % len(_MARKERS)],
        "linestyle": _DASHES[index % len(_DASHES)],
        "markerfacecolor": "white" if index % 2 else colour(index),
        "markeredgewidth": 0.8,
    }


def add_legend(figure: "Figure", handles: "Sequence[Artist]", labels: Sequence[str]) -> None:
    columns = _legend_columns(labels)
    numbers = [str(number) for number in range(len(labels))]
    legend = figure.legend(handles, numbers, loc="outside lower center", ncols=columns)
    # Only now: a label that begins with an underscore would be left out.
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(label)


def legend_height(labels: Sequence[str]) -> float:
    """Inches that a legend of these labels takes."""
    return 0.05 + 0.135 * -(-len(labels) // _legend_columns(labels))


def _legend_columns(labels: Sequence[str]) -> int:
    # Beside its letters a column has the line with its mark, and space: nine letters wide.
    longest = max(map(len, labels), default=0) + 9
    return max(1, min(len(labels), _LEGEND_LINE // longest))


def share_ticks(axis: Any, most: int = 5) -> None:
    """Label an axis as the tables print numbers: without a zero before the point."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def label(value: float, _: object) -> str:
        text = number(value, 3)
        trimmed = text.rstrip("0").rstrip(".").replace("-", "\N{MINUS SIGN}")
        return trimmed if float(text) else "0"

    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(label))


def name_rows(axes: "Axes", names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), labels=[row_name(name) for name in system_names(names)])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def name_columns(panels: "Sequence[Axes]", names: Sequence[str]) -> None:
    """Names over the panels of a row, below the title that stands over the first of them."""
    labels = [row_name(name, _NAMES_LINE // len(names)) for name in system_names(names)]
    for axes, label in zip(panels, labels, strict=True):
        axes.annotate(label, (0, 1), (0, 3), "axes fraction", "offset points", fontsize=6.5)
    lines = 1 + max(label.count("\n") for label in labels)
    panels[0].set_title(panels[0].get_title(loc="left"), pad=6 + 8 * lines)


def row_height(names: Sequence[str], least: float = 0.2) -> float:
    """Inches of a row that every name fits into."""
    lines = max((row_name(name).count("\n") + 1 for name in system_names(names)), default=1)
    return max(least, 0.05 + 0.11 * lines)
