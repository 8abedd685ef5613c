"""Linux's seccomp: a process gives up system calls, for good and for all that it starts.

The calls by which a query process could reach beyond its graph are refused: connections, programs,
other processes, changes to files, and the ways around a filter. What is not named stays allowed,
since each C library and each version of RocksDB needs others. Numbers: Linux's `unistd_64.h` and
`asm-generic/unistd.h`; the program: `Documentation/userspace-api/seccomp_filter.rst`.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

_PR_GET_SECCOMP, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 21, 22, 38
_FILTER_MODE = 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06  # 32 bits at an offset; with a constant; the verdict
_EQUAL, _AT_LEAST = 0x15, 0x35
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in `struct seccomp_data`
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_THREAD = 0x10000  # CLONE_THREAD


class _Machine(NamedTuple):
    """How the kernel calls it; which column of `_REFUSED` is its; the number of `clone`, and of the
    calls that open files, with the argument in which their flags are."""

    audit: int
    column: int
    clone: int
    opens: tuple[tuple[int, int], ...]


_MACHINES = {
    "x86_64": _Machine(0xC000003E, 0, 56, ((2, 1), (257, 2))),
    "aarch64": _Machine(0xC00000B7, 1, 220, ((56, 2),)),
}
_X32 = 0x40000000
"""Calls of x86_64 with this bit are its own once more, with other numbers."""

_REFUSED: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "socketpair": (53, 199), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "connect": (42, 203),
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, None), "vfork": (58, None),
    "kill": (62, 129), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "creat": (85, None), "truncate": (76, 45), "mkdir": (83, None), "mkdirat": (258, 34),
    "mknod": (133, None), "mknodat": (259, 33), "rmdir": (84, None), "unlink": (87, None),
    "unlinkat": (263, 35), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276),
    "link": (86, None), "linkat": (265, 37), "symlink": (88, None), "symlinkat": (266, 36),
    "chmod": (90, None), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "lchown": (94, None), "fchownat": (260, 54), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "open_by_handle_at": (304, 265),
    "unshare": (272, 97), "setns": (308, 268), "chroot": (161, 51), "pivot_root": (155, 41),
    "mount": (165, 40), "umount2": (166, 39), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219),
}  # fmt: skip
"""On x86_64 and aarch64; None where there is no such call."""

_ABSENT = (425, 426, 427, 435, 437)
"""io_uring_setup, _enter and _register, clone3, openat2: what they are to do lies in memory, where
no filter sees it. Who is told that there is no such call takes the older one."""


def can_refuse_calls() -> bool:
    """Whether this system filters calls, and the numbers of its calls are known here."""
    return _machine() is not None and _prctl(_PR_GET_SECCOMP, 0, 0) >= 0


def refuse_calls() -> bool:
    """Refuse them from now on; False where this system cannot. Threads that run stay free."""
    machine = _machine()
    if machine is None or _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0) != 0:
        return False
    lines = list(_program(machine))
    code = ctypes.create_string_buffer(b"".join(lines))
    held = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))  # `struct sock_fprog`
    program = ctypes.create_string_buffer(held)
    return _prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(program)) == 0


def _machine() -> _Machine | None:
    return _MACHINES.get(platform.machine()) if sys.platform == "linux" else None


def _prctl(option: int, second: int, third: int) -> int:
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    return int(prctl(option, second, third, 0, 0))


def _program(machine: _Machine) -> Iterator[bytes]:
    """Lines of the filter, each with where to go on: so many lines further if so, if not."""
    no, absent = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
    yield _line(_LOAD, _ARCHITECTURE)
    yield _line(_EQUAL, machine.audit, 1)
    yield _line(_RETURN, no)
    yield _line(_LOAD, _NUMBER)
    if machine.column == 0:
        yield _line(_AT_LEAST, _X32, 0, 1)
        yield _line(_RETURN, no)
    for number in _ABSENT:
        yield _line(_EQUAL, number, 0, 1)
        yield _line(_RETURN, absent)
    for refused in (row[machine.column] for row in _REFUSED.values()):
        if refused is not None:
            yield _line(_EQUAL, refused, 0, 1)
            yield _line(_RETURN, no)
    for number, argument in machine.opens:
        yield _line(_EQUAL, number, 0, 5)
        yield from _if_flags(argument, _WRITING, no, _ALLOW)
    yield _line(_EQUAL, machine.clone, 0, 5)
    yield from _if_flags(0, _THREAD, _ALLOW, no)
    yield _line(_RETURN, _ALLOW)


def _if_flags(argument: int, flags: int, any_set: int, none_set: int) -> Iterator[bytes]:
    """Five lines: the verdict by whether any of these flags is in an argument."""
    yield _line(_LOAD, _FIRST_ARGUMENT + 8 * argument)
    yield _line(_AND, flags)
    yield _line(_EQUAL, 0, 1)
    yield _line(_RETURN, any_set)
    yield _line(_RETURN, none_set)


def _line(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)  # `struct sock_filter`
