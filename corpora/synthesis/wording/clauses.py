"""Clauses, each one thing that is said in the forms that it takes in a sentence, around a noun:
what stands beside it, what follows "that" or "who", what is denied."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from branchwise.corpora.synthesis.wording.phrases import Verb, listed
from branchwise.corpora.synthesis.wording.vocabulary import Noun


@dataclass(frozen=True)
class Clause:
    """A verb with the other side in words.

    `denied` is the other side in a denial ("any film by X"). `beside` is a phrase for beside a
    noun only. `swapped` is the same said of the other side, where that is one name: Mara Voss,
    directed. `long`: it holds a noun phrase, and nothing should follow it. `deniable`: "did not"
    says plainly that it does not hold. `alone`: nothing else may stand beside the noun, as it would
    be taken with a name ("based in X with ...").
    """

    verb: Verb
    other: str
    denied: str = ""
    beside: Verb | None = None
    swapped: tuple[str, Verb] | None = None
    long: bool = False
    deniable: bool = True
    alone: bool = False

    def finite(self, plural: bool = True) -> str:
        """ "were directed by X"."""
        return self.verb.finite(self.other, plural)

    def negated(self, plural: bool = True) -> str:
        """ "were not directed by X"."""
        return self.verb.negated(self.denied or self.other, plural)

    def reduced(self, plural: bool = True) -> str:
        """ "directed by X", or nothing where the verb cannot be left out."""
        return (self.beside or self.verb).reduced(self.other, plural)

    def reduced_denial(self, plural: bool = True) -> str:
        """ "not directed by X", or nothing."""
        words = self.verb.reduced(self.denied or self.other, plural)
        return f"not {words}" if words and self.verb.base == "be" else ""


_MOST_BESIDE = 3
_FORMS_OF_BE = frozenset(("are", "is", "was", "were"))


@dataclass(frozen=True)
class Told:
    """What is said of things: their noun, what holds, what does not.

    `denials` do not hold, each; of each of `excluded`, not all holds.
    """

    noun: Noun
    points: "tuple[Point, ...]"
    denials: tuple[Clause, ...] = ()
    excluded: "tuple[Told, ...]" = ()

    @property
    def light(self) -> "list[Point]":
        """What may stand beside the noun, all together."""
        fit = [point for point in self.points if point.reduced() and not point.long]
        return [point for point in fit if len(fit) == 1 or not point.alone]

    @property
    def long(self) -> bool:
        return any(point.long for point in (*self.points, *self.denials))

    @property
    def single(self) -> Clause | None:
        """The clause that is all that is said."""
        point = self.points[0] if len(self.points) == 1 else None
        alone = isinstance(point, Clause) and not self.denials and not self.excluded
        return point if alone and isinstance(point, Clause) else None


@dataclass(frozen=True)
class Choice:
    """One of several descriptions of the same things, short ones first."""

    options: tuple[Told, ...]

    @property
    def long(self) -> bool:
        return any(option.long for option in self.options)

    @property
    def alone(self) -> bool:
        """A choice with something else beside the noun might be a choice with that."""
        return True

    def finite(self, plural: bool = True, either: bool = False) -> str:
        """ "won X or were directed by Y"; `either`: say so even where it would be clear."""
        said = [
            predicate(option.points, option.denials, plural) + _in_brackets(option)
            for option in self.options
        ]
        clauses = [option.single for option in self.options]
        if all(clauses) and not any(clause.long for clause in clauses[:-1] if clause):
            unclear = either or any("," in words for words in said)
            return ("either " if unclear else "") + in_a_row(said, "or")
        return f"either {', '.join(said[:-1])}, or {said[-1]}"

    def reduced(self, plural: bool = True) -> str:
        """ "directed by X or written by Y", or nothing where an option cannot be reduced."""
        clauses = [option.single for option in self.options]
        said = [clause.reduced(plural) for clause in clauses if clause]
        return listed(said, "or") if len(said) == len(self.options) and all(said) else ""


Point = Clause | Choice


def around(noun: str, told: Told, plural: bool = True, swapped: bool = False) -> str:
    """A noun with all that is told of it; `swapped`: "that Mara Voss directed", if it fits."""
    beside = told.light[:_MOST_BESIDE]
    after = [point for point in told.points if point not in beside]
    exceptions = bool(told.denials or told.excluded)
    if len(after) == 1 and not exceptions and _fits_beside(after[0], beside):
        beside, after = [*beside, after[0]], []
    reversed_clause = _swapped(told, beside) if swapped and not after and not exceptions else ""
    if reversed_clause:
        beside = beside[:-1]
    words = [noun, beside_noun(beside, plural), reversed_clause]
    if after:
        words += [told.noun.pronoun, predicate(after, told.denials, plural)]
    elif told.denials:
        words.append(_denied_beside(told, plural))
    return " ".join(word for word in words if word) + excluding(told)


def predicate(points: Sequence[Point], denials: Sequence[Clause], plural: bool = True) -> str:
    """Verb phrases in a row; what follows a long one is set off from it.

    A short denial stands before what is long or a choice: "did not win X but appeared in films".
    """
    denied = listed([clause.negated(plural) for clause in denials])
    if not points or not denials:
        return denied or coordinated(points, plural)
    said = coordinated(points, plural, either=True)
    long = any(point.long or isinstance(point, Choice) for point in points)
    if long and not any(clause.long for clause in denials):
        return f"{denied} but {said}"
    return f"{said}{',' if long else ''} but {denied}"


def coordinated(points: Sequence[Point], plural: bool = True, either: bool = False) -> str:
    """ "won X, were born in Y and appeared in films by Z"; choices come last."""
    clauses = [point for point in points if isinstance(point, Clause)]
    choices = [point for point in points if isinstance(point, Choice)]
    said = [clause.finite(plural) for clause in clauses]
    said += [choice.finite(plural, either or len(points) > 1) for choice in choices]
    if clauses and choices:
        return f"{listed(said[:-1])}{',' if clauses[-1].long else ''} and {said[-1]}"
    if any(point.long for point in points[:-1]):
        return f"{', '.join(said[:-1])}, and also {said[-1]}"
    return in_a_row(said, "and")


def in_a_row(said: Sequence[str], conjunction: str) -> str:
    """Verb phrases, where all begin with the same form of "to be", it is said once."""
    first = {words.partition(" ")[0] for words in said}
    if len(first) == 1 and first & _FORMS_OF_BE and not any("," in words for words in said):
        said = [said[0], *(words.partition(" ")[2] for words in said[1:])]
    return listed(said, conjunction)


def excluding(told: Told) -> str:
    """ ", excluding those with at least 300 pages": exceptions that a denial does not say."""
    return "".join(f", {_excluded(exception)}" for exception in told.excluded)


def _in_brackets(told: Told) -> str:
    return "".join(f" ({_excluded(exception)})" for exception in told.excluded)


def _excluded(exception: Told) -> str:
    return f"excluding {around('those', exception)}"


def beside_noun(points: Sequence[Point], plural: bool = True) -> str:
    """What stands beside a noun: "by X", "directed by X and released in 1990"."""
    bare = [point for point in points if isinstance(point, Clause) and point.beside]
    others = [point for point in points if point not in bare]
    sides = (listed([point.reduced(plural) for point in side]) for side in (bare, others))
    return " ".join(side for side in sides if side)


def _denied_beside(told: Told, plural: bool) -> str:
    """ "but not directed by X", or "that were not ..." where no such words can stand there."""
    reduced = [clause.reduced_denial(plural) for clause in told.denials]
    if all(reduced) and told.light:
        return f"but {listed(reduced)}"
    return f"{told.noun.pronoun} {predicate((), told.denials, plural)}"


def _fits_beside(point: Point, beside: Sequence[Point]) -> bool:
    """Whether a long one may be the last beside a noun."""
    fit = all(other.reduced() for other in (*beside, point))
    return point.long and fit and not (beside and any(p.alone for p in (*beside, point)))


def _swapped(told: Told, beside: Sequence[Point]) -> str:
    """ "that Mara Voss directed", for the last of what would stand beside the noun."""
    last = beside[-1] if beside else None
    if told.noun.of_people or not isinstance(last, Clause) or not last.swapped:
        return ""
    name, verb = last.swapped
    return f"that {name} {verb.finite('', plural=False)}"


def with_years_in_place(points: Sequence[Point]) -> list[Point]:
    """Years go with a short clause that has their verb: founded by X in 1990."""
    made = list(points)
    for years in points:
        if not isinstance(years, Clause) or years.verb.preposition or years.verb.after:
            continue
        taker = next((p for p in made if isinstance(p, Clause) and _takes(p, years)), None)
        if taker is not None:
            other = f"{taker.other} {years.other}"
            taken = replace(taker, other=other, beside=None, swapped=None, deniable=False)
            made = [taken if p is taker else p for p in made if p is not years]
    return made


def _takes(clause: Clause, years: Clause) -> bool:
    same = (clause.verb.form, clause.verb.before) == (years.verb.form, years.verb.before)
    return same and clause.verb.preposition != "" and not clause.verb.after and not clause.long
