"""What a check may touch: its own folders and the loopback, whatever an input says."""

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = ("os.remove", "os.rmdir", "os.rename", "os.mkdir", "os.chmod")
_LINKS = ("os.link", "os.symlink")
_STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn")
_SYSTEM = ("/dev/", "/proc/self/", "/proc/thread-self/", str(Path.home() / ".cache"))


def fence_in(folders: Sequence[Path]) -> None:
    """From now on, this process changes files in these folders only, starts nothing but Python,
    and connects to this machine only. Elsewhere the system says that it is not permitted.
    """
    allowed = (*(str(folder.resolve()) for folder in folders), *_SYSTEM)

    def inside(path: Any) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return True  # a file that is open already
        # `os.path`: the audit of Path's own calls would end here again.
        return os.path.abspath(os.fsdecode(path)).startswith(allowed)  # noqa: PTH100

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITES and not inside(path):
                raise PermissionError(13, "Permission denied", path)
        elif event in _CHANGES and not inside(arguments[0]):
            raise PermissionError(13, "Permission denied", arguments[0])
        elif event in _LINKS and not inside(arguments[1]):
            raise PermissionError(13, "Permission denied", arguments[1])
        elif event in _STARTS and str(arguments[0]) != sys.executable:
            raise PermissionError(13, "Permission denied", str(arguments[0]))
        elif event == "socket.connect" and not _is_here(arguments[1]):
            raise ConnectionRefusedError(111, "Connection refused")
        elif event == "socket.getaddrinfo" and not _is_here(arguments):
            raise socket.gaierror(-2, "Name or service not known")

    sys.addaudithook(watch)


def _is_here(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a socket in the file system
    host = address[0].decode("ascii", "replace") if isinstance(address[0], bytes) else address[0]
    return host in (None, "localhost", "::1", "") or str(host).startswith("127.")
