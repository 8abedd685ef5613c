"""What is too much for one sentence: which sets a sentence of its own introduces."""

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

_DEEPEST = 2
_HEAVIEST = 5
_OFTEN = 0.15


def introduced(asked: Description, random: Random) -> tuple[list[Description], Description]:
    """Descriptions to introduce, in order, and what is left to ask, which mentions the last."""
    nested = [part for part in asked.parts if _is_nested(part)]
    if not nested:
        return [], asked
    part = max(nested, key=lambda p: (depth(p), weight(p)))
    needed = depth(asked) > _DEEPEST or weight(asked) > _HEAVIEST
    if not needed and random.random() > _OFTEN:
        return [], asked
    assert isinstance(part, Related)
    assert isinstance(part.to, Description)
    before, inner = introduced(part.to, random) if weight(part.to) > 2 else ([], part.to)
    shorter = replace(part, to=Mentioned(part.to.types))
    parts = tuple(shorter if p is part else p for p in asked.parts)
    return [*before, inner], replace(asked, parts=parts)


def _is_nested(part: Part) -> bool:
    return isinstance(part, Related) and isinstance(part.to, Description)


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
