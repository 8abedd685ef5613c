"""Clauses around a noun: what stands beside it, what follows "that" or "who", what is denied."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from branchwise.corpora.synthesis.clauses import Choice, Clause, Point
from branchwise.corpora.synthesis.nouns import Noun
from branchwise.corpora.synthesis.phrases import listed

_MOST_BESIDE = 3


@dataclass
class Told:
    """A description taken apart for saying: its noun, what holds, and what does not.

    Each exception is a list of clauses that do not hold all together.
    """

    noun: Noun
    clauses: list[Point]
    exceptions: list[list[Point]] = field(default_factory=list)

    @property
    def light(self) -> list[Point]:
        """What may stand beside the noun; "with ..." only alone, as it would go with a name."""
        fit = [clause for clause in self.clauses if clause.reduced() and not clause.long]
        return [c for c in fit if len(fit) == 1 or not c.reduced().startswith("with ")]

    @property
    def denials(self) -> list[Clause]:
        """The exceptions that "did not" says."""
        return [clause for exception in self.exceptions if (clause := _denial(exception))]

    @property
    def excluded(self) -> list[list[Point]]:
        """The other exceptions."""
        return [exception for exception in self.exceptions if _denial(exception) is None]


def _denial(exception: Sequence[Point]) -> Clause | None:
    clause = exception[0]
    fit = len(exception) == 1 and isinstance(clause, Clause) and clause.deniable
    return clause if fit and isinstance(clause, Clause) else None


def around(noun: str, told: Told, plural: bool = True, swapped: bool = False) -> str:
    """A noun with all that is told of it; `swapped`: "that Mara Voss directed", if it fits."""
    beside = told.light[:_MOST_BESIDE]
    after = [clause for clause in told.clauses if clause not in beside]
    if len(after) == 1 and not told.exceptions and _fits_beside(after[0], beside):
        beside, after = [*beside, after[0]], []
    reversed_clause = _swapped(told, beside) if swapped and not after else ""
    if reversed_clause:
        beside = beside[:-1]
    words = [noun, beside_noun(beside, plural), reversed_clause]
    denied = ""
    if told.denials and not after:
        denied = _denied_beside(told, plural)
    elif after:
        words += [told.noun.pronoun, predicate(after, told.denials, plural)]
    said = " ".join(word for word in words if word)
    return said + denied + excluding(told)


def predicate(clauses: Sequence[Point], denials: Sequence[Clause], plural: bool = True) -> str:
    """Verb phrases in a row; what follows a long one is set off from it.

    A short denial stands before what is long or a choice: "did not win X but appeared in films".
    """
    said = coordinated(clauses, plural)
    if not denials:
        return said
    denied = listed([clause.negated(plural) for clause in denials])
    long = any(clause.long or isinstance(clause, Choice) for clause in clauses)
    if long and not any(clause.long for clause in denials):
        return f"{denied} but {said}"
    return f"{said}{',' if long else ''} but {denied}"


def coordinated(clauses: Sequence[Point], plural: bool = True) -> str:
    """ "won X, were born in Y and appeared in films by Z"."""
    said = [clause.finite(plural) for clause in clauses]
    if any(clause.long for clause in clauses[:-1]):
        return f"{', '.join(said[:-1])}, and also {said[-1]}"
    return listed(said)


def excluding(told: Told) -> str:
    """ ", excluding those with at least 300 pages": exceptions that a denial does not say."""
    return "".join(
        f", excluding {around('those', Told(told.noun, exception))}" for exception in told.excluded
    )


def beside_noun(clauses: Sequence[Point], plural: bool = True) -> str:
    """What stands beside a noun: "by X", "directed by X and released in 1990"."""
    bare = [clause for clause in clauses if isinstance(clause, Clause) and clause.beside]
    others = [clause for clause in clauses if clause not in bare]
    sides = (listed([clause.reduced(plural) for clause in side]) for side in (bare, others))
    return " ".join(side for side in sides if side)


def _denied_beside(told: Told, plural: bool) -> str:
    """ " but not directed by X", or " that were not ..." where no such words can stand there."""
    reduced = [clause.reduced_denial(plural) for clause in told.denials]
    if all(reduced) and told.light:
        return f" but {listed(reduced)}"
    denied = listed([clause.negated(plural) for clause in told.denials])
    return f" {told.noun.pronoun} {denied}"


def _fits_beside(clause: Point, beside: Sequence[Point]) -> bool:
    """Whether a long clause may be the last beside a noun: nothing there begins with "with"."""
    said = [other.reduced() for other in (*beside, clause)]
    having = beside and any(words.startswith("with ") for words in said)
    return clause.long and all(said) and not having


def _swapped(told: Told, beside: Sequence[Point]) -> str:
    """ "that Mara Voss directed", for the last of what would stand beside the noun."""
    last = beside[-1] if beside else None
    if told.exceptions or told.noun.of_people or not isinstance(last, Clause) or not last.swapped:
        return ""
    name, verb = last.swapped
    return f"that {name} {verb.finite('', plural=False)}"
