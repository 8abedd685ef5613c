"""Clauses, and where in a sentence one more can be said of a noun so that it is clear of which.

English lets a phrase after "and" or "but" belong to any noun, or verb, whose words have not ended:
in "supervised by scientists who won X and worked in physics" both the supervised and those
scientists may have worked there. The words of a phrase therefore keep what is still open at their
end (`Phrase.edge`), and one more clause takes the first form that one noun alone can take:

* the other side alone ("played for A but not for B"), for the same verb;
* a participle ("directed by X and released in 1990");
* a finite verb ("won X and worked in physics");
* a clause with a pronoun of its own ("who won X and who worked in physics").

A noun of which a schema never says such a thing does not count. Where no form is left, the plan
cannot be worded.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from branchwise.kg.schema import Schema
from branchwise.worlds.questions.drafts import RejectedError, Types
from branchwise.worlds.questions.wording.descriptions import Description, Meets, Related, may_hold
from branchwise.worlds.questions.wording.vocabulary import Noun, Verb

ClauseForm = Literal["main", "relative", "reduced"]
"""How a clause hangs on its noun: "Which actors won X", "actors who won X", "films by X"."""


class UnclearError(RejectedError):
    """A plan that no words say without leaving open what belongs to what."""

    def __init__(self, reason: str = "words would leave it open what belongs to what") -> None:
        super().__init__(reason)


class ClumsyError(UnclearError):
    """A plan whose words would be clear, but nobody would say them."""


@dataclass(frozen=True)
class Open:
    """A noun of which more could be said at the end of the words so far. `verb`: of the latest
    clause about it; `others`: what that verb's other side may be."""

    types: Types
    form: ClauseForm
    pronoun: str
    verb: Verb
    others: Types

    @property
    def takes_participles(self) -> bool:
        return self.form == "reduced" or self.verb.base == "be"


@dataclass(frozen=True)
class Phrase:
    """Words, what is open at their end, and what the name that they end with may be of."""

    words: str
    edge: tuple[Open, ...] = ()
    name: Types = ()

    def after(self, words: str) -> "Phrase":
        return replace(self, words=" ".join(w for w in (words, self.words) if w))


@dataclass(frozen=True)
class Clause:
    """What one verb says. `parts` have this verb in common, joined by `word`; `others`: what its
    other side may be.

    `named`: the other side is names alone. `light`: that, or nothing is open after it. `alone`:
    other words beside the noun would be taken with it ("with 300 pages and ..."). `value`: the
    other side in words, if it is no entity. `years`: of the same verb: founded by X before 1950.
    `single`: the other side is one thing. `weight`: how much is said of it. `ended`: it was so
    before, and what follows might be taken to have been: "formerly owned by X and founded by Y".
    """

    parts: tuple[Related | Meets, ...]
    word: Literal["and", "or"]
    verb: Verb
    named: bool = False
    light: bool = True
    alone: bool = False
    value: str = ""
    others: Types = ()
    beside: Verb | None = None
    years: str = ""
    single: bool = False
    weight: int = 0
    ended: bool = False

    @property
    def reducible(self) -> bool:
        return bool(self.beside or self.verb.reduced("X"))

    @property
    def is_participle(self) -> bool:
        """Whether it can follow another one with "be" left out."""
        return self.verb.base == "be" and bool(self.verb.reduced("X"))

    @property
    def is_choice(self) -> bool:
        return self.word == "or" and len(self.parts) > 1

    @property
    def is_of_many(self) -> bool:
        """Whether the other side is in the plural."""
        part = self.parts[0]
        if isinstance(part, Meets) or self.named:
            return len(self.parts) > 1 and self.word == "and"
        return not self.single and (isinstance(part.to, Description) or part.at_least > 1)

    def may_be_said_of(self, types: Types, schema: Schema) -> bool:
        return any(all(may_hold(part, name, schema) for part in self.parts) for name in types)


@dataclass(frozen=True)
class About:
    """What clauses are about, and how they hang on it."""

    noun: Noun
    types: Types
    plural: bool = True
    form: ClauseForm = "main"

    def opened(self, clause: Clause) -> Open:
        return Open(self.types, self.form, self.noun.pronoun, clause.verb, clause.others)


Joining = Literal["other side", "participle", "finite", "pronoun"]


def joining(
    last: Clause, new: Clause, so_far: Phrase, own: Open, schema: Schema, denied: bool
) -> Joining:
    """The form in which a clause about `own` follows another one. Raises UnclearError."""
    others = [place for place in so_far.edge if place is not own]
    fitting = [o for o in others if new.may_be_said_of(o.types, schema)]
    same_verb = last.verb == new.verb and not (last.is_choice or last.years or new.verb.noun)
    same_verb = same_verb and (denied or not new.is_choice)
    # A preposition comes again; without one nothing else may belong to the verb.
    bare = not new.verb.before and last.named and new.named
    if same_verb and not new.verb.after and (new.verb.preposition or bare):
        alike = (o for o in others if o.verb.preposition == new.verb.preposition)
        if not any(set(o.others) & set(new.others) for o in alike):
            return "other side"
    elided = last.light and last.is_participle and new.is_participle
    spreads = last.ended and not new.ended
    if own.form == "reduced" or (elided and last.verb.form == new.verb.form):
        if new.is_participle and not spreads and not any(o.takes_participles for o in fitting):
            return "participle"
        if own.form == "reduced":
            raise UnclearError
    spreads = spreads and not denied and new.verb.is_present and new.verb.base != "be"
    if not spreads and not any(o.form != "reduced" for o in fitting):
        return "finite"
    if own.form == "relative" and not any(
        o.form == "relative" and o.pronoun == own.pronoun for o in fitting
    ):
        return "pronoun"
    raise UnclearError


def light_first(clauses: Iterable[Clause]) -> list[Clause]:
    """Short ones first; a choice of names after what might seem to belong to one of them."""
    return sorted(clauses, key=lambda c: (not c.light, c.is_choice, c.ended, c.weight))
