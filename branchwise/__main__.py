"""The command line's entry: bad input is one clear line and exit code 2."""

import errno
import gc
import io
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

from branchwise.base.atomic import NO_ROOM
from branchwise.base.errors import InputError, StoppedWarning
from branchwise.base.secrets import without_keys
from branchwise.base.text import printable

if TYPE_CHECKING:
    import click

_INTERRUPTED = 130
_ELSEWHERE = {"compare": "report", "eval": "score", "evaluate": "score", "index": "corpus index"}
"""What commands are called in other programs, and here."""


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 bad input, 3 asked back in vain."""
    # The imports make a million permanent objects, which the collector would scan in vain.
    gc.set_threshold(10_000)
    try:
        _run()
    except KeyboardInterrupt:
        # So early that the command line was not yet there.
        sys.exit(_complain("interrupted", 1))


def _run() -> None:
    # Nothing here may ask a model hub or send traces anywhere unless the user says so.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    warnings.showwarning = _warn
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What the output's encoding lacks is replaced, as standard error does by itself.
        sys.stdout.reconfigure(errors="replace")
    import click

    from branchwise.cli import app

    try:
        code = app(standalone_mode=False) or 0
        # Typer's code for an interrupt, without a message.
        sys.exit(_complain("interrupted", 1) if code == _INTERRUPTED else code)
    except SystemExit:
        if not type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            raise
        # Click met the closed pipe first: it replaces the output and exits with 1.
        _drop_output()
        sys.exit(0)
    except InputError as error:
        sys.exit(_complain(str(error), 2))
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        sys.exit(_complain(_usage(error), 2))
    except (click.Abort, KeyboardInterrupt):
        sys.exit(_complain("interrupted", 1))
    except BrokenPipeError:
        # `branchwise ... | head`: the reader has all that it wanted.
        _drop_output()
        sys.exit(0)
    except Exception as error:
        if line := _about_a_path(error):
            sys.exit(_complain(line, 2))
        if not (line := _about_storage(error)):
            raise
        _drop_output()
        sys.exit(_complain(line, 2))


def _usage(error: "click.ClickException") -> str:
    # Click and Typer each add their suggestion.
    line = re.sub(r"( Did you mean [^?]*\?)\1", r"\1", error.format_message())
    # What click calls a whole number within limits.
    line = re.sub(r"is not a valid (integer|float) range\b", r"is not a valid \1", line)
    context = getattr(error, "ctx", None)
    for other, ours in _ELSEWHERE.items() if context and not context.parent else ():
        line = re.sub(rf"^(No such command '{other}'\.).*", rf"\1 Did you mean '{ours}'?", line)
    remedy = f"see `{context.command_path} --help`" if context else "see `branchwise --help`"
    return str(InputError(" ".join(line.split()).rstrip("."), remedy=remedy))


def _about_a_path(error: Exception) -> str | None:
    if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop from "):
        # What `Path.resolve` makes of ELOOP up to Python 3.12.
        return str(InputError(str(error).lower(), remedy="check the path"))
    refused = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM)
    absent = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR)
    if not isinstance(error, OSError) or error.errno not in refused + absent:
        return None
    if error.filename is None:
        return None
    why = str(error.strerror).lower()
    return str(InputError(why, where=os.fsdecode(error.filename)[:200], remedy="check the path"))


def _about_storage(error: Exception) -> str | None:
    """What is wrong where the disk is at fault: a traceback would hide what to do."""
    from branchwise.runs.store import StoreError

    if isinstance(error, StoreError):
        return str(error)
    if not isinstance(error, OSError) or error.errno not in NO_ROOM:
        return None
    where = "standard output" if error.filename is None else os.fsdecode(error.filename)[:200]
    problem = f"cannot be written ({error.strerror})"
    return str(InputError(problem, where=where, remedy="make room on the disk, or use another one"))


def _drop_output() -> None:
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"branchwise: {printable(without_keys(message))}\n")
    return code


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    if isinstance(message, StoppedWarning):
        return  # the command says more of it
    _complain(f"warning: {message}", 0)


if __name__ == "__main__":
    main()
