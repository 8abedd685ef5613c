"""Where the app is drawn: on the terminal, whichever of its streams is one."""

import select
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.driver import Driver


def terminal_driver() -> "type[Driver] | None":
    """Textual's driver for this terminal, drawing where it is seen; None: Textual's own choice.

    Textual draws on standard error. Of `branchwise trace RUN 2>errors` nothing would be seen, and
    the file would be filled with escape sequences: such an app is drawn on standard output. A
    character that the terminal's encoding does not have becomes one `?`, not an escape of six
    characters that moves the rest of the line.
    """
    if sys.platform == "win32":
        return None
    from textual.app import App
    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        def __init__(
            self,
            app: "App[object]",
            *,
            debug: bool = False,
            mouse: bool = True,
            size: tuple[int, int] | None = None,
        ) -> None:
            super().__init__(app, debug=debug, mouse=mouse, size=size)
            seen = (file for file in (sys.__stderr__, sys.__stdout__) if file and file.isatty())
            if (file := next(seen, None)) is not None:
                file.reconfigure(errors="replace")
                self._file = file

    return TerminalDriver


def terminal_is_gone() -> bool:
    """Whether the terminal was closed. A process that it does not control gets no signal then, and
    Textual would read its end for ever, at full speed."""
    poll = select.poll()
    poll.register(sys.__stdin__.fileno() if sys.__stdin__ else 0, select.POLLHUP)
    return bool(poll.poll(0))
