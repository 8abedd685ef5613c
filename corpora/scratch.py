"""A folder for as long as its process lives, in the system's folder for temporary files.

A process that is killed removes nothing. So each holds a lock on its folder, which the system
releases however the process ends, and the next that makes a folder removes those without a lock.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from branchwise.base.errors import InputError

_SUFFIX = ".scratch"


class Scratch:
    """A folder that is made when it is first asked for. `prefix`: of such folders' names."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._lock: int | None = None

    @cached_property
    def folder(self) -> Path:
        """Of this process alone."""
        try:
            for left in Path(tempfile.gettempdir()).glob(f"{self._prefix}*{_SUFFIX}"):
                # Of a living process, of another user, or removed meanwhile.
                with suppress(OSError):
                    lock = _locked(left)
                    shutil.rmtree(left, ignore_errors=True)
                    os.close(lock)
            while True:
                made = Path(tempfile.mkdtemp(prefix=self._prefix, suffix=_SUFFIX))
                # Until it is locked, another process may take it for one that was left.
                with suppress(FileNotFoundError, BlockingIOError):
                    self._lock = _locked(made)
                    return made
        except OSError as error:
            problem = f"no temporary folder can be made ({error.strerror})"
            where = os.environ.get("TMPDIR", "the system's folder for them")
            remedy = "make room there, or set TMPDIR to another folder"
            raise InputError(problem, where=where, remedy=remedy) from None

    def remove(self) -> None:
        """Remove it, if it was made. It is not made again."""
        if self._lock is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    scratch = Scratch(prefix)
    try:
        yield scratch.folder
    finally:
        scratch.remove()


def _locked(folder: Path) -> int:
    """Locks a folder that is there. Raises OSError for one that is gone or held."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # It may have been removed between the two.
        folder.stat()
    except OSError:
        os.close(handle)
        raise
    return handle
