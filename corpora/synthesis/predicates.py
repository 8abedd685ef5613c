"""From the parts of a description to clauses: what one verb can say together is said together."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, Protocol

from branchwise.corpora.synthesis.clauses import Clause
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
from branchwise.corpora.synthesis.plans import Amount, Holds, Years
from branchwise.corpora.synthesis.told import Choice, Point, Told, with_years_in_place
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

    def is_one(self, part: Related) -> bool:
        """Whether a part relates to one thing at most."""
        ...


class Predicates:
    """Makes clauses in the words of a vocabulary; `sayer` puts the sets in them into words."""

    def __init__(self, vocabulary: Vocabulary, sayer: Sayer) -> None:
        self._words, self._sayer = vocabulary, sayer

    def told(self, parts: Sequence[Part], noun: Noun) -> Told:
        """What parts say: in clauses, denials, and exceptions of several parts."""
        positive = [part for part in parts if not isinstance(part, Except)]
        exceptions = [part for part in parts if isinstance(part, Except)]
        denied = [part.parts[0] for part in exceptions if part.is_plain]
        points, denied = self._with_one_verb(positive, denied, noun)
        excluded = [self.told(part.parts, noun) for part in exceptions if not part.is_plain]
        denials = [self._denial(group, noun) for group in self._grouped(denied)]
        return Told(noun, tuple(points), tuple(denials), tuple(excluded))

    def _points(self, parts: Iterable[Part], noun: Noun) -> list[Point]:
        """Clauses and choices, short ones first."""
        made: list[Point] = []
        for group in self._grouped(parts):
            if isinstance(first := group[0], Either):
                made.append(self._either(first, noun))
            else:
                made.append(self._one_verb(group, "and", noun))
        return sorted(with_years_in_place(made), key=lambda point: point.long)

    def _with_one_verb(
        self, positive: Sequence[Part], denied: Sequence[Part], noun: Noun
    ) -> tuple[list[Point], list[Part]]:
        """The points, one of which may take what is denied with its verb; what that leaves."""
        for kept in positive:
            missing = [p for p in denied if isinstance(p, Related) and self._together(kept, p)]
            alike = [part for part in positive if self._together(kept, part)]
            if not missing or len(alike) > 1 or not isinstance(kept, Related):
                continue
            if (clause := self._without(kept, missing, noun)) is not None:
                rest = self._points([part for part in positive if part is not kept], noun)
                return [*rest, clause], [part for part in denied if part not in missing]
        return self._points(positive, noun), list(denied)

    def _denial(self, parts: Sequence[Part], noun: Noun) -> Clause:
        return self._one_verb(parts, "or", noun)

    def _grouped(self, parts: Iterable[Part]) -> list[list[Part]]:
        groups: list[list[Part]] = []
        for part in parts:
            found = next((group for group in groups if self._together(group[0], part)), None)
            if found is None:
                groups.append([part])
            else:
                found.append(part)
        return groups

    def _together(self, one: Part, other: Part) -> bool:
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
        singles = [option[0] for option in part.options if len(option) == 1]
        simple = [p for p in singles if isinstance(p, Related | Meets)]
        options = [
            Told(noun, (self._one_verb(group, "or", noun),)) for group in self._grouped(simple)
        ]
        if len(simple) == len(part.options) and len(options) == 1:
            return options[0].points[0]
        several = [option for option in part.options if len(option) > 1 or option[0] not in simple]
        options += [self.told(option, noun) for option in several]
        return Choice(tuple(sorted(options, key=lambda o: (o.long, o.single is None))))

    def _related(self, parts: Sequence[Related], conjunction: Conjunction, noun: Noun) -> Clause:
        parts = sorted(parts, key=lambda part: not isinstance(part.to, Named))
        first, long = parts[0], not all(isinstance(part.to, Named) for part in parts)
        last = long or len(parts) > 1
        verb = self._words.verb(first.relation, first.inverse, noun, last)
        if len(parts) > 1:
            other = self._joined(parts, conjunction, verb)
            deniable = conjunction == "or" and not long
            return Clause(replace(verb, preposition=""), other, long=long, deniable=deniable)
        named = isinstance(first.to, Named)
        return Clause(
            verb.of_one() if self._sayer.is_one(first) else verb,
            self._other_side(first, verb),
            denied=self._denied(first),
            beside=self._words.beside(first.relation, first.inverse) if named else None,
            swapped=self._words.swapped(first),
            long=long,
            deniable=first.at_least == 1,
            alone=verb.base == "have",
        )

    def _without(self, part: Related, missing: Sequence[Related], noun: Noun) -> Clause | None:
        """Related to one but not to others, with one verb: played for A but not for B.

        None where it would not be clear what is denied.
        """
        verb = self._words.verb(part.relation, part.inverse, noun, last=True)
        if verb.after or (not isinstance(part.to, Named) and not verb.preposition):
            return None
        denied = listed([self._denied(other) for other in missing], "or")
        sides = (self._other_side(part, verb), denied)
        kept, left = (f"{verb.preposition} {side}".strip() for side in sides)
        several = isinstance(part.to, Description) and len(part.to.parts) > 1
        other = f"{kept}{',' if several else ''} but not {left}"
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
        alone = isinstance(condition, Amount) or verb.base == "have"
        return Clause(verb, listed(values, conjunction), deniable=deniable, alone=alone)
