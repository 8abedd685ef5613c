"""A tool to be chosen or left out."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Checkbox

from branchwise.ui.trace_app.cells import drawn


class ToolBox(Checkbox, inherit_bindings=False):
    """Textual's check box shows its state by colour alone; this one shows it by a sign, too.

    Enter is left to the dialog: it submits from every field.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "toggle_button", "Choose", show=False, tooltip="Choose the tool or not")
    ]

    DEFAULT_CSS = """
    ToolBox, ToolBox:focus { border: none !important; padding: 0; height: 1; width: 100%;
        background: $surface; }
    """

    def __init__(self, tool: str, summary: str, chosen: bool) -> None:
        super().__init__(_label(tool, summary), chosen)
        self.tool = tool
        self._set_sign()

    def describe(self, summary: str) -> None:
        """Say what the tool does."""
        self.label = _label(self.tool, summary)

    def watch_value(self) -> None:
        super().watch_value()
        self._set_sign()

    def _set_sign(self) -> None:
        self.BUTTON_INNER = "X" if self.value else " "


def _label(tool: str, summary: str) -> Content:
    return Content(drawn(f"{tool}  {summary}".rstrip()))
