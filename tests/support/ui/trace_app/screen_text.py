"""How tests read the app's screen: as lines of text, with the style at a place.

Snapshots are text files in `snapshots/`, so that a change of a screen can be read in a diff.
`BRANCHWISE_SNAPSHOTS=write pytest ...` writes them anew: look at them before they are committed.
"""

import os
from typing import Any

from rich.cells import cell_len
from rich.style import Style
from textual.app import App

from support import TESTS

SNAPSHOTS = TESTS / "ui" / "trace_app" / "snapshots"


def screen_lines(app: App[Any]) -> list[str]:
    """The lines of the screen as they are drawn now, each as wide as the screen."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


def screen_text(app: App[Any]) -> str:
    """The screen without the spaces at the ends of its lines."""
    return "\n".join(line.rstrip() for line in screen_lines(app))


def place_of(app: App[Any], text: str) -> tuple[int, int]:
    """The cell (x, y) at which a text begins on the screen, the first from the top."""
    for y, line in enumerate(screen_lines(app)):
        if text in line:
            return cell_len(line[: line.index(text)]), y
    raise AssertionError(f"{text!r} is not on the screen:\n{screen_text(app)}")


def style_of(app: App[Any], text: str) -> Style:
    """The style in which a text on the screen is drawn (that of its first character)."""
    return style_at(app, *place_of(app, text))


def style_at(app: App[Any], x: int, y: int) -> Style:
    """The style in which a cell is drawn."""
    left = 0
    for segment in app.screen._compositor.render_strips()[y]:
        left += cell_len(segment.text)
        if left > x:
            return segment.style or Style()
    raise AssertionError(f"nothing is drawn at {x}, {y}")


def check_snapshot(app: App[Any], name: str) -> None:
    """The screen is what `snapshots/NAME-WIDTHxHEIGHT.txt` says."""
    path = SNAPSHOTS / f"{name}-{app.size.width}x{app.size.height}.txt"
    shown = screen_text(app) + "\n"
    if os.environ.get("BRANCHWISE_SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, "utf-8")
    assert path.is_file(), f"there is no {path.name}; the screen is:\n{shown}"
    assert shown == path.read_text("utf-8"), f"the screen is not {path.name}:\n{shown}"


def check_frame(app: App[Any]) -> None:
    """Every line is exactly as wide as the screen, and nothing in it can steer a terminal."""
    for y, line in enumerate(screen_lines(app)):
        assert cell_len(line) == app.size.width, f"line {y} is {cell_len(line)} wide: {line!r}"
        assert line.isprintable(), f"line {y} holds what is not printable: {line!r}"
