"""A text in the user's editor, with the terminal given to it meanwhile."""

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.app import App

from branchwise.corpora.errors import InputError
from branchwise.ui.trace_app.pager import suspended, undisturbed

DEFAULT = "vi"


def edit(app: App[None], text: str, name: str) -> str:
    """Let the user edit `text` as a file of this name; returns it as it was saved.

    The text is the step's own, every character: editors show control characters as such. Raises
    InputError where no editor starts, it ends with an error, or what it left cannot be read.
    """
    from branchwise.eval.forks import read_edit

    command = editor_command(os.environ)
    with TemporaryDirectory(prefix="branchwise-") as folder:
        path = Path(folder) / name
        path.write_bytes(text.encode("utf-8", "replace"))
        with suspended(app), undisturbed():
            _run([*command, str(path)])
        return read_edit(path)


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """`$VISUAL`, else `$EDITOR`, else vi, as words; no shell reads it. Raises InputError."""
    for variable in ("VISUAL", "EDITOR"):
        if said := environment.get(variable, "").strip():
            try:
                return shlex.split(said)
            except ValueError as error:
                raise InputError(
                    f"{variable} is no command ({error})", remedy=f"set {variable}={DEFAULT}"
                ) from None
    return [DEFAULT]


def _run(command: list[str]) -> None:
    try:
        code = subprocess.run(command, check=False).returncode
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"the editor {command[0]!r} does not start ({why})", remedy="set EDITOR"
        ) from None
    if code:
        raise InputError(f"the editor {command[0]!r} ended with {code}: nothing is changed")
