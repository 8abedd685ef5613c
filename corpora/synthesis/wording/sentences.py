"""The sentences of a question: those that introduce what is too much for one, and the one that
asks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random

from branchwise.corpora.synthesis.wording.clauses import (
    Clause,
    Point,
    Told,
    around,
    beside_noun,
    excluding,
    predicate,
)
from branchwise.corpora.synthesis.wording.descriptions import (
    Description,
    Either,
    Except,
    Meets,
    Mentioned,
    Named,
    Part,
    Related,
)
from branchwise.corpora.synthesis.wording.noun_phrases import NounPhrases
from branchwise.corpora.synthesis.wording.vocabulary import now_and_then

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


_REQUESTS = ("Name all {}.", "List the {}.", "Name the {}.", "List all {}.")
Frame = Callable[[], str]


def framed(asked: Description, phrases: NounPhrases) -> str:
    """A question for what is described, in one of the frames that fit."""
    told = phrases.told(asked)
    frames, weights = zip(*_frames(told, phrases), strict=True)
    chosen: Frame = phrases.random.choices(frames, weights)[0]
    return chosen()


def _frames(told: Told, phrases: NounPhrases) -> Iterator[tuple[Frame, int]]:
    """The frames that fit, each with how often it is taken beside the others."""
    if told.points or told.denials:
        yield (lambda: _which(told)), 4
        if len(told.points) > 1 and not told.denials and not told.excluded:
            yield (lambda: _which_of_them(told)), 2
        if swapped := _swapped(told):
            yield (lambda: _did(told, swapped)), 2
        if told.noun.of_people and (told.noun.general or _tells_who(told)):
            yield (lambda: _who(told)), 2
    yield (lambda: phrases.random.choice(_REQUESTS).format(around(told.noun.plural, told))), 2


def _tells_who(told: Told) -> bool:
    """Whether what they did says who they are: those who directed a film are directors."""
    points = [point for point in told.points if isinstance(point, Clause)]
    return told.noun.plural == told.noun.bare and any(p.verb.is_active for p in points)


def _which(told: Told) -> str:
    """ "Which films directed by X won the award?": the shorter things beside the noun."""
    beside = told.light
    if len(beside) == len(told.points) and not told.denials:
        beside = beside[:-1]
    if not beside and told.noun.general:
        return _who(told)
    main = [point for point in told.points if point not in beside]
    noun = f"{told.noun.plural} {beside_noun(beside)}".strip()
    return f"Which {noun} {predicate(main, told.denials)}{excluding(told)}?"


def _which_of_them(told: Told) -> str:
    """ "Which actors who appeared in films by X were born before 1980?": one short thing asked."""
    light = told.light
    asked = (light[0] if len(light) == len(told.points) else light[-1]) if light else told.points[0]
    rest = _without(told, asked)
    return f"Which {around(told.noun.plural, rest)} {asked.finite()}?"


def _who(told: Told) -> str:
    return f"Who {predicate(told.points, told.denials, plural=False)}{excluding(told)}?"


def _swapped(told: Told) -> Clause | None:
    """The clause for "did X direct": that of one name, with nothing but short things beside it."""
    clause = next((p for p in told.points if isinstance(p, Clause) and p.swapped), None)
    if clause is None or told.denials or told.excluded:
        return None
    rest = _without(told, clause)
    return clause if len(rest.light) == len(rest.points) else None


def _without(told: Told, left: Point) -> Told:
    return replace(told, points=tuple(point for point in told.points if point is not left))


def _did(told: Told, clause: Clause) -> str:
    """ "Which horror films did X direct?"."""
    assert clause.swapped is not None
    name, verb = clause.swapped
    beside = beside_noun(_without(told, clause).points)
    words = (told.noun.plural, beside, verb.auxiliary(plural=False), name, verb.base)
    said = " ".join(word for word in (*words, verb.preposition) if word)
    return f"Which {said}?"
