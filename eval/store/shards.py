"""A shard: one of n parts into which the items of a run are divided, each a run folder of its own.

Which part an item belongs to depends on its question's id and its epoch alone, so machines that
know nothing of each other agree on it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from branchwise.corpora.errors import InputError

MOST = 10_000
OPTION = "--shard"


@dataclass(frozen=True, order=True)
class Shard:
    """Part `number` (from 1) of `of` parts."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "2/16". Raises InputError."""
        number, slash, of = text.strip().partition("/")
        if slash and number.isdecimal() and of.isdecimal() and len(text) < 20:
            shard = cls(int(number), int(of))
            if 1 <= shard.number <= shard.of <= MOST:
                return shard
        raise InputError(
            f"{text[:40]!r} is not a shard",
            where=OPTION,
            remedy=f"write 1/4 to 4/4 for four shards; there are at most {MOST:,}",
        )

    @classmethod
    def recorded(cls, meta: Mapping[str, Any]) -> Self | None:
        """The shard that a run's settings say it is; None if it is a whole run."""
        said = meta.get("shard")
        return cls(int(said["number"]), int(said["of"])) if said else None

    @classmethod
    def of_item(cls, question: str, epoch: int, of: int) -> Self:
        """The shard that an item belongs to: the first 8 bytes of SHA-256 over the question's id, a
        zero byte and the epoch in decimal, as a big-endian number, modulo `of`."""
        key = f"{question}\0{epoch}".encode(errors="surrogatepass")
        first = int.from_bytes(hashlib.sha256(key).digest()[:8], "big")
        return cls(1 + first % of, of)

    def holds(self, question: str, epoch: int) -> bool:
        """Whether the item belongs to this shard."""
        return self.of_item(question, epoch, self.of) == self

    def count(self, questions: Sequence[str], epochs: int) -> int:
        """How many items of a run belong to it; `questions` are their ids."""
        return sum(self.holds(id, epoch) for epoch in range(epochs) for id in questions)

    def record(self, questions: Sequence[str], epochs: int) -> dict[str, int]:
        """What the settings of the shard's run say of it (`RunSpec.shard`)."""
        items = self.count(questions, epochs)
        return {"number": self.number, "of": self.of, "items": items}

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"
