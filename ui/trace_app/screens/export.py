"""Asks where to write a trace: suggests a file name, and replaces a file only on request."""

import re
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from branchwise.base.atomic import write_named
from branchwise.base.errors import InputError
from branchwise.base.text import one_line
from branchwise.ui.trace_app.cells import drawn

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
