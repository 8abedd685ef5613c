"""A target: one kind of input, what inputs of it are made from, and who reads them."""

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from fuzzing.forms import Form
from fuzzing.ground import Ground
from fuzzing.verdicts import Verdict

Check = Callable[[bytes], Verdict]
"""Gives one input to the product. Raises FoundError, or whatever the product lets through."""
Opened = AbstractContextManager[Check]
MEGABYTE = 2**20


@dataclass(frozen=True)
class Target:
    """`seeds`: valid inputs. `open`: a check over a folder of its own, with the servers it needs.

    `needs`: what of the ground is to be made before. `accepts`: whether an input can be accepted.
    `memory`: bytes that the inputs may take
    beyond what the process has before the first.
    """

    name: str
    form: Form
    seeds: Callable[[Ground], Sequence[bytes]]
    open: Callable[[Ground, Path], Opened]
    needs: tuple[str, ...] = ()
    accepts: bool = True
    memory: int = 1024 * MEGABYTE

    def input(self, seeds: Sequence[bytes], seed: int, number: int) -> bytes:
        """Input `number`, the same for the same seed: first the seeds, then mutations of them."""
        if number < len(seeds):
            return seeds[number]
        rng = random.Random(f"{seed}/{self.name}/{number}")
        return self.form(rng.choice(seeds), seeds, rng)
