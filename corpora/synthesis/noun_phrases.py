"""Noun phrases: a description in words, "horror films directed by Mara Voss that won an award"."""

from collections.abc import Sequence
from random import Random

from branchwise.corpora.schema import Schema
from branchwise.corpora.synthesis.clauses import Clause
from branchwise.corpora.synthesis.descriptions import (
    Description,
    Except,
    Mentioned,
    Part,
    Related,
)
from branchwise.corpora.synthesis.nouns import Noun, noun_of, of_kind, people_of
from branchwise.corpora.synthesis.phrases import Verb, count_in_words
from branchwise.corpora.synthesis.predicates import Predicates
from branchwise.corpora.synthesis.told import Told, around
from branchwise.corpora.synthesis.vocabulary import Name, Vocabulary, stutters

_SWAPPED_OFTEN = 0.4
_SINGULAR_OFTEN = 0.3
_OR_MORE_OFTEN = 0.3


class NounPhrases:
    """Noun phrases in words that `random` chooses."""

    def __init__(self, schema: Schema, name: Name, random: Random) -> None:
        self._schema, self.random = schema, random
        self._words = Vocabulary(schema, name, random)
        self._predicates = Predicates(self._words, self)
        self._nouns: dict[Description, Noun] = {}

    def members(self, part: Related, verb: Verb) -> str:
        """Some of a set: "films by X", "a film by X", "at least three films by X"."""
        count = f"at least {count_in_words(part.at_least)}"
        if isinstance(part.to, Mentioned):
            return f"{count if part.at_least > 1 else 'any'} of {self._mentioned(part.to)}"
        assert isinstance(part.to, Description)
        often = self.random.random()
        if part.at_least > 1:
            if often < _OR_MORE_OFTEN or verb.preposition == "at":
                count = f"{count_in_words(part.at_least)} or more"
            return f"{count} {self.phrase(part.to)}"
        of_many = "[" in verb.before + verb.after
        return self.phrase(part.to, "one" if often < _SINGULAR_OFTEN and not of_many else "plural")

    def none_of(self, part: Related) -> str:
        """After a denial: "any film by X"."""
        if isinstance(part.to, Mentioned):
            return f"any of {self._mentioned(part.to)}"
        assert isinstance(part.to, Description)
        return self.phrase(part.to, "any")

    def _mentioned(self, set_: Mentioned) -> str:
        if set_.number is not None:
            return str(set_.number)
        known = self._nouns.get(set_.description)
        return f"these {(known or noun_of(set_.description.types, self._schema)).bare}"

    def phrase(self, described: Description, number: str = "plural") -> str:
        """The noun and all that is said of it; `number`: plural, one ("a film"), or any."""
        told = self.told(described)
        self._nouns[described] = told.noun
        noun = {"one": told.noun.one, "any": told.noun.any}.get(number, lambda: told.noun.plural)()
        swapped = self.random.random() < _SWAPPED_OFTEN
        return around(noun, told, number == "plural", swapped)

    def told(self, described: Description) -> Told:
        """The parts of a description in clauses, and the noun that fits them."""
        noun, rest = self._noun(described)
        positive = [part for part in rest if not isinstance(part, Except)]
        clauses = self._predicates.of(positive, noun)
        verbs = [clause.verb for clause in clauses if isinstance(clause, Clause)]
        if noun.of_people and any(stutters(noun, verb) for verb in verbs):
            noun = people_of(described.types, self._schema)
        told = Told(noun, clauses)
        exceptions = [part for part in rest if isinstance(part, Except)]
        plain = [part.parts[0] for part in exceptions if part.is_plain]
        plain = self._with_one_verb(plain, positive, told)
        told.exceptions = [[clause] for clause in self._predicates.none_of(plain, noun)]
        counted = [part for part in exceptions if not part.is_plain]
        told.exceptions += [self._predicates.of(part.parts, noun) for part in counted]
        return told

    def _noun(self, described: Description) -> tuple[Noun, list[Part]]:
        """The noun with the first kind of it, and the parts that this leaves to say."""
        noun = noun_of(described.types, self._schema)
        for part in described.parts:
            if kinds := self._words.kinds(part):
                return of_kind(noun, *kinds), [p for p in described.parts if p is not part]
        return noun, list(described.parts)

    def _with_one_verb(
        self, denied: Sequence[Part], positive: Sequence[Part], told: Told
    ) -> list[Part]:
        """Says what is denied with the one clause that has its verb; returns what this leaves."""
        for kept in positive:
            same = [p for p in denied if self._predicates.together(kept, p)]
            alike = [p for p in positive if self._predicates.together(kept, p)]
            missing = [p for p in same if isinstance(p, Related)]
            if not missing or len(alike) > 1 or not isinstance(kept, Related):
                continue
            if (clause := self._predicates.without(kept, missing, told.noun)) is not None:
                rest = self._predicates.of([p for p in positive if p is not kept], told.noun)
                told.clauses = [*rest, clause]
                return [p for p in denied if p not in missing]
        return list(denied)
