"""From the parts of a description to clauses: what one verb can say together is said together."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, Protocol

from branchwise.corpora.synthesis.clauses import Choice, Clause, Point
from branchwise.corpora.synthesis.descriptions import (
    Description,
    Either,
    Except,
    Meets,
    Named,
    Part,
    Related,
)
from branchwise.corpora.synthesis.nouns import Noun, of_kind
from branchwise.corpora.synthesis.phrases import Verb, listed, with_article
from branchwise.corpora.synthesis.plans import Holds, Years
from branchwise.corpora.synthesis.vocabulary import Vocabulary

Conjunction = Literal["and", "or"]


class Sayer(Protocol):
    """Puts sets into words."""

    def members(self, part: Related, verb: Verb) -> str:
        """Some of those that a part relates to: "films by X", "at least three films by X"."""
        ...

    def none_of(self, part: Related) -> str:
        """The same after a denial: "any film by X"."""
        ...


class Predicates:
    """Makes clauses in the words of a vocabulary; `sayer` puts the sets in them into words."""

    def __init__(self, vocabulary: Vocabulary, sayer: Sayer) -> None:
        self._words, self._sayer = vocabulary, sayer

    def of(self, parts: Iterable[Part], noun: Noun) -> list[Point]:
        """The clauses of all parts but exceptions, short ones first."""
        made: list[Point] = []
        for group in self._grouped(parts):
            if isinstance(first := group[0], Either):
                made.append(self._either(first, noun))
            else:
                made.append(self._one_verb(group, "and", noun))
        return sorted(_with_years_in_place(made), key=lambda clause: clause.long)

    def _grouped(self, parts: Iterable[Part]) -> list[list[Part]]:
        groups: list[list[Part]] = []
        for part in parts:
            if isinstance(part, Except):
                continue
            found = next((group for group in groups if self.together(group[0], part)), None)
            if found is None:
                groups.append([part])
            else:
                found.append(part)
        return groups

    def together(self, one: Part, other: Part) -> bool:
        """Whether one verb can say both: played for both A and B."""
        if isinstance(one, Related) and isinstance(other, Related):
            verbs = self._words.verbs(one.relation, one.inverse)
            same = verbs == self._words.verbs(other.relation, other.inverse)
            return same and any(verb.base and not verb.after for verb in verbs)
        if isinstance(one, Meets) and isinstance(other, Meets):
            return one.relation == other.relation and not isinstance(one.condition, Holds)
        return False

    def _one_verb(self, parts: Sequence[Part], conjunction: Conjunction, noun: Noun) -> Clause:
        if related := [part for part in parts if isinstance(part, Related)]:
            return self._related(related, conjunction, noun)
        return self._meets([p for p in parts if isinstance(p, Meets)], conjunction, noun)

    def _either(self, part: Either, noun: Noun) -> Point:
        alone = [option[0] for option in part.options if len(option) == 1]
        if len(alone) == len(part.options) and all(self.together(alone[0], p) for p in alone):
            return self._one_verb(alone, "or", noun)
        options = [
            tuple(clause for clause in self.of(option, noun) if isinstance(clause, Clause))
            for option in part.options
        ]
        return Choice(tuple(sorted(options, key=lambda o: (any(c.long for c in o), len(o)))))

    def _related(self, parts: Sequence[Related], conjunction: Conjunction, noun: Noun) -> Clause:
        parts = sorted(parts, key=lambda part: not isinstance(part.to, Named))
        first, long = parts[0], any(isinstance(part.to, Description) for part in parts)
        last = long or len(parts) > 1
        verb = self._words.verb(first.relation, first.inverse, noun, last)
        if len(parts) > 1:
            other = self._joined(parts, conjunction, verb)
            deniable = conjunction == "or" and not long
            return Clause(replace(verb, preposition=""), other, long=long, deniable=deniable)
        named = isinstance(first.to, Named)
        return Clause(
            verb.of_one() if named else verb,
            self._other_side(first, verb),
            denied=self._denied(first),
            beside=self._words.beside(first.relation, first.inverse) if named else None,
            swapped=self._words.swapped(first),
            long=long,
            deniable=first.at_least == 1,
        )

    def none_of(self, parts: Sequence[Part], noun: Noun) -> list[Point]:
        """Clauses to deny, which hold for none: those that one verb can say, by one verb."""
        groups = self._grouped(parts)
        return [
            self._one_verb(group, "or", noun) if len(group) > 1 else self.of(group, noun)[0]
            for group in groups
        ]

    def without(self, part: Related, missing: Sequence[Related], noun: Noun) -> Clause | None:
        """Related to one but not to others, with one verb: played for A but not for B.

        None where it would not be clear what is denied.
        """
        verb = self._words.verb(part.relation, part.inverse, noun, last=True)
        if verb.after or (not isinstance(part.to, Named) and not verb.preposition):
            return None
        denied = listed([self._denied(other) for other in missing], "or")
        words = [
            verb.preposition,
            self._other_side(part, verb),
            "but not",
            verb.preposition,
            denied,
        ]
        other = " ".join(word for word in words if word)
        return Clause(replace(verb, preposition=""), other, long=True)

    def _joined(self, parts: Sequence[Related], conjunction: Conjunction, verb: Verb) -> str:
        others = [self._other_side(part, verb) for part in parts]
        both = "both " if conjunction == "and" and len(parts) == 2 else ""
        if all(isinstance(part.to, Named) for part in parts):
            return f"{verb.preposition} {both}{listed(others, conjunction)}".strip()
        repeated = [f"{verb.preposition} {other}".strip() for other in others]
        return both + listed(repeated, conjunction)

    def _other_side(self, part: Related, verb: Verb) -> str:
        named = isinstance(part.to, Named)
        return self._words.named(part) if named else self._sayer.members(part, verb)

    def _denied(self, part: Related) -> str:
        if isinstance(part.to, Named):
            return self._words.named(part)
        return self._sayer.none_of(part) if part.at_least == 1 else ""

    def _meets(self, parts: Sequence[Meets], conjunction: Conjunction, noun: Noun) -> Clause:
        relation, condition = parts[0].relation, parts[0].condition
        values = [self._words.value(part) for part in parts]
        said = self._words.said(relation)
        if said.kind and isinstance(condition, Holds):
            kind = of_kind(noun, said, values)
            either = f"[{kind.plural}|{with_article(kind.singular)}]"
            return Clause(Verb("be", "are", either, "", ""), "")
        verb = self._words.verb(relation, True, noun)
        deniable = isinstance(condition, Years | Holds) and len(parts) == 1
        return Clause(verb, listed(values, conjunction), deniable=deniable)


def _with_years_in_place(clauses: Sequence[Point]) -> list[Point]:
    """Years go with a short clause that has their verb: founded by X in 1990."""
    made = list(clauses)
    for years in clauses:
        if not isinstance(years, Clause) or years.verb.preposition or years.verb.after:
            continue
        for place, clause in enumerate(made):
            if isinstance(clause, Clause) and clause is not years and _takes(clause, years):
                made[place] = replace(
                    clause, other=f"{clause.other} {years.other}", beside=None, swapped=None
                )
                made.remove(years)
                break
    return made


def _takes(clause: Clause, years: Clause) -> bool:
    same = (clause.verb.form, clause.verb.before) == (years.verb.form, years.verb.before)
    return same and clause.verb.preposition != "" and not clause.verb.after and not clause.long
