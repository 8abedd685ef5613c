"""The keys of the screen on its last line: those for help and for the way out always."""

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Footer

_FIRST = ("help", "leave", "dismiss")


class KeyBar(Footer):
    """A footer that drops whole keys, the last ones first, where the line is too short."""

    def __init__(self) -> None:
        super().__init__(compact=True, show_command_palette=False)

    def compose(self) -> ComposeResult:
        keys = sorted(super().compose(), key=lambda key: _action(key) not in _FIRST)
        yield from self._fitting(keys)

    def _fitting(self, keys: list[Widget]) -> Iterator[Widget]:
        room = self.app.size.width + 1
        for key in keys:
            room -= len(f"{getattr(key, 'key_display', '')} {getattr(key, 'description', '')} ")
            if room < 0:
                return
            yield key

    def on_resize(self, event: Resize) -> None:
        self.refresh(recompose=True)


def _action(key: Widget) -> str:
    return str(getattr(key, "action", "")).rpartition(".")[2]
