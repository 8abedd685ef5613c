"""What a model server sends, byte by byte: within one size, packed and unpacked, and in time.

Events: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.agents.reply import ModelError

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 64 * 2**20
"""Of a reply, as it is sent and unpacked; far more than the longest that models write."""
ENCODINGS = "gzip, deflate"
"""What requests accept; a reply in another encoding is none."""
_PIECE = 2**16
_DONE = b"[DONE]"


async def pieces_of(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The unpacked body in pieces of at most 64 KiB.

    Raises:
        ModelError: (`invalid_response`) it is larger than `MAX_BYTES`, or badly packed.
    """
    unpackers = [_Unpacker(name) for name in _encodings(response)]
    packed = unpacked = 0
    async for data in response.aiter_raw():
        packed += len(data)
        for piece in _through(unpackers, data):
            unpacked += len(piece)
            if max(packed, unpacked) > MAX_BYTES:
                what = f"the reply is larger than {MAX_BYTES // 2**20} MiB"
                raise ModelError("invalid_response", what)
            yield piece
            # A body that never waits would keep time-outs from being looked at.
            await asyncio.sleep(0)


async def whole(pieces: AsyncIterator[bytes]) -> bytearray:
    """All pieces as one."""
    body = bytearray()
    async for piece in pieces:
        body += piece
    return body


class StreamEvent:
    """An event of a stream: its name and its data, which is JSON or `[DONE]`."""

    def __init__(self, name: str, data: list[bytes]) -> None:
        self.name, self._data = name, data

    @property
    def is_end(self) -> bool:
        """Whether it says that the stream is over."""
        return self._data[0].lstrip().startswith(_DONE)

    @property
    def value(self) -> Any:
        """What it says. Raises ValueError for what is not JSON."""
        return decoded(b"\n".join(self._data))


async def events_of(pieces: AsyncIterator[bytes]) -> AsyncIterator[StreamEvent | bytearray]:
    """The events of a stream; or as the only one the body, where it holds JSON or a page in place
    of events."""
    rest = bytearray()
    name, data = "", list[bytes]()
    is_stream = False
    async for piece in pieces:
        rest += piece
        if not is_stream:
            start = bytes(rest[:64]).removeprefix(b"\xef\xbb\xbf").lstrip()
            if not start:
                continue
            if start[:1] in b"{[<":
                async for more in pieces:
                    rest += more
                yield rest
                return
            is_stream = True
            rest = rest.removeprefix(b"\xef\xbb\xbf")
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        if end == -1:
            continue
        end += len(rest) - len(piece) + 1
        lines, rest = bytes(rest[:end]).splitlines(), rest[end:]
        for line in lines:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data" and value.strip():
                if data and data[-1].endswith(b"}") and value.startswith((b"{", _DONE)):
                    # Some servers leave out the blank lines.
                    yield StreamEvent(name, data)
                    data = []
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace").strip()
            elif not line and data:
                yield StreamEvent(name, data)
                name, data = "", []
    if rest.startswith(b"data:"):
        last = bytes(rest[5:]).strip()
        if data and _is_whole(data):
            yield StreamEvent(name, data)
            data = []
        data.append(last)
    if data and _is_whole(data):
        yield StreamEvent(name, data)


def decoded(content: bytes | bytearray) -> Any:
    """The JSON value of a body. Raises ValueError."""
    try:
        return orjson.loads(content)
    except ValueError:
        # The standard parser takes half characters, which models that break off do write.
        return json.loads(content)


def _is_whole(data: list[bytes]) -> bool:
    """Whether the last event of a stream without its blank line was not cut off."""
    try:
        decoded(b"\n".join(data))
    except ValueError:
        return data[0].startswith(_DONE)
    return True


def _encodings(response: httpx2.Response) -> list[str]:
    names = response.headers.get("content-encoding", "").lower().split(",")
    return [name.strip() for name in reversed(names) if name.strip() not in ("", "identity")]


def _through(unpackers: list[_Unpacker], data: bytes) -> Iterator[bytes]:
    if not unpackers:
        yield data
        return
    for piece in unpackers[0].pieces(data):
        yield from _through(unpackers[1:], piece)


class _Unpacker:
    """Unpacks gzip or deflate, never more than a piece at a time."""

    def __init__(self, name: str) -> None:
        if name not in ("gzip", "x-gzip", "deflate"):
            what = f"the reply is packed as {name[:40]!r}, which was not asked for"
            raise ModelError("invalid_response", what)
        # Recognises gzip and zlib by their heads; `deflate` may come without one.
        self._inner, self._may_be_raw = zlib.decompressobj(47), name == "deflate"

    def pieces(self, data: bytes) -> Iterator[bytes]:
        is_full = False
        while data or is_full:
            try:
                piece = self._inner.decompress(data, _PIECE)
            except zlib.error as error:
                if not self._may_be_raw:
                    what = f"the reply cannot be unpacked ({error})"
                    raise ModelError("invalid_response", what, retryable=True) from None
                self._inner, self._may_be_raw = zlib.decompressobj(-zlib.MAX_WBITS), False
                continue
            self._may_be_raw = False
            data, is_full = self._inner.unconsumed_tail, len(piece) == _PIECE
            if piece:
                yield piece
