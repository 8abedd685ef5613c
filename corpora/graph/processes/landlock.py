"""Linux's Landlock: a process gives up files, for good and for all that it starts.

It needs no privilege; kernels have it from 5.13 on, unless it was left out, and containers allow
it. Numbers and structures: `Documentation/userspace-api/landlock.rst`.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_PR_SET_NO_NEW_PRIVS = 38
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_RIGHTS_BY_VERSION = (13, 14, 15, 15, 16)
"""How many rights to files the versions 1 to 5 know: to run, write, read, make, remove, ..."""
_TCP, _SCOPES = 0b11, 0b11
"""To listen and connect, from version 4; abstract sockets and signals of others, from version 6."""


def can_leave_only() -> bool:
    """Whether this system has Landlock, and lets this process use it."""
    return _version() > 0


def leave_only(readable: Sequence[Path]) -> bool:
    """Allow this thread to open only these files, and the contents of these folders, for reading.

    They stay allowed wherever they are moved. False if this system cannot do it. Call it before
    other threads start, because those keep their rights.
    """
    version = _version()
    ruleset = _ruleset(version) if version > 0 else -1
    if ruleset < 0:
        return False
    try:
        if not all(_allow(ruleset, path) for path in readable):
            return False
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return _call(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _version() -> int:
    return _call(_CREATE_RULESET, 0, 0, _ASK_VERSION) if sys.platform == "linux" else 0


def _ruleset(version: int) -> int:
    """A set of rules without exception: all that this version of Landlock can refuse."""
    rights = (1 << _RIGHTS_BY_VERSION[min(version, len(_RIGHTS_BY_VERSION)) - 1]) - 1
    parts = [rights, *[_TCP] * (version >= 4), *[_SCOPES] * (version >= 6)]
    packed = ctypes.create_string_buffer(struct.pack(f"{len(parts)}Q", *parts))
    return _call(_CREATE_RULESET, ctypes.addressof(packed), 8 * len(parts), 0)


def _allow(ruleset: int, path: Path) -> bool:
    """Except a file, or a folder and what is in it, from the rules, for reading."""
    rights = _READ_FILE | (_READ_FOLDER if path.is_dir() else 0)
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, handle))
        return _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.addressof(rule), 0) == 0
    finally:
        os.close(handle)


def _call(number: int, *arguments: int) -> int:
    """A system call without a function in the C library; below 0 if it failed."""
    syscall = ctypes.CDLL(None).syscall
    syscall.restype = ctypes.c_long
    return int(syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)))
