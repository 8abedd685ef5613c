"""Ports at which nothing listens, nor will by chance."""

import os
import socket
from itertools import cycle

# Below those that systems hand out to servers that ask for any free one (from 32768, 49152). The
# processes of one suite begin at different places.
_FIRST, _END = 20_000, 32_000
_BEGIN = _FIRST + os.getpid() * 20 % (_END - _FIRST)
_PORTS = cycle([*range(_BEGIN, _END), *range(_FIRST, _BEGIN)])


def unused_port() -> int:
    """A port of 127.0.0.1 that no other test's server gets, each time another one."""
    for port in _PORTS:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise AssertionError("every port is taken")
