"""What goes wrong in somebody else's code, in one line that says where."""

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.printed import catch_output, process_as_it_was
from branchwise.corpora.secrets import without_keys
from branchwise.corpora.text import encodable

MAX_LINE = 500


class WrongResult(ValueError):  # noqa: N818 - it is what the call came to
    """A plug-in returned what its kind does not take; the text says what to return."""


def fault_line(error: BaseException) -> str:
    """`ValueError: what it says`, on one bounded line, whatever the exception's own code does.

    Of a WrongResult, which the plug-in did not raise, what it says alone.
    """
    name = type(error).__name__
    if isinstance(error, BaseExceptionGroup) and error.exceptions:
        return f"{name}: {fault_line(error.exceptions[0])}"[:MAX_LINE]
    try:
        said = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - anyone's __str__
        said = ""
    line = said if isinstance(error, WrongResult) else ": ".join(filter(None, (name, said)))
    return encodable(without_keys(line))[:MAX_LINE]


@contextlib.contextmanager
def importing(place: str, file: Path | None = None) -> Iterator[None]:
    """What is raised inside becomes an InputError with file and line; prints go to stderr.

    `file`: the plug-in's, whose own line is named, and not that of a library beneath it.
    """
    try:
        with process_as_it_was(), catch_output() as printed:
            yield
    except (InputError, KeyboardInterrupt, GeneratorExit):
        raise
    except SyntaxError as error:
        where = f"{error.filename}:{error.lineno}" if error.filename else place
        raise _cannot(error, where) from None
    except BaseException as error:  # noqa: BLE001 - also SystemExit: it must not end us
        raise _cannot(error, _where(error, place, file)) from None
    finally:
        if (said := printed.end()) and sys.stderr:
            sys.stderr.write(said)


def _cannot(error: BaseException, where: str) -> InputError:
    return InputError(
        f"the plug-in cannot be imported: {fault_line(error)}", where=where, remedy="mend it there"
    )


def _where(error: BaseException, place: str, file: Path | None) -> str:
    frames = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    own = [frame for frame in frames if frame[0] == file]
    foreign = [f for f in frames if f[0].exists() and f[0] != Path(__file__)]
    for path, line in (own or (foreign if file is None else []))[-1:]:
        return f"{path}:{line}"
    return place
