"""A choice out of a few, in a box over the screen."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from branchwise.ui.trace_app.cells import drawn


class PickerLine(NamedTuple):
    """A line of a picker and what it stands for."""

    text: str
    value: str


class Picker(ModalScreen[str | None]):
    """Dismissed with the chosen value, or None where nothing was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "dismiss(None)", "Cancel"),
        ("j", "down", "Down"),
        ("k", "up", "Up"),
    ]

    def __init__(self, title: str, choices: Sequence[PickerLine], now: str | None = None) -> None:
        super().__init__()
        self._title, self._choices, self._now = title, choices, now

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Text(drawn(self._title), style="bold"))
            yield OptionList(*(Option(Text(drawn(choice.text))) for choice in self._choices))

    def on_mount(self) -> None:
        values = [choice.value for choice in self._choices]
        found = self.query_one(OptionList)
        found.highlighted = values.index(self._now) if self._now in values else 0
        found.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._choices[event.option_index].value)

    def action_down(self) -> None:
        self.query_one(OptionList).action_cursor_down()

    def action_up(self) -> None:
        self.query_one(OptionList).action_cursor_up()
