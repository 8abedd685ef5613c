"""Marks as styles of the current theme.

No mark is told by its colour alone: each also has a text style of its own.
"""

from collections.abc import Mapping
from functools import lru_cache

from rich.style import Style
from textual.app import App
from textual.color import Color, ColorParseError

from branchwise.ui.steps.blocks import MarkKind

_MARKS: dict[MarkKind, tuple[str, str]] = {
    "gold": ("text-success", "bold underline"),
    "wrong": ("text-error", "bold strike"),
    "span": ("text-accent", "italic"),
    "key": ("text-primary", ""),
    "string": ("text-success", ""),
    "number": ("text-warning", ""),
    "word": ("text-accent", "bold"),
    "comment": ("", "dim italic"),
    "dim": ("", "dim"),
    "strong": ("", "bold"),
}
"""Kind of mark: a variable of the theme, and a text style."""


def mark_styles(app: App[None]) -> Mapping[MarkKind, Style]:
    """Partial styles (no background) of the marks, in the app's theme."""
    variables = app.theme_variables
    return _styles(tuple(variables.get(name, "") for name, _ in _MARKS.values()))


@lru_cache(maxsize=8)
def _styles(values: tuple[str, ...]) -> Mapping[MarkKind, Style]:
    return {
        kind: Style.parse(text_style) + _coloured(value)
        for (kind, (_, text_style)), value in zip(_MARKS.items(), values, strict=True)
    }


def _coloured(value: str) -> Style:
    """A foreground; none where the theme leaves it to the background (`auto 60%`)."""
    try:
        colour = Color.parse(value)
    except ColorParseError:
        return Style()
    return Style(color=colour.rich_color) if colour.a == 1 else Style()
