"""Descriptions in words: "horror films directed by Mara Voss that won an award".

The parts become clauses, and what one verb can say together is said together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Literal

from branchwise.kg.schema import Schema
from branchwise.worlds.questions.plans import Amount, Holds, Years
from branchwise.worlds.questions.wording.clauses import (
    Clause,
    Disjunction,
    NounPhrase,
    Predication,
    around,
    with_years_in_place,
)
from branchwise.worlds.questions.wording.descriptions import (
    Constraint,
    Description,
    Either,
    Except,
    Meets,
    Mentioned,
    NamedEntity,
    Related,
    covered,
    is_single,
)
from branchwise.worlds.questions.wording.vocabulary import (
    NameOf,
    Noun,
    Verb,
    Vocabulary,
    count_in_words,
    listed,
    noun_of,
    now_and_then,
    of_kind,
    people_of,
    stutters,
    with_article,
)

_Conjunction = Literal["and", "or"]


class _Predicates:
    """Makes clauses in the words of a vocabulary; `phrases` puts the sets in them into words."""

    def __init__(self, vocabulary: Vocabulary, phrases: "NounPhrases") -> None:
        self._words, self._phrases = vocabulary, phrases

    def noun_phrase(self, parts: Sequence[Constraint], noun: Noun) -> NounPhrase:
        positive = [part for part in parts if not isinstance(part, Except)]
        exceptions = [part for part in parts if isinstance(part, Except)]
        denied = [part.parts[0] for part in exceptions if part.is_plain]
        predicates, denied = self._with_one_verb(positive, denied, noun)
        excluded = [self.noun_phrase(part.parts, noun) for part in exceptions if not part.is_plain]
        denials = [self._one_verb(group, "or", noun) for group in self._grouped(denied)]
        return NounPhrase(noun, tuple(predicates), tuple(denials), tuple(excluded))

    def _predicates_of(self, parts: Iterable[Constraint], noun: Noun) -> list[Predication]:
        made: list[Predication] = []
        for group in self._grouped(parts):
            if isinstance(first := group[0], Either):
                made.append(self._either(first, noun))
            else:
                made.append(self._one_verb(group, "and", noun))
        return sorted(with_years_in_place(made), key=lambda predicate: predicate.long)

    def _with_one_verb(
        self, positive: Sequence[Constraint], denied: Sequence[Constraint], noun: Noun
    ) -> tuple[list[Predication], list[Constraint]]:
        """The predicates, one of which may take what is denied with its verb; what that leaves."""
        for kept in positive:
            missing = [p for p in denied if isinstance(p, Related) and self._together(kept, p)]
            alike = [part for part in positive if self._together(kept, part)]
            if not missing or len(alike) > 1 or not isinstance(kept, Related):
                continue
            if (clause := self._without(kept, missing, noun)) is not None:
                rest = self._predicates_of([part for part in positive if part is not kept], noun)
                return [*rest, clause], [part for part in denied if part not in missing]
        return self._predicates_of(positive, noun), list(denied)

    def _grouped(self, parts: Iterable[Constraint]) -> list[list[Constraint]]:
        groups: list[list[Constraint]] = []
        for part in parts:
            fitting = (group for group in groups if self._together(group[0], part))
            if (group := next(fitting, None)) is not None:
                group.append(part)
            else:
                groups.append([part])
        return groups

    def _together(self, first: Constraint, second: Constraint) -> bool:
        """Whether one verb can say both: played for both A and B."""
        if isinstance(first, Related) and isinstance(second, Related):
            verbs = self._words.verbs(first.relation, first.inverse)
            same = verbs == self._words.verbs(second.relation, second.inverse)
            return same and any(verb.base and not verb.after for verb in verbs)
        if isinstance(first, Meets) and isinstance(second, Meets):
            return first.relation == second.relation and not isinstance(first.condition, Holds)
        return False

    def _one_verb(self, parts: Sequence[Constraint], word: _Conjunction, noun: Noun) -> Clause:
        if related := [part for part in parts if isinstance(part, Related)]:
            return self._related(related, word, noun)
        return self._meets([p for p in parts if isinstance(p, Meets)], word, noun)

    def _either(self, part: Either, noun: Noun) -> Predication:
        singles = [option[0] for option in part.options if len(option) == 1]
        simple = [p for p in singles if isinstance(p, Related | Meets)]
        clauses = [self._one_verb(group, "or", noun) for group in self._grouped(simple)]
        options = [NounPhrase(noun, (clause,)) for clause in clauses]
        if len(simple) == len(part.options) and len(options) == 1:
            return options[0].predicates[0]
        several = [option for option in part.options if len(option) > 1 or option[0] not in simple]
        options += [self.noun_phrase(option, noun) for option in several]
        return Disjunction(tuple(sorted(options, key=lambda o: (o.long, o.single is None))))

    def _related(self, parts: Sequence[Related], conjunction: _Conjunction, noun: Noun) -> Clause:
        parts = sorted(parts, key=lambda part: not isinstance(part.to, NamedEntity))
        first, long = parts[0], not all(isinstance(part.to, NamedEntity) for part in parts)
        last = long or len(parts) > 1
        verb = self._words.verb(first.relation, first.inverse, noun, last)
        if len(parts) > 1:
            other = self._joined(parts, conjunction, verb)
            deniable = conjunction == "or" and not long
            return Clause(replace(verb, preposition=""), other, long=long, deniable=deniable)
        named = isinstance(first.to, NamedEntity)
        before = verb.before
        if self._phrases.is_one(first):  # the birthplace of X, not birthplaces
            before = before.replace("[s]", "")
        return Clause(
            replace(verb, before=before),
            self._other_side(first, verb),
            denied=self._denied(first),
            beside=self._words.beside(first.relation, first.inverse) if named else None,
            swapped=self._words.swapped(first),
            long=long,
            deniable=first.at_least == 1,
            alone=verb.base == "have",
        )

    def _without(self, part: Related, missing: Sequence[Related], noun: Noun) -> Clause | None:
        """Played for A but not for B, with one verb; None where it is not clear what is denied."""
        verb = self._words.verb(part.relation, part.inverse, noun, last=True)
        if verb.after or (not isinstance(part.to, NamedEntity) and not verb.preposition):
            return None
        denied = listed([self._denied(other) for other in missing], "or")
        sides = (self._other_side(part, verb), denied)
        kept, left = (f"{verb.preposition} {side}".strip() for side in sides)
        several = isinstance(part.to, Description) and len(part.to.parts) > 1
        other = f"{kept}{',' if several else ''} but not {left}"
        return Clause(replace(verb, preposition=""), other, long=True)

    def _joined(self, parts: Sequence[Related], conjunction: _Conjunction, verb: Verb) -> str:
        """The other sides. "Both" is said of two names alone: elsewhere one thing may be both."""
        others = [self._other_side(part, verb) for part in parts]
        if all(isinstance(part.to, NamedEntity) for part in parts):
            both = "both " if conjunction == "and" and len(parts) == 2 else ""
            return f"{verb.preposition} {both}{listed(others, conjunction)}".strip()
        repeated = [f"{verb.preposition} {other}".strip() for other in others]
        if conjunction == "or":
            return listed(repeated, conjunction)
        return f"{', '.join(repeated[:-1])}, and also {repeated[-1]} (possibly the same)"

    def _other_side(self, part: Related, verb: Verb) -> str:
        named = isinstance(part.to, NamedEntity)
        return self._words.named(part) if named else self._phrases.members(part, verb)

    def _denied(self, part: Related) -> str:
        """After a denial: "any film by X"."""
        if isinstance(part.to, NamedEntity):
            return self._words.named(part)
        return self._phrases.none_of(part) if part.at_least == 1 else ""

    def _meets(self, parts: Sequence[Meets], conjunction: _Conjunction, noun: Noun) -> Clause:
        relation, condition = parts[0].relation, parts[0].condition
        values = [self._words.value(part) for part in parts]
        words = self._words.said(relation)
        if statement := self._words.statement(parts[0]):
            return Clause(statement, "", alone=statement.base == "have")
        if words.kind and isinstance(condition, Holds):
            kind = of_kind(noun, words, values)
            either = f"[{kind.plural}|{with_article(kind.singular)}]"
            return Clause(Verb("be", "are", either, "", ""), "")
        verb = self._words.verb(relation, True, noun)
        deniable = isinstance(condition, Years | Holds) and len(parts) == 1
        alone = isinstance(condition, Amount) or verb.base == "have"
        return Clause(verb, listed(values, conjunction), deniable=deniable, alone=alone)


_SWAPPED_OFTEN = 0.4
_SINGULAR_OFTEN = 0.3
_OR_MORE_OFTEN = 0.3


class NounPhrases:
    """Noun phrases in words that `random` chooses."""

    def __init__(self, schema: Schema, name: NameOf, random: Random) -> None:
        self._schema, self.random = schema, random
        self._words = Vocabulary(schema, name, random)
        self._predicates = _Predicates(self._words, self)
        self._nouns: dict[Description, Noun] = {}

    def members(self, part: Related, verb: Verb) -> str:
        """Some of a set: "films by X", "a film by X", "at least three films by X"."""
        number = count_in_words(part.at_least)
        or_more = now_and_then(_OR_MORE_OFTEN, self.random) or verb.preposition == "at"
        count = f"{number} or more" if or_more else f"at least {number}"
        if isinstance(part.to, Mentioned):
            some = count if part.at_least > 1 else "any"
            return self._mentioned(part.to, some)
        assert isinstance(part.to, Description)
        if self.is_one(part):
            return self.the(part.to)
        if part.at_least > 1:
            return f"{count} {self.phrase(part.to, within=part)}"
        of_many = "[" in verb.before + verb.after
        singular = now_and_then(_SINGULAR_OFTEN, self.random) and not of_many
        return self.phrase(part.to, "one" if singular else "plural", part)

    def none_of(self, part: Related) -> str:
        if isinstance(part.to, Mentioned):
            return self._mentioned(part.to, "any")
        assert isinstance(part.to, Description)
        return self.the(part.to) if self.is_one(part) else self.phrase(part.to, "any", part)

    def is_one(self, part: Related) -> bool:
        """Whether a part relates to one thing at most: by its name, or to the city of a birth."""
        if isinstance(part.to, Mentioned):
            return part.to.number is None and is_single(part.to.description, self._schema)
        return isinstance(part.to, NamedEntity) or is_single(part.to, self._schema)

    def _mentioned(self, set_: Mentioned, some: str) -> str:
        """ "any of these films", "any of 2"; "this city" where there is only one."""
        if set_.number is not None:
            return f"{some} of {set_.number}"
        described = set_.description
        noun = self._nouns.get(described) or noun_of(described.types, self._schema)
        single = is_single(described, self._schema)
        return f"this {noun.bare_singular}" if single else f"{some} of these {noun.bare}"

    def the(self, described: Description) -> str:
        """All of a set: "the films by X", "the city that is the birthplace of X"."""
        if is_single(described, self._schema):
            return self.phrase(described, "the")
        return f"the {self.phrase(described)}"

    def phrase(
        self, described: Description, number: str = "plural", within: Related | None = None
    ) -> str:
        """The noun and all that is said of it. `number`: plural, one ("a film"), any, or the."""
        phrase = self.structure(described, within)
        self._nouns[described] = phrase.noun
        noun = phrase.noun.plural if number == "plural" else getattr(phrase.noun, number)()
        swapped = now_and_then(_SWAPPED_OFTEN, self.random)
        return around(noun, phrase, number == "plural", swapped)

    def structure(self, described: Description, within: Related | None = None) -> NounPhrase:
        """The parts of a description in clauses, and the noun that fits them."""
        noun, rest = self._noun(described)
        phrase = self._predicates.noun_phrase(rest, noun)
        if others := covered(described, self._schema, within):
            apart = noun.other_than([self._schema.types[name].plural for name in others])
            return replace(phrase, noun=apart)
        verbs = [predicate.verb for predicate in phrase.predicates if isinstance(predicate, Clause)]
        if noun.of_people and any(stutters(noun, verb) for verb in verbs):
            return replace(phrase, noun=people_of(described.types, self._schema))
        return phrase

    def _noun(self, described: Description) -> tuple[Noun, list[Constraint]]:
        noun = noun_of(described.types, self._schema)
        for part in described.parts:
            if kinds := self._words.kinds(part):
                return of_kind(noun, *kinds), [p for p in described.parts if p is not part]
        return noun, list(described.parts)
