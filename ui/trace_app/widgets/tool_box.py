"""A tool to be chosen or left out."""

from textual.content import Content
from textual.widgets import Checkbox

from branchwise.ui.trace_app.cells import drawn


class ToolBox(Checkbox):
    """Textual's check box tells by its colour alone whether it is on; this one by its sign, too."""

    DEFAULT_CSS = """
    ToolBox, ToolBox:focus { border: none !important; padding: 0; height: 1; width: 100%;
        background: $surface; }
    """

    def __init__(self, tool: str, summary: str, chosen: bool) -> None:
        super().__init__(Content(drawn(f"{tool}  {summary}".rstrip())), chosen)
        self.tool = tool
        self._set_sign()

    def watch_value(self) -> None:
        super().watch_value()
        self._set_sign()

    def _set_sign(self) -> None:
        self.BUTTON_INNER = "X" if self.value else " "
