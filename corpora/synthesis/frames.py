"""The sentence that asks: what is asked about, and what for."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from branchwise.corpora.synthesis.clauses import Clause
from branchwise.corpora.synthesis.descriptions import Description
from branchwise.corpora.synthesis.noun_phrases import NounPhrases
from branchwise.corpora.synthesis.told import Point, Told, around, beside_noun, excluding, predicate

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
