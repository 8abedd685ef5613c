"""Noun phrases: a description in words, "horror films directed by Mara Voss that won an award"."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from branchwise.corpora.schema import Schema
from branchwise.corpora.synthesis.clauses import Choice, Clause, Clauses, Name, stutters
from branchwise.corpora.synthesis.descriptions import (
    Description,
    Except,
    Mentioned,
    Part,
    Related,
)
from branchwise.corpora.synthesis.nouns import Noun, noun_of, of_kind, people_of
from branchwise.corpora.synthesis.phrases import count_in_words, listed

_MOST_BESIDE = 3


@dataclass
class Told:
    """A description taken apart for saying: its noun, what holds, and what does not."""

    noun: Noun
    clauses: list[Clause | Choice]
    exceptions: list[list[Clause | Choice]] = field(default_factory=list)

    @property
    def light(self) -> list[Clause | Choice]:
        """What may stand beside the noun."""
        return [clause for clause in self.clauses if clause.reduced() and not clause.long]


class NounPhrases:
    """Noun phrases in words that `random` chooses."""

    def __init__(self, schema: Schema, name: Name, random: Random) -> None:
        self.schema, self.random = schema, random
        self.clauses = Clauses(schema, name, random, self)

    def members(self, of: Description | Mentioned, at_least: int, plural_only: bool) -> str:
        """Some of a set: "films by X", "a film by X", "at least three films by X"."""
        count = f"at least {count_in_words(at_least)}"
        if isinstance(of, Mentioned):
            these = self.mentioned(of)
            return f"{count} of {these}" if at_least > 1 else f"any of {these}"
        if at_least > 1:
            if self.random.random() < 0.3:
                count = f"{count_in_words(at_least)} or more"
            return f"{count} {self.phrase(of)}"
        if plural_only or self.random.random() < 0.7:
            return self.phrase(of)
        return self.phrase(of, "one")

    def none_of(self, of: Description | Mentioned) -> str:
        if isinstance(of, Mentioned):
            return f"any of {self.mentioned(of)}"
        return self.phrase(of, "any")

    def mentioned(self, of: Mentioned) -> str:
        """ "these films"."""
        return str(of.place) if of.place else f"these {noun_of(of.types, self.schema).plural}"

    def phrase(self, described: Description, number: str = "plural") -> str:
        """The noun and all that is said of it; `number`: plural, one ("a film"), or any."""
        told = self.told(described)
        plural = number == "plural"
        noun = told.noun.plural if plural else getattr(told.noun, number)()
        return self.around(noun, told, plural)

    def told(self, described: Description) -> Told:
        """The parts of a description in clauses, and the noun that fits them."""
        noun, rest = self._noun(described)
        positive = [part for part in rest if not isinstance(part, Except)]
        clauses = self.clauses.of(positive, noun)
        if any(stutters(noun.plural, c.verb) for c in clauses if isinstance(c, Clause)):
            noun = people_of(described.types, self.schema) if noun.of_people else noun
        told = Told(noun, clauses)
        for part in rest:
            if isinstance(part, Except) and not self._with_one_verb(part, positive, told):
                told.exceptions.append(self.clauses.of(part.parts, noun))
        return told

    def _noun(self, described: Description) -> tuple[Noun, list[Part]]:
        """The noun with the first kind of it, and the parts that this leaves to say."""
        noun = noun_of(described.types, self.schema)
        for part in described.parts:
            if kind := self.clauses.kind(part):
                return of_kind(noun, *kind), [p for p in described.parts if p is not part]
        return noun, list(described.parts)

    def _with_one_verb(self, part: Except, positive: Sequence[Part], told: Told) -> bool:
        """Says an exception with the clause that it is an exception to, if there is one."""
        if len(part.parts) > 1 or not isinstance(missing := part.parts[0], Related):
            return False
        same = [
            p
            for p in positive
            if isinstance(p, Related)
            and (p.relation, p.inverse) == (missing.relation, missing.inverse)
        ]
        if len(same) != 1 or missing.at_least > 1 or told.exceptions:
            return False
        together = self.clauses.without(same[0], missing, told.noun)
        if together:
            rest = self.clauses.of([p for p in positive if p is not same[0]], told.noun)
            told.clauses = [*rest, together]
        return together is not None

    def around(self, noun: str, told: Told, plural: bool = True) -> str:
        """A noun with what is told beside and after it."""
        beside = told.light[:_MOST_BESIDE]
        after = [clause for clause in told.clauses if clause not in beside]
        if len(after) == 1 and self._fits_beside(after[0], beside):
            beside, after = [*beside, after[0]], []
        words = [noun]
        if swapped := self._swapped(told, after):
            beside = beside[:-1]
            after = []
        words.append(beside_noun([clause.reduced(plural) for clause in beside]))
        if swapped:
            words.append(swapped)
        if after:
            words += [told.noun.pronoun, coordinated(after, plural)]
        said = " ".join(word for word in words if word)
        return said + self.excepted(told, "after" if after else "beside", plural)

    def _fits_beside(self, clause: Clause | Choice, beside: Sequence[Clause | Choice]) -> bool:
        """Whether a long clause may be the last beside a noun: nothing there begins with "with"."""
        said = [other.reduced() for other in (*beside, clause)]
        return clause.long and all(said) and not (beside and " with " in f" {' '.join(said)}")

    def _swapped(self, told: Told, after: Sequence[Clause | Choice]) -> str:
        """ "that Mara Voss directed", for the last of what would stand beside the noun."""
        last = told.light[-1] if told.light else None
        if after or told.exceptions or not isinstance(last, Clause) or not last.swapped:
            return ""
        if told.noun.of_people or len(told.light) > _MOST_BESIDE or self.random.random() < 0.6:
            return ""
        name, verb = last.swapped
        return f"that {name} {verb.finite('', plural=False)}"

    def excepted(self, told: Told, where: str, plural: bool = True) -> str:
        """ " but did not win the award", ", excluding those born before 1980"."""
        said = ""
        for exception in told.exceptions:
            denial = "" if said else self._denial(exception, where, plural)
            comma = "," if any(clause.long for clause in told.clauses) else ""
            said += f"{comma} but {denial}" if denial else self._excluding(exception, told.noun)
        return said

    def _denial(self, exception: Sequence[Clause | Choice], where: str, plural: bool) -> str:
        clause = exception[0]
        if len(exception) > 1 or not isinstance(clause, Clause) or not clause.deniable:
            return ""
        if where == "after":
            return clause.negated(plural)
        denied = clause.reduced_denial(plural)
        return f"not {denied}" if denied else ""

    def _excluding(self, exception: list[Clause | Choice], noun: Noun) -> str:
        return f", excluding {self.around('those', Told(noun.those, exception))}"


def coordinated(clauses: Sequence[Clause | Choice], plural: bool = True) -> str:
    """Verb phrases in a row; what follows a long one is set off from it."""
    said = [clause.finite(plural) for clause in clauses]
    if any(clause.long for clause in clauses[:-1]):
        return f"{', '.join(said[:-1])}, and also {said[-1]}"
    return listed(said)


def beside_noun(said: Sequence[str]) -> str:
    """What stands beside a noun: "directed by X and released in 1990", "based in X with ..."."""
    having = [words for words in said if words.startswith("with ")]
    others = [words for words in said if words not in having]
    return " ".join(part for part in (listed(others), listed(having)) if part)
