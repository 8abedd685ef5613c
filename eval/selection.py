"""Which questions of a set a run is of: some ids, the first few, one part of several."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from branchwise.base.errors import InputError
from branchwise.corpora.questions import QuestionSet

MAX_EPOCHS = 1000
"""Times that each question is answered, at most."""
CONCURRENCY, MAX_CONCURRENCY = 8, 1024
"""Questions, or requests to matcher and judge, at a time: by default and at most."""
MOST_SHARDS = 10_000


@dataclass(frozen=True)
class Shard:
    """Part `number` (from 1) of `of` parts of a question set. A question's part depends on its id
    alone, so machines that know nothing of each other agree."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "2/16". Raises InputError."""
        number, slash, of = text.strip().partition("/")
        if slash and number.isdecimal() and of.isdecimal() and len(text) < 20:
            shard = cls(int(number), int(of))
            if 1 <= shard.number <= shard.of <= MOST_SHARDS:
                return shard
        problem = f"{text[:40]!r} is not a shard"
        remedy = f"write 1/4 to 4/4 for four shards; there are at most {MOST_SHARDS:,}"
        raise InputError(problem, where="--shard", remedy=remedy)

    def holds(self, id: str) -> bool:
        """Whether the question with this id is in it: the first 8 bytes of SHA-256 over the id, as
        a big-endian number, modulo `of`, are one less than `number`."""
        digest = hashlib.sha256(id.encode(errors="surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1


@dataclass(frozen=True)
class Selection:
    """Which questions of a set to run: those with these ids (all where None), of them a `sample`
    drawn by `sample_seed`, of those the first `limit`, and the ones in `shard`."""

    ids: Collection[str] | None = None
    limit: int | None = None
    shard: Shard | None = None
    sample: int | None = None
    sample_seed: int = 0

    def of(self, questions: QuestionSet) -> QuestionSet:
        """The chosen questions, in order; InputError for an unknown id, or if none are left."""
        chosen, source = questions.questions, questions.source
        if not chosen:
            raise InputError("holds no questions", where=source, remedy="give one at least")
        if self.ids is not None:
            wanted = set(self.ids)
            if missing := wanted - {question.id for question in chosen}:
                problem = f"no question has the id {min(missing)!r}"
                raise InputError(problem, where=source, remedy="check the ids that were asked for")
            chosen = tuple(question for question in chosen if question.id in wanted)
        if self.sample is not None:
            chosen = questions.part(chosen).sample(self.sample, self.sample_seed).questions
        chosen = chosen[: None if self.limit is None else max(self.limit, 0)]
        if self.shard is not None:
            chosen = tuple(question for question in chosen if self.shard.holds(question.id))
        if not chosen:
            remedy = "choose a larger --limit, other --ids or fewer shards"
            raise InputError("no questions are left to run", where=source, remedy=remedy)
        return questions.part(chosen)
