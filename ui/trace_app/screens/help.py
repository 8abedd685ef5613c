"""The keys of a screen, read from its bindings, so that the list cannot go stale."""

from collections.abc import Iterator
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from branchwise.ui.trace_app.wrapping import wrapped

KeyLines = list[tuple[str, str]]
WIDTH = 0.9
"""Share of the screen's width that the list may take, as in `app.tcss`."""
AROUND = 6
"""Cells of its border, its padding and the scroll bar."""


def keys_of(screen: Screen[object]) -> KeyLines:
    """Keys and what they do, one line for each action of the screen and of what has the focus."""
    actions: dict[str, tuple[list[str], str]] = {}
    for _, binding, _, _ in screen.active_bindings.values():
        if binding.tooltip:
            keys, _ = actions.setdefault(binding.action, ([], binding.tooltip))
            keys.append(screen.app.get_key_display(binding))
    return [(" ".join(keys), tooltip) for keys, tooltip in actions.values()]


class HelpScreen(ModalScreen[None]):
    """A list of keys; any of the usual keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,question_mark,enter", "dismiss", "Close")]

    def __init__(self, keys: KeyLines) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(), VerticalScroll():
            yield Static(self._text())

    def _text(self) -> Text:
        return Text("\n").join(self._lines(int(self.app.size.width * WIDTH) - AROUND))

    def _lines(self, room: int) -> Iterator[Text]:
        """What a key does is wrapped beside the key."""
        left = max((len(keys) for keys, _ in self._keys), default=0) + 2
        for keys, tooltip in self._keys:
            shown = keys.rjust(left - 2)
            for start, end, _ in wrapped(tooltip, max(1, room - left)):
                yield Text.assemble((shown.ljust(left), "bold"), tooltip[start:end])
                shown = ""

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def on_resize(self) -> None:
        self.query_one(Static).update(self._text())
