"""Boxes over the screen: a choice out of a few, the keys, where to write a trace."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from branchwise.base.atomic import write_named
from branchwise.base.errors import InputError
from branchwise.base.text import one_line
from branchwise.ui.trace_app.drawing import drawn, wrapped


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


_MAX_NAME = 80


class ExportScreen(ModalScreen[Path | None]):
    """Writes a text to the file that the user names; dismissed with its path, or None."""

    DEFAULT_CSS = """
    ExportScreen { align: center middle; }
    ExportScreen > Vertical {
        width: 90%;
        max-width: 100;
        height: auto;
        background: $surface;
        border: round $border;
        padding: 0 1;
    }
    ExportScreen Input { margin: 1 0; }
    ExportScreen #export-said { color: $text-warning; height: auto; min-height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Cancel")]

    def __init__(self, text: str, offered: str) -> None:
        super().__init__()
        self._text, self._offered = text, offered
        self._replace: Path | None = None

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Text("Write this trace as Markdown to", style="bold"))
            yield Input(self._offered, select_on_focus=False, compact=True)
            yield Static(Text("enter writes, escape leaves"), id="export-said")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._replace = None
        # What is pasted may hold anything, and an input draws it as it is.
        if not event.value.isprintable():
            event.input.value = "".join(c for c in event.value if c.isprintable())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        name = event.value.strip()
        if not name:
            self._say("name a file")
            return
        try:
            path = Path(name).expanduser()
            if path.exists() and path.is_file() and path != self._replace:
                self._replace = path
                self._say(
                    f"{path} already exists: press enter again to replace it, or name another file"
                )
                return
            write_named(path, self._text.encode("utf-8", "replace"))
        except (InputError, OSError, ValueError, RuntimeError) as error:
            self._say(str(error))
        else:
            self.dismiss(path)

    def _say(self, text: str) -> None:
        said = drawn(one_line(text)[:500])
        self.query_one("#export-said", Static).update(Text(said))


def offered_name(run: str, question: str, epoch: int) -> str:
    """A safe file name made from a run's name and a question's id."""
    parts = [run, question, *([str(epoch)] if epoch else [])]
    plain = [re.sub(r"[^A-Za-z0-9_.-]+", "-", part[:_MAX_NAME]).strip("-.") for part in parts]
    return "-".join(part for part in plain if part) + ".md"
