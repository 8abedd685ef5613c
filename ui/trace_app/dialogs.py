"""Boxes over the screen: a choice out of a few, the keys, where to write a trace."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

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

_MAX_NAME = 80
_BOX = """width: auto; max-width: 90%; height: auto; max-height: 100%; background: $surface;
    border: round $border; padding: 0 1;"""
_AROUND = 6
"""Cells of the border of the list of keys, its padding and the scroll bar."""


class Picker(ModalScreen[str | None]):
    """Dismissed with the value of the chosen (text, value), or None where nothing was chosen."""

    DEFAULT_CSS = f"""
    Picker {{
        align: center middle;
        & > Vertical {{ {_BOX} width: 56; }}
        OptionList, OptionList:focus {{ width: 100%; height: auto; max-height: 16; border: none;
            background: $surface; }}
    }}
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "dismiss(None)", "Cancel"),
        ("j", "down", "Down"),
        ("k", "up", "Up"),
    ]

    def __init__(
        self, title: str, choices: Sequence[tuple[str, str]], now: str | None = None
    ) -> None:
        super().__init__()
        self._title, self._choices, self._now = title, choices, now

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Text(drawn(self._title), style="bold"))
            yield OptionList(*(Option(Text(drawn(text))) for text, _ in self._choices))

    def on_mount(self) -> None:
        values = [value for _, value in self._choices]
        options = self.query_one(OptionList)
        options.highlighted = values.index(self._now) if self._now in values else 0
        options.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._choices[event.option_index][1])

    def action_down(self) -> None:
        self.query_one(OptionList).action_cursor_down()

    def action_up(self) -> None:
        self.query_one(OptionList).action_cursor_up()


class HelpScreen(ModalScreen[None]):
    """The keys of a screen, read from its bindings, so that the list cannot go stale."""

    DEFAULT_CSS = f"""
    HelpScreen {{
        align: center middle;
        & > Vertical {{ {_BOX} }}
        VerticalScroll {{ width: auto; height: auto; max-height: 100%; }}
        Static {{ width: auto; }}
    }}
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,question_mark,enter", "dismiss", "Close")]

    def __init__(self, screen: Screen[object]) -> None:
        """One line for each action of the screen and of what has the focus."""
        super().__init__()
        self._actions: dict[str, tuple[list[str], str]] = {}
        for _, binding, _, _ in screen.active_bindings.values():
            if binding.tooltip:
                keys, _ = self._actions.setdefault(binding.action, ([], binding.tooltip))
                keys.append(screen.app.get_key_display(binding))

    def compose(self) -> ComposeResult:
        with Vertical(), VerticalScroll():
            yield Static(self._text())

    def _text(self) -> Text:
        return Text("\n").join(self._lines(int(self.app.size.width * 0.9) - _AROUND))

    def _lines(self, room: int) -> Iterator[Text]:
        """What a key does is wrapped beside the key."""
        shown = [(" ".join(keys), tooltip) for keys, tooltip in self._actions.values()]
        left = max((len(keys) for keys, _ in shown), default=0) + 2
        for keys, tooltip in shown:
            head = keys.rjust(left - 2)
            for start, end, _ in wrapped(tooltip, max(1, room - left)):
                yield Text.assemble((head.ljust(left), "bold"), tooltip[start:end])
                head = ""

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def on_resize(self) -> None:
        self.query_one(Static).update(self._text())


class ExportScreen(ModalScreen[Path | None]):
    """Writes a text to the file that the user names; dismissed with its path, or None."""

    DEFAULT_CSS = """
    ExportScreen {
        align: center middle;
        & > Vertical { width: 90%; max-width: 100; height: auto; background: $surface;
            border: round $border; padding: 0 1; }
        Input { margin: 1 0; }
        #export-note { color: $text-warning; height: auto; min-height: 1; }
    }
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
            yield Static(Text("enter writes, escape leaves"), id="export-note")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._replace = None
        # What is pasted may hold anything, and an input draws it as it is.
        if not event.value.isprintable():
            event.input.value = "".join(c for c in event.value if c.isprintable())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Write the file; one that exists only when it is named a second time."""
        event.stop()
        name = event.value.strip()
        if not name:
            self._say("name a file")
            return
        try:
            path = Path(name).expanduser()
            if path.exists() and path.is_file() and path != self._replace:
                self._replace = path
                again = "press enter again to replace it, or name another file"
                self._say(f"{path} already exists: {again}")
                return
            write_named(path, self._text.encode("utf-8", "replace"))
        except (InputError, OSError, ValueError, RuntimeError) as error:
            self._say(str(error))
        else:
            self.dismiss(path)

    def _say(self, text: str) -> None:
        self.query_one("#export-note", Static).update(Text(drawn(one_line(text)[:500])))


def offered_name(run: str, question: str, epoch: int) -> str:
    """A safe file name made from a run's name and a question's id."""
    parts = [run, question, *([str(epoch)] if epoch else [])]
    plain = [re.sub(r"[^A-Za-z0-9_.-]+", "-", part[:_MAX_NAME]).strip("-.") for part in parts]
    return "-".join(part for part in plain if part) + ".md"
