"""Clauses, each one thing that is said in the forms that it takes in a sentence, around a noun:
what stands beside it, what follows "that" or "who", what is denied."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from branchwise.worlds.questions.wording.vocabulary import Noun, Verb, listed


@dataclass(frozen=True)
class Clause:
    """A verb with the other side in words.

    `denied`: the other side in a denial ("any film by X"). `beside`: a phrase for beside a noun
    only. `swapped`: the same said of the other side, one name: Mara Voss, directed. `long`: it
    holds a noun phrase, and nothing should follow it. `deniable`: "did not" says plainly that it
    does not hold. `alone`: a neighbour beside the noun would be taken with a name.
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


_MOST_BESIDE = 3
_FORMS_OF_BE = frozenset(("are", "is", "was", "were"))


@dataclass(frozen=True)
class NounPhrase:
    """Things by their noun, what holds, does not (`denials`), and not all of it (`excluded`)."""

    noun: Noun
    predicates: "tuple[Predication, ...]"
    denials: tuple[Clause, ...] = ()
    excluded: "tuple[NounPhrase, ...]" = ()

    @property
    def light(self) -> "list[Predication]":
        """What may stand beside the noun, all together."""
        fit = [p for p in self.predicates if p.reduced() and not p.long]
        return [p for p in fit if len(fit) == 1 or not p.alone]

    @property
    def long(self) -> bool:
        return any(predicate.long for predicate in (*self.predicates, *self.denials))

    @property
    def single(self) -> Clause | None:
        """The clause that is all that is said."""
        first = self.predicates[0] if self.predicates else None
        alone = len(self.predicates) == 1 and not self.denials and not self.excluded
        return first if alone and isinstance(first, Clause) else None


@dataclass(frozen=True)
class Disjunction:
    """One of several descriptions of the same things, short ones first."""

    options: tuple[NounPhrase, ...]

    @property
    def long(self) -> bool:
        return any(option.long for option in self.options)

    @property
    def alone(self) -> bool:
        """A choice with something else beside the noun might be a choice with that."""
        return True

    def finite(self, plural: bool = True, either: bool = False) -> str:
        """ "won X or were directed by Y"; `either`: say so even where it would be clear."""
        phrases = []
        for option in self.options:
            exceptions = "".join(f" (excluding {around('those', e)})" for e in option.excluded)
            phrases.append(verb_phrase(option.predicates, option.denials, plural) + exceptions)
        clauses = [option.single for option in self.options]
        if all(clauses) and not any(clause.long for clause in clauses[:-1] if clause):
            unclear = either or any("," in words for words in phrases)
            return ("either " if unclear else "") + _in_a_row(phrases, "or")
        return f"either {', '.join(phrases[:-1])}, or {phrases[-1]}"

    def reduced(self, plural: bool = True) -> str:
        """ "directed by X or written by Y", or nothing where an option cannot be reduced."""
        clauses = [option.single for option in self.options]
        phrases = [clause.reduced(plural) if clause else "" for clause in clauses]
        return listed(phrases, "or") if all(phrases) else ""


Predication = Clause | Disjunction


def around(noun: str, phrase: NounPhrase, plural: bool = True, swapped: bool = False) -> str:
    """A noun with all that is told of it; `swapped`: "that Mara Voss directed", if it fits."""
    beside = phrase.light[:_MOST_BESIDE]
    after = [predicate for predicate in phrase.predicates if predicate not in beside]
    exceptions = bool(phrase.denials or phrase.excluded)
    if len(after) == 1 and not exceptions:
        # A long one may be the last beside a noun.
        every = [*beside, after[0]]
        fit = after[0].long and all(p.reduced() for p in every)
        if fit and not (beside and any(p.alone for p in every)):
            beside, after = every, []
    reversed_clause = _swapped(phrase, beside) if swapped and not after and not exceptions else ""
    if reversed_clause:
        beside = beside[:-1]
    words = [noun, beside_noun(beside, plural), reversed_clause]
    if after:
        words += [phrase.noun.pronoun, verb_phrase(after, phrase.denials, plural)]
    elif phrase.denials:
        # "but not directed by X", or "that were not ..." where no such words can stand there.
        sides = [(c.verb, c.verb.reduced(c.denied or c.other, plural=True)) for c in phrase.denials]
        if phrase.light and all(side and verb.base == "be" for verb, side in sides):
            words.append(f"but {listed([f'not {side}' for _, side in sides])}")
        else:
            words += [phrase.noun.pronoun, verb_phrase((), phrase.denials, plural)]
    return " ".join(word for word in words if word) + excluding(phrase)


def verb_phrase(
    predicates: Sequence[Predication], denials: Sequence[Clause], plural: bool = True
) -> str:
    """Verb phrases in a row; what follows a long one is set off from it. A short denial stands
    before what is long or a choice: "did not win X but appeared in films"."""
    denied = listed([clause.negated(plural) for clause in denials])
    if not predicates or not denials:
        return denied or _coordinated(predicates, plural)
    words = _coordinated(predicates, plural, either=True)
    long = any(predicate.long or isinstance(predicate, Disjunction) for predicate in predicates)
    if long and not any(clause.long for clause in denials):
        return f"{denied} but {words}"
    return f"{words}{',' if long else ''} but {denied}"


def _coordinated(parts: Sequence[Predication], plural: bool = True, either: bool = False) -> str:
    """ "won X, were born in Y and appeared in films by Z"; choices come last."""
    clauses = [p for p in parts if isinstance(p, Clause)]
    choices = [p for p in parts if isinstance(p, Disjunction)]
    phrases = [clause.finite(plural) for clause in clauses]
    phrases += [choice.finite(plural, either or len(parts) > 1) for choice in choices]
    if clauses and choices:
        return f"{listed(phrases[:-1])}{',' if clauses[-1].long else ''} and {phrases[-1]}"
    if any(p.long for p in parts[:-1]):
        return f"{', '.join(phrases[:-1])}, and also {phrases[-1]}"
    return _in_a_row(phrases, "and")


def _in_a_row(phrases: Sequence[str], conjunction: str) -> str:
    """Verb phrases, where all begin with the same form of "to be", it is phrases once."""
    first = {words.partition(" ")[0] for words in phrases}
    if len(first) == 1 and first & _FORMS_OF_BE and not any("," in words for words in phrases):
        phrases = [phrases[0], *(words.partition(" ")[2] for words in phrases[1:])]
    return listed(phrases, conjunction)


def excluding(phrase: NounPhrase) -> str:
    """ ", excluding those with at least 300 pages": exceptions that a denial does not say."""
    return "".join(f", excluding {around('those', exception)}" for exception in phrase.excluded)


def beside_noun(predicates: Sequence[Predication], plural: bool = True) -> str:
    """What stands beside a noun: "by X", "directed by X and released in 1990"."""
    bare = [p for p in predicates if isinstance(p, Clause) and p.beside]
    others = [p for p in predicates if p not in bare]
    sides = (listed([p.reduced(plural) for p in side]) for side in (bare, others))
    return " ".join(side for side in sides if side)


def _swapped(phrase: NounPhrase, beside: Sequence[Predication]) -> str:
    """ "that Mara Voss directed", for the last of what would stand beside the noun."""
    last = beside[-1] if beside else None
    if phrase.noun.of_people or not isinstance(last, Clause) or not last.swapped:
        return ""
    name, verb = last.swapped
    return f"that {name} {verb.finite('', plural=False)}"


def with_years_in_place(predicates: Sequence[Predication]) -> list[Predication]:
    """Years go with a short clause that has their verb: founded by X in 1990."""
    made = list(predicates)
    for years in predicates:
        if not isinstance(years, Clause) or years.verb.preposition or years.verb.after:
            continue
        for clause in made:
            verb = clause.verb if isinstance(clause, Clause) and not clause.long else None
            same = verb and (verb.form, verb.before) == (years.verb.form, years.verb.before)
            if not isinstance(clause, Clause) or not verb or not same:
                continue
            if verb.preposition and not verb.after:
                other = f"{clause.other} {years.other}"
                taken = replace(clause, other=other, beside=None, swapped=None, deniable=False)
                made = [taken if p is clause else p for p in made if p is not years]
                break
    return made
