"""Which passages state the facts that lead to an answer."""

from array import array
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from branchwise.base.errors import InputError
from branchwise.base.files import parse_object, read_lines
from branchwise.corpora.kept_arrays import (
    PackedTexts,
    file_origin,
    kept_arrays,
    packed,
)
from branchwise.worlds.questions.execute import PlanExecution, meets
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import (
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Join,
    Plan,
    Union,
)

if TYPE_CHECKING:
    from branchwise.corpora.kept_arrays import Arrays

Ids = tuple[str, ...]


_KEY_BYTES = 8


class Support:
    """Passage ids by what they state: subject, property, value.

    Statements are known by 64 bits of a hash: of ten million, two share one with a probability of
    1 in 400,000.
    """

    def __init__(self, arrays: "Arrays") -> None:
        self._keys, self._passages = arrays["keys"], arrays["passages"]
        self._ids = PackedTexts(arrays["id"], arrays["id_starts"])

    @classmethod
    def load(cls, corpus: Path, keep: Path | None = None) -> "Support":
        """From a corpus whose passages have `statements`, as a world's have.

        What states what is kept in `keep`, where it is named, for as long as the file is the same.
        Raises InputError if the file is not such a corpus (with the line).
        """
        origin = {"corpus": file_origin(corpus)} if corpus.is_file() else {}
        return cls(kept_arrays(keep, origin, lambda: _read(corpus)))

    def ids(self, subject: str, number: str, value: str) -> Ids:
        """The passages that state this, in the corpus's order; none where it is not told."""
        key = np.frombuffer(_key(subject, number, value), dtype=np.uint64)
        first, end = (int(self._keys.searchsorted(key, side)[0]) for side in ("left", "right"))
        return tuple(self._ids[place] for place in self._passages[first:end].tolist())


def _key(subject: Any, number: Any, value: Any) -> bytes:
    return blake2b(f"{subject} {number} {value}".encode(), digest_size=_KEY_BYTES).digest()


def _text(id: Any) -> str:
    if not isinstance(id, str):
        raise TypeError
    return id


def _read(corpus: Path) -> "Arrays":
    keys, counts, ids = bytearray(), array("I"), []
    for number, line in read_lines(corpus):
        passage = parse_object(line, f"{corpus}:{number}")
        try:
            stated = [_key(*statement) for statement in passage.get("statements", ())]
            ids.append(_text(passage["id"]))
        except (KeyError, TypeError, ValueError):
            raise InputError(
                "has no id, or statements that are not [subject, property, value]",
                where=f"{corpus}:{number}",
            ) from None
        keys += b"".join(stated)
        counts.append(len(stated))
    id, id_starts = packed(ids)
    found = np.frombuffer(keys, dtype=np.uint64)
    order = np.argsort(found, kind="stable")
    passages = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    return {
        "keys": found[order],
        "passages": passages[order],
        "id": id,
        "id_starts": id_starts,
    }


def support_of(
    plan: Plan, execution: PlanExecution, facts: Facts, support: Support
) -> dict[str, Ids]:
    """For each answer, sorted, the passages that state what leads to it, first steps first.

    All that lead to it are given: every one of the films that an actor appeared in, not one of
    them; of a union both sides; of a difference the first side, since nothing states the other's.
    """
    trail = _Trail(plan, execution, facts, support)
    last = len(plan.steps) - 1
    return {answer: trail.ids(last, answer) for answer in sorted(execution.answers)}


class _Trail:
    """The way back from a step's member to what it came from; each way is worked out once."""

    def __init__(
        self, plan: Plan, execution: PlanExecution, facts: Facts, support: Support
    ) -> None:
        self._plan, self._sets = plan, execution.sets
        self._facts, self._support = facts, support
        self._known: dict[tuple[int, str], Ids] = {}
        self._reached: dict[int, dict[str, list[str]]] = {}

    def ids(self, place: int, member: str) -> Ids:
        """The passages behind a member of a step's set, each once."""
        key = (place, member)
        if key not in self._known:
            self._known[key] = tuple(dict.fromkeys(self._behind(place, member)))
        return self._known[key]

    def _behind(self, place: int, member: str) -> Iterator[str]:
        step = self._plan.steps[place]
        match step:
            case Atomic():
                yield from self._stated(step, step.entity, member)
            case Join() | GroupBy():
                origins = self._origins(place, step)[member]
                for origin in origins:
                    yield from self.ids(step.of, origin)
                for origin in origins:
                    yield from self._stated(step, origin, member)
            case Filter():
                yield from self.ids(step.of, member)
                found = self._facts.related(step.relation, False, (member,))
                for value in found.get(member, ()):
                    if meets(step.condition, value):
                        yield from self._stated(step, member, value)
            case _:
                sources = step.sources[:1] if isinstance(step, Difference) else step.sources
                for source in sources:
                    if not isinstance(step, Union) or member in self._sets[source]:
                        yield from self.ids(source, member)

    def _origins(self, place: int, step: Join | GroupBy) -> dict[str, list[str]]:
        """The members of the step before, sorted, that lead to each of what they are related to."""
        if place not in self._reached:
            reached: dict[str, list[str]] = {}
            before = sorted(self._sets[step.of])
            for origin, values in self._facts.related(step.relation, step.inverse, before).items():
                for value in values:
                    reached.setdefault(value, []).append(origin)
            self._reached[place] = reached
        return self._reached[place]

    def _stated(self, step: Atomic | Join | GroupBy | Filter, one: str, other: str) -> Ids:
        """The passages that state a step's relation between two, read from one to the other."""
        number = self._facts.schema.relations[step.relation].property
        if not isinstance(step, Filter) and step.inverse:
            one, other = other, one
        return self._support.ids(one, number, other)
