"""The keys of a screen, read from its bindings, so that the list cannot go stale."""

from collections.abc import Iterator
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

Keys = list[tuple[str, str]]


def keys_of(screen: Screen[object]) -> Keys:
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

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(), VerticalScroll():
            yield Static(Text("\n").join(self._lines()))

    def _lines(self) -> Iterator[Text]:
        width = max((len(keys) for keys, _ in self._keys), default=0)
        for keys, tooltip in self._keys:
            yield Text.assemble((keys.rjust(width), "bold"), "  ", tooltip)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()
