"""Pseudo-random numbers that are the same on every machine.

SplitMix64 (Steele, Lea & Flood 2014) as a function of seed, stream and position: whole arrays at
once, integers only, so that no floating-point library can change a world.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

RandomWords = NDArray[np.uint64]
Ints = NDArray[np.signedinteger[Any]]

_STEP, _MIX1, _MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def stream_key(seed: int, stream: str) -> int:
    """64 bits that name one stream of one seed."""
    digest = hashlib.blake2b(f"{seed}/{stream}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def words(seed: int, stream: str, count: int) -> RandomWords:
    """`count` words of 64 random bits, uint64."""
    x = np.arange(1, count + 1, dtype=np.uint64)
    x *= np.uint64(_STEP)
    x += np.uint64(stream_key(seed, stream))
    x ^= x >> np.uint64(30)
    x *= np.uint64(_MIX1)
    x ^= x >> np.uint64(27)
    x *= np.uint64(_MIX2)
    x ^= x >> np.uint64(31)
    return x


def scaled(random: RandomWords, bounds: Any) -> Ints:
    """Each word brought into [0, bound); bounds below 2**32, one for all or one each."""
    high = random >> np.uint64(32)
    return ((high * np.asarray(bounds, dtype=np.uint64)) >> np.uint64(32)).astype(np.int64)


def below(seed: int, stream: str, bounds: Any, count: int | None = None) -> Ints:
    """Integers in [0, bound): `count` of them for one bound, or one for each bound."""
    size = len(bounds) if count is None else count
    return scaled(words(seed, stream, size), bounds)


def shuffled(seed: int, stream: str, values: Ints) -> Ints:
    order = np.argsort(words(seed, stream, len(values)), kind="stable")
    return values[order]
