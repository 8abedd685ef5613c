"""Bodies of rows, compressed: zstd with a dictionary of what records look like.

The dictionary (`bodies.dictionary`, made by `benchmarks/store_dictionary.py`) belongs to the
store's format: it never changes, or runs could not be read any more.
"""

import functools
import threading
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zstandard

LEVEL = 6
MAX_BODY = 1 << 26
"""Bytes of an unpacked body."""
MAX_RATIO = 256
"""A body that would become smaller than this is kept as it is: a file cannot unpack to more than
this many times its own size."""

_of_thread = threading.local()


def squeeze(body: bytes | None) -> bytes | None:
    """The body compressed, or as it is where that would not pay or could not be read back."""
    if body is None or len(body) > MAX_BODY:
        return body
    if not hasattr(_of_thread, "compressor"):
        import zstandard

        _of_thread.compressor = zstandard.ZstdCompressor(level=LEVEL, dict_data=_dictionary())
    frame: bytes = _of_thread.compressor.compress(body)
    return frame if len(frame) < len(body) <= MAX_RATIO * len(frame) else body


def expand(stored: bytes) -> bytes:
    """The body as `squeeze` was given it.

    What does not begin as a frame of zstd is a body itself: records are JSON. Raises ValueError for
    a frame that is damaged, or would unpack to more than `squeeze` ever compresses.
    """
    import zstandard

    if not stored.startswith(zstandard.FRAME_HEADER):
        return stored
    try:
        size = zstandard.frame_content_size(stored)
        if not 0 <= size <= min(MAX_BODY, MAX_RATIO * len(stored)):
            raise ValueError("a body unpacks to more than was ever packed")
        if not hasattr(_of_thread, "decompressor"):
            _of_thread.decompressor = zstandard.ZstdDecompressor(dict_data=_dictionary())
        body: bytes = _of_thread.decompressor.decompress(stored)
    except zstandard.ZstdError as error:
        raise ValueError(f"a body cannot be unpacked ({error})") from None
    return body


@functools.cache
def _dictionary() -> "zstandard.ZstdCompressionDict":
    import zstandard

    data = files("branchwise.runs.store").joinpath("bodies.dictionary").read_bytes()
    return zstandard.ZstdCompressionDict(data)
