"""Errors of foreign code, in one line that says where."""

import contextlib
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.base.secrets import without_keys
from branchwise.base.text import encodable, one_line

MAX_LINE = 500
is_importing = ContextVar("is_importing", default=False)
"""Whether a plug-in's file or module is being imported."""


class WrongResult(ValueError):  # noqa: N818 - it is what the call came to
    """A plug-in returned something that its kind does not accept; the text says what to return."""


def fault_line(error: BaseException) -> str:
    """`ValueError: message`, on one bounded line.

    For a WrongResult, which the plug-in did not raise, only the message.
    """
    name = type(error).__name__
    if isinstance(error, BaseExceptionGroup) and error.exceptions:
        return f"{name}: {fault_line(error.exceptions[0])}"[:MAX_LINE]
    said = one_line(str(error))
    line = said if isinstance(error, WrongResult) else ": ".join(filter(None, (name, said)))
    return encodable(without_keys(line))[:MAX_LINE]


@contextlib.contextmanager
def importing(place: str, file: Path | None = None) -> Iterator[None]:
    """Turn exceptions inside into an InputError with file and line.

    `file`: the plug-in's file, whose own line is named rather than that of a library below it.
    """
    before = is_importing.set(True)
    try:
        yield
    except InputError:
        raise
    # A script without `if __name__ == "__main__"` may exit, even with 0: nothing would be said.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        where = place
        if isinstance(error, SyntaxError):
            where = f"{error.filename}:{error.lineno}" if error.filename else place
        else:
            frames = traceback.extract_tb(error.__traceback__)
            known = [f for f in frames if f.filename != __file__ and Path(f.filename).exists()]
            own = [f for f in known if file in (None, Path(f.filename))]
            where = f"{own[-1].filename}:{own[-1].lineno}" if own else place
        raise InputError(
            f"the plug-in cannot be imported: {fault_line(error)}",
            where=where,
            remedy="fix it there",
        ) from None
    finally:
        is_importing.reset(before)
