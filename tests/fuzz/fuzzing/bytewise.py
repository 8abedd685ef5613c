"""Mutations of bytes, whatever they mean: what disks, copies and careless programs do."""

import random
from collections.abc import Callable, Sequence

from fuzzing.hostile import TOKENS, WHOLE_FILES

LARGEST = 2**22
"""Bytes of an input: longer ones are cut, so that a campaign tries many."""


def mutated(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """One to four mutations of `data`; rarely a hostile file in its place."""
    if rng.random() < 0.03:
        return rng.choice(WHOLE_FILES)
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(_MUTATIONS)(data, seeds, rng)
    return data[:LARGEST]


def _flipped(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _n in range(rng.choice((1, 1, 1, 8, 64)) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _truncated(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _without_part(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    start, end = _stretch(data, rng)
    return data[:start] + data[end:]


def _with_repeat(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    start, end = _stretch(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]


def _zeroed(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    start, end = _stretch(data, rng)
    return data[:start] + bytes(end - start) + data[end:]


def _spliced(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    other = rng.choice(seeds)
    start, end = _stretch(other, rng)
    at = rng.randrange(len(data) + 1)
    return data[:at] + other[start:end] + data[at:]


def _with_token(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    token = rng.choice(TOKENS)
    return data[:at] + token + data[at + rng.choice((0, len(token))) :]


def _with_long_line(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice((b"x", b" ", b"\n", b"[", b"\\")) * 70_000 + data[at:]


def _other_ends(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\x0b")))


def _reordered(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def _stretch(data: bytes, rng: random.Random) -> tuple[int, int]:
    """First and last place of a stretch, short ones likelier."""
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 4, 16, 256, 4096)))


_MUTATIONS: tuple[Callable[[bytes, Sequence[bytes], random.Random], bytes], ...] = (
    _flipped,
    _flipped,
    _truncated,
    _without_part,
    _with_repeat,
    _zeroed,
    _spliced,
    _with_token,
    _with_token,
    _with_long_line,
    _other_ends,
    _reordered,
)
