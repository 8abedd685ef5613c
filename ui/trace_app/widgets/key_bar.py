"""The screen's keys on its last line, always including those for help and for leaving."""

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual.binding import Binding
from textual.events import Click
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from branchwise.ui.trace_app.cells import cells

_FIRST = ("help", "leave", "dismiss")


class _Key(NamedTuple):
    """A key: where it begins on the line, what is shown, and what a click presses."""

    left: int
    shown: str
    description: str
    pressed: str

    @property
    def right(self) -> int:
        """The cell after its last one."""
        return self.left + cells(f"{self.shown} {self.description}")


class KeyBar(Widget):
    """One line, drawn at once (Textual's Footer mounts a widget for each key, one refresh late).

    Where it is too short, whole keys are left out, the last ones first. A click presses a key.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-bar--key"}
    DEFAULT_CSS = """
    KeyBar {
        dock: bottom;
        height: 1;
        color: $footer-foreground;
        background: $footer-background;

        & > .key-bar--key {
            color: $footer-key-foreground;
            text-style: bold;
        }
    }
    """

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def on_unmount(self) -> None:
        self.screen.bindings_updated_signal.unsubscribe(self)

    def _changed(self, screen: Screen[object]) -> None:
        self.refresh()

    def render_line(self, y: int) -> Strip:
        plain = self.rich_style
        strong = plain + self.get_component_rich_style("key-bar--key", partial=True)
        segments = []
        for key in self._keys():
            segments.append(Segment(key.shown, strong))
            segments.append(Segment(f" {key.description} ", plain))
        return Strip(segments).adjust_cell_length(self.size.width, plain)

    def _keys(self) -> Iterator[_Key]:
        """The keys that fit; of several keys for one action the first."""
        actions: dict[str, Binding] = {}
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if binding.show and enabled:
                actions.setdefault(binding.action, binding)
        bindings = sorted(actions.values(), key=lambda one: _name(one.action) not in _FIRST)
        left = 0
        for binding in bindings:
            shown = self.app.get_key_display(binding)
            key = _Key(left, shown, binding.description, binding.key)
            if key.right > self.size.width:
                return
            yield key
            left = key.right + 1

    def on_click(self, event: Click) -> None:
        for key in self._keys():
            if key.left <= event.x < key.right:
                self.app.simulate_key(key.pressed)


def _name(action: str) -> str:
    return action.rpartition(".")[2]
