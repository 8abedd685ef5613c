"""Which passages state what leads to an answer."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from branchwise.base.errors import InputError
from branchwise.base.files import parse_object, read_lines
from branchwise.corpora.kept_arrays import PackedTexts, TextPacker, file_origin, kept_arrays
from branchwise.kg.schema import ENDED
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import (
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Join,
    Members,
    Plan,
    PlanExecution,
    Union,
    meets,
)

if TYPE_CHECKING:
    from branchwise.corpora.kept_arrays import Arrays

SUPPORT_FOLDER = "support"
"""Where it is kept what a world's passages state."""

Ids = tuple[str, ...]


class Support:
    """Passage ids by what they state: subject, property ("P127 ended" for what was so before),
    value. Statements are known by 64 bits of a hash: of ten million, two share one with a
    probability of 1 in 400,000."""

    def __init__(self, arrays: "Arrays") -> None:
        self._keys, self._passages = arrays["keys"], arrays["passages"]
        self._ids = PackedTexts(arrays["id"], arrays["id_starts"])

    @classmethod
    def load(
        cls,
        corpus: Path,
        keep: Path | None = None,
        gathered: "Callable[[], Arrays] | None" = None,
    ) -> "Support":
        """From a corpus whose passages have `statements`, as a world's have; kept in `keep` for as
        long as the file is the same. `gathered`: what reading it would give, where that is known.
        Raises InputError for another file (with the line)."""
        origin = {"corpus and former": file_origin(corpus)} if corpus.is_file() else {}
        return cls(kept_arrays(keep, origin, gathered or (lambda: _read(corpus))))

    def ids(self, subject: str, number: str, value: str) -> Ids:
        """The passages that state this, in the corpus's order; none where it is not told."""
        key = np.frombuffer(_key(subject, number, value), dtype=np.uint64)
        first, end = (int(self._keys.searchsorted(key, side)[0]) for side in ("left", "right"))
        return tuple(self._ids[place] for place in self._passages[first:end].tolist())


class SupportWriter:
    """Gathers what passages state, in the corpus's order, as the arrays of `Support`."""

    def __init__(self) -> None:
        self._keys, self._counts, self._ids = bytearray(), array("I"), TextPacker()

    def add(
        self, id: str, stated: Iterable[Sequence[str]], former: Iterable[Sequence[str]] = ()
    ) -> None:
        """Statements are subject, property and value. Raises ValueError or TypeError for what is
        none; nothing is taken then."""
        keys = [_key(*statement) for statement in stated]
        keys += [_key(subject, number + ENDED, value) for subject, number, value in former]
        self._ids.add(id)
        self._keys += b"".join(keys)
        self._counts.append(len(keys))

    def arrays(self) -> "Arrays":
        """Ordered by statement; those of one in the corpus's order. Orders what was gathered."""
        keys = np.frombuffer(self._keys, dtype=np.uint64)
        order = np.argsort(keys, kind="stable").astype(np.uint32)
        keys.sort()  # in place: a copy would be the most memory that a world needs
        passages = np.repeat(np.arange(len(self._ids), dtype=np.uint32), self._counts)
        id, id_starts = self._ids.arrays()
        return {"keys": keys, "passages": passages[order], "id": id, "id_starts": id_starts}


def _key(subject: str, number: str, value: str) -> bytes:
    return blake2b(f"{subject} {number} {value}".encode(), digest_size=8).digest()


def _read(corpus: Path) -> "Arrays":
    support = SupportWriter()
    for number, line in read_lines(corpus):
        passage = parse_object(line, f"{corpus}:{number}")
        try:
            if not isinstance(passage["id"], str):
                raise TypeError
            support.add(passage["id"], passage.get("statements", ()), passage.get("former", ()))
        except (KeyError, TypeError, ValueError):
            problem = "has no id, or statements that are not [subject, property, value]"
            raise InputError(problem, where=f"{corpus}:{number}") from None
    return support.arrays()


def support_of(
    plan: Plan, execution: PlanExecution, facts: Facts, support: Support
) -> dict[str, Ids]:
    """For each answer, sorted, the passages that state what leads to it, first steps first. All
    that lead to it are given: every one of the films that an actor appeared in, not one of them; of
    a union both sides; of a difference the first side, since nothing states the other's."""
    trail = _Trail(plan, execution.sets, facts, support)
    last = len(plan.steps) - 1
    return {answer: trail.ids(last, answer) for answer in sorted(execution.answers)}


class _Trail:
    """The way back from a step's member to what it came from; each way is worked out once."""

    def __init__(self, plan: Plan, sets: Sequence[Members], facts: Facts, support: Support) -> None:
        self._plan, self._sets = plan, sets
        self._facts, self._support = facts, support
        self.ids = cache(self._ids)
        self._origins = cache(self._find_origins)

    def _ids(self, place: int, member: str) -> Ids:
        return tuple(dict.fromkeys(self._behind(place, member)))

    def _behind(self, place: int, member: str) -> Iterator[str]:
        step = self._plan.steps[place]
        match step:
            case Atomic():
                yield from self._stated(step, step.entity, member)
            case Join() | GroupBy():
                origins = self._origins(place)[member]
                for origin in origins:
                    yield from self.ids(step.of, origin)
                for origin in origins:
                    yield from self._stated(step, origin, member)
            case Filter():
                yield from self.ids(step.of, member)
                related = self._facts.related(step.relation, False, (member,))
                for value in related.get(member, ()):
                    if meets(step.condition, value):
                        yield from self._stated(step, member, value)
            case _:
                sources = step.sources[:1] if isinstance(step, Difference) else step.sources
                for source in sources:
                    if not isinstance(step, Union) or member in self._sets[source]:
                        yield from self.ids(source, member)

    def _find_origins(self, place: int) -> dict[str, list[str]]:
        step = self._plan.steps[place]
        assert isinstance(step, Join | GroupBy)
        reached: dict[str, list[str]] = {}
        before = sorted(self._sets[step.of])
        for origin, values in self._facts.related(step.relation, step.inverse, before).items():
            for value in values:
                reached.setdefault(value, []).append(origin)
        return reached

    def _stated(self, step: Atomic | Join | GroupBy | Filter, start: str, end: str) -> Ids:
        number = self._facts.schema.relations[step.relation].kept_as()
        if not isinstance(step, Filter) and step.inverse:
            start, end = end, start
        return self._support.ids(start, number, end)
