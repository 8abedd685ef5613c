"""The sentence that asks: what is asked about, and what for."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from branchwise.corpora.synthesis.clauses import Clause
from branchwise.corpora.synthesis.descriptions import Description
from branchwise.corpora.synthesis.noun_phrases import NounPhrases, Told, beside_noun, coordinated

_REQUESTS = ("Name all {}.", "List the {}.", "Name the {}.", "List all {}.")


def framed(asked: Description, phrases: NounPhrases, turn: int) -> str:
    """A question for what is described, in the `turn`-th of the frames that fit."""
    told = phrases.told(asked)
    frames = list(_frames(told, phrases))
    return frames[turn % len(frames)]()


def _frames(told: Told, phrases: NounPhrases) -> Iterator[Callable[[], str]]:
    if told.clauses:
        yield lambda: _which(told, phrases)
        if len(told.clauses) > 1 and not told.exceptions:
            yield lambda: _which_of_them(told, phrases)
        if swapped := _swapped(told):
            yield lambda: _did(told, swapped)
        if told.noun.of_people and told.noun.general:
            yield lambda: _who(told, phrases)
    yield lambda: _request(told, phrases)


def _which(told: Told, phrases: NounPhrases) -> str:
    """ "Which films directed by X won the award?": the shorter things beside the noun."""
    beside = told.light
    if len(beside) == len(told.clauses):
        beside = beside[:-1]
    if not beside and told.noun.general:
        return _who(told, phrases)
    main = [clause for clause in told.clauses if clause not in beside]
    noun = f"{told.noun.plural} {beside_noun([clause.reduced() for clause in beside])}".strip()
    return f"Which {noun} {coordinated(main)}{phrases.excepted(told, 'after')}?"


def _which_of_them(told: Told, phrases: NounPhrases) -> str:
    """ "Which actors who appeared in films by X were born before 1980?": one short thing asked."""
    asked = next((clause for clause in told.clauses if not clause.long), told.clauses[-1])
    rest = replace(told, clauses=[clause for clause in told.clauses if clause is not asked])
    return f"Which {phrases.around(told.noun.plural, rest)} {asked.finite()}?"


def _who(told: Told, phrases: NounPhrases) -> str:
    excepted = phrases.excepted(told, "after", plural=False)
    return f"Who {coordinated(told.clauses, plural=False)}{excepted}?"


def _swapped(told: Told) -> Clause | None:
    """The clause for "did X direct": that of one name, with nothing but short things beside it."""
    if told.exceptions or len(told.light) < len(told.clauses):
        return None
    return next((c for c in told.clauses if isinstance(c, Clause) and c.swapped), None)


def _did(told: Told, clause: Clause) -> str:
    assert clause.swapped is not None
    name, verb = clause.swapped
    beside = beside_noun([other.reduced() for other in told.clauses if other is not clause])
    noun = f"{told.noun.plural} {beside}".strip()
    words = [f"Which {noun} {verb.auxiliary(plural=False)} {name} {verb.base}", verb.preposition]
    return " ".join(word for word in words if word) + "?"


def _request(told: Told, phrases: NounPhrases) -> str:
    request = phrases.random.choice(_REQUESTS)
    return request.format(phrases.around(told.noun.plural, told))
