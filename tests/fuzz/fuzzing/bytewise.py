"""Mutations of bytes, whatever they mean: what disks, copies and careless programs do."""

import random
from collections.abc import Sequence

from fuzzing.hostile import TOKENS, WHOLE_FILES

LARGEST = 2**22
"""Bytes of an input: longer ones are cut, so that a campaign tries many."""


def mutated(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """One to four mutations of `data`; rarely a hostile file in its place."""
    if rng.random() < 0.03:
        return rng.choice(WHOLE_FILES)
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = _once(data, seeds, rng)
    return data[:LARGEST]


def _once(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    at, (start, end) = rng.randrange(len(data) + 1), _stretch(data, rng)
    match rng.randrange(12):
        case 0 | 1:  # bits turned over
            changed = bytearray(data)
            for _ in range(rng.choice((1, 1, 1, 8, 64)) if changed else 0):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            return bytes(changed)
        case 2:
            return data[:at]
        case 3:
            return data[:start] + data[end:]
        case 4:
            return data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]
        case 5:
            return data[:start] + bytes(end - start) + data[end:]
        case 6:
            other = rng.choice(seeds)
            start, end = _stretch(other, rng)
            return data[:at] + other[start:end] + data[at:]
        case 7 | 8:
            token = rng.choice(TOKENS)
            return data[:at] + token + data[at + rng.choice((0, len(token))) :]
        case 9:
            return data[:at] + rng.choice((b"x", b" ", b"\n", b"[", b"\\")) * 70_000 + data[at:]
        case 10:
            return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\x0b")))
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def _stretch(data: bytes, rng: random.Random) -> tuple[int, int]:
    """First and last place of a stretch, short ones likelier."""
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 4, 16, 256, 4096)))
