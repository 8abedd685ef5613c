"""What is too much for one sentence: which sets a sentence of its own introduces."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from branchwise.corpora.synthesis.descriptions import (
    Description,
    Either,
    Except,
    Meets,
    Mentioned,
    Named,
    Part,
    Related,
)
from branchwise.corpora.synthesis.variety import now_and_then

_DEEPEST = 2
_HEAVIEST = 5
_OFTEN = 0.15


def introduced(asked: Description, random: Random) -> tuple[list[Description], Description]:
    """Descriptions to introduce, in order, and what is left to ask, which mentions the last."""
    return _introduced(asked, _OFTEN, random)


def _introduced(
    asked: Description, often: float, random: Random
) -> tuple[list[Description], Description]:
    nested = list(_nested(asked.parts))
    needed = depth(asked) > _DEEPEST or weight(asked) > _HEAVIEST or any(map(_unclear, nested))
    if not nested or not (needed or now_and_then(often, random)):
        return [], asked
    chosen = max(nested, key=lambda set_: (_unclear(set_), depth(set_), weight(set_)))
    before, inner = _introduced(chosen, 0, random)
    parts = tuple(_mentioning(part, chosen, Mentioned(inner)) for part in asked.parts)
    return [*before, inner], replace(asked, parts=parts)


def _nested(parts: Iterable[Part]) -> Iterator[Description]:
    """The sets that are spoken of in parts."""
    for part in parts:
        if isinstance(part, Related) and isinstance(part.to, Description):
            yield part.to
        elif isinstance(part, Either):
            yield from _nested(inner for option in part.options for inner in option)


def _unclear(described: Description) -> bool:
    """Whether an exception in it would seem to be one of what is asked."""
    return any(isinstance(part, Except) and not part.is_plain for part in described.parts)


def _mentioning(part: Part, chosen: Description, mentioned: Mentioned) -> Part:
    if isinstance(part, Related) and part.to == chosen:
        return replace(part, to=mentioned)
    if isinstance(part, Either):
        options = (
            tuple(_mentioning(inner, chosen, mentioned) for inner in option)
            for option in part.options
        )
        return Either(tuple(options))
    return part


def depth(of: Description | Part) -> int:
    """How many noun phrases are inside one another."""
    if isinstance(of, Meets):
        return 0
    if isinstance(of, Related):
        return 1 + depth(of.to) if isinstance(of.to, Description) else 0
    return max((depth(part) for part in _inner(of)), default=0)


def weight(of: Description | Part | Named | Mentioned) -> int:
    """How many things are said."""
    if isinstance(of, Meets | Named | Mentioned):
        return 1
    if isinstance(of, Related):
        return 1 + (weight(of.to) if isinstance(of.to, Description) else 0)
    return sum(weight(part) for part in _inner(of))


def _inner(of: Description | Either | Except) -> tuple[Part, ...]:
    if isinstance(of, Either):
        return tuple(part for option in of.options for part in option)
    return of.parts
