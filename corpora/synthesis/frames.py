"""The sentence that asks: what is asked about, and what for."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from branchwise.corpora.synthesis.clauses import Clause
from branchwise.corpora.synthesis.descriptions import Description
from branchwise.corpora.synthesis.noun_phrases import NounPhrases
from branchwise.corpora.synthesis.told import Told, around, beside_noun, excluding, predicate

_REQUESTS = ("Name all {}.", "List the {}.", "Name the {}.", "List all {}.")
Frame = Callable[[], str]


def framed(asked: Description, phrases: NounPhrases, turn: int) -> str:
    """A question for what is described, in the `turn`-th of the frames that fit."""
    told = phrases.told(asked)
    frames = list(_frames(told, phrases))
    return frames[turn % len(frames)]()


def _frames(told: Told, phrases: NounPhrases) -> Iterator[Frame]:
    if told.points or told.denials:
        yield lambda: _which(told)
        if len(told.points) > 1 and not told.denials and not told.excluded:
            yield lambda: _which_of_them(told)
        if swapped := _swapped(told):
            yield lambda: _did(told, swapped)
        if told.noun.of_people and (told.noun.general or _tells_who(told)):
            yield lambda: _who(told)
    yield lambda: phrases.random.choice(_REQUESTS).format(around(told.noun.plural, told))


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
    asked = next((point for point in told.points if not point.long), told.points[-1])
    rest = replace(told, points=tuple(point for point in told.points if point is not asked))
    return f"Which {around(told.noun.plural, rest)} {asked.finite()}?"


def _who(told: Told) -> str:
    return f"Who {predicate(told.points, told.denials, plural=False)}{excluding(told)}?"


def _swapped(told: Told) -> Clause | None:
    """The clause for "did X direct": that of one name, with nothing but short things beside it."""
    if told.denials or told.excluded or len(told.light) < len(told.points):
        return None
    return next((c for c in told.points if isinstance(c, Clause) and c.swapped), None)


def _did(told: Told, clause: Clause) -> str:
    """ "Which horror films did X direct?"."""
    assert clause.swapped is not None
    name, verb = clause.swapped
    beside = beside_noun([other for other in told.points if other is not clause])
    words = (told.noun.plural, beside, verb.auxiliary(plural=False), name, verb.base)
    said = " ".join(word for word in (*words, verb.preposition) if word)
    return f"Which {said}?"
