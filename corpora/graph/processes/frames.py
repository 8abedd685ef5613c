"""Messages between the host and its query processes: JSON with its length in front."""

import socket
import struct
import time
from typing import Any

import orjson

MAX_FRAME_BYTES = 32 * 2**20
"""Longer frames are not read. No answer is that long: its rows end at 8 MiB, its labels at 16 MiB
(see `rows`), its notes and messages at a few kilobytes."""

_LENGTH = struct.Struct(">I")


def send_frame(sock: socket.socket, message: Any) -> None:
    """Send a whole message. Raises OSError if the other side is gone."""
    body = orjson.dumps(message)
    sock.sendall(_LENGTH.pack(len(body)) + body)


def receive_frame(sock: socket.socket, deadline: float | None = None) -> Any:
    """The next message; without a deadline, wait for it for ever.

    `deadline` is on `time.monotonic()`'s clock. Raises TimeoutError past it, EOFError if the other
    side is gone, ValueError for an invalid frame.
    """
    (size,) = _LENGTH.unpack(_receive_exactly(sock, _LENGTH.size, deadline))
    if size > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {size} bytes")
    return orjson.loads(_receive_exactly(sock, size, deadline))


def _receive_exactly(sock: socket.socket, size: int, deadline: float | None) -> bytes:
    """`size` bytes. A socket is given a timeout only where there is a deadline.

    With a timeout Python polls first, and poll refuses to work in a process that may open no
    file, as query processes are.
    """
    parts = bytearray()
    while len(parts) < size:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            sock.settimeout(left)
        try:
            part = sock.recv(min(size - len(parts), 2**20))
        except ConnectionError:
            part = b""
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
