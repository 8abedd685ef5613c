"""Noun phrases: a description in words, "horror films directed by Mara Voss that won an award"."""

from dataclasses import replace
from random import Random

from branchwise.corpora.schema import Schema
from branchwise.corpora.synthesis.clauses import Clause
from branchwise.corpora.synthesis.descriptions import (
    Description,
    Mentioned,
    Named,
    Part,
    Related,
    is_single,
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
            some = count if part.at_least > 1 else "any"
            return self._mentioned(part.to, some)
        assert isinstance(part.to, Description)
        if self.is_one(part):
            return self.the(part.to)
        if part.at_least > 1:
            return f"{count} {self.phrase(part.to)}"
        of_many = "[" in verb.before + verb.after
        one = now_and_then(_SINGULAR_OFTEN, self.random) and not of_many
        return self.phrase(part.to, "one" if one else "plural")

    def none_of(self, part: Related) -> str:
        """After a denial: "any film by X"."""
        if isinstance(part.to, Mentioned):
            return self._mentioned(part.to, "any")
        assert isinstance(part.to, Description)
        return self.the(part.to) if self.is_one(part) else self.phrase(part.to, "any")

    def is_one(self, part: Related) -> bool:
        """Whether a part relates to one thing at most: by its name, or to the city of a birth."""
        if isinstance(part.to, Mentioned):
            return part.to.number is None and is_single(part.to.description, self._schema)
        return isinstance(part.to, Named) or is_single(part.to, self._schema)

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

    def phrase(self, described: Description, number: str = "plural") -> str:
        """The noun and all that is said of it; `number`: plural, one ("a film"), any, or the."""
        told = self.told(described)
        self._nouns[described] = told.noun
        noun = told.noun.plural if number == "plural" else getattr(told.noun, number)()
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
