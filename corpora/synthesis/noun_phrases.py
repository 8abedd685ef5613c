"""Noun phrases: a description in words, "horror films directed by Mara Voss that won an award"."""

from dataclasses import replace
from random import Random

from branchwise.corpora.schema import Schema
from branchwise.corpora.synthesis.clauses import Clause
from branchwise.corpora.synthesis.descriptions import (
    Description,
    Mentioned,
    Part,
    Related,
)
from branchwise.corpora.synthesis.nouns import Noun, noun_of, of_kind, people_of
from branchwise.corpora.synthesis.phrases import Verb, count_in_words
from branchwise.corpora.synthesis.predicates import Predicates
from branchwise.corpora.synthesis.told import Told, around
from branchwise.corpora.synthesis.variety import now_and_then
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
        number = count_in_words(part.at_least)
        or_more = now_and_then(_OR_MORE_OFTEN, self.random) or verb.preposition == "at"
        count = f"{number} or more" if or_more else f"at least {number}"
        if isinstance(part.to, Mentioned):
            return f"{count if part.at_least > 1 else 'any'} of {self._mentioned(part.to)}"
        assert isinstance(part.to, Description)
        if part.at_least > 1:
            return f"{count} {self.phrase(part.to)}"
        of_many = "[" in verb.before + verb.after
        one = now_and_then(_SINGULAR_OFTEN, self.random) and not of_many
        return self.phrase(part.to, "one" if one else "plural")

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
        swapped = now_and_then(_SWAPPED_OFTEN, self.random)
        return around(noun, told, number == "plural", swapped)

    def told(self, described: Description) -> Told:
        """The parts of a description in clauses, and the noun that fits them."""
        noun, rest = self._noun(described)
        told = self._predicates.told(rest, noun)
        verbs = [point.verb for point in told.points if isinstance(point, Clause)]
        if noun.of_people and any(stutters(noun, verb) for verb in verbs):
            return replace(told, noun=people_of(described.types, self._schema))
        return told

    def _noun(self, described: Description) -> tuple[Noun, list[Part]]:
        """The noun with the first kind of it, and the parts that this leaves to say."""
        noun = noun_of(described.types, self._schema)
        for part in described.parts:
            if kinds := self._words.kinds(part):
                return of_kind(noun, *kinds), [p for p in described.parts if p is not part]
        return noun, list(described.parts)
