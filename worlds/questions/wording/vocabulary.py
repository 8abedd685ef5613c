"""The words that a schema and the names of entities give: nouns, verbs, kinds, values."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from branchwise.base.errors import InputError
from branchwise.kg.schema import Said, Schema
from branchwise.worlds.questions.moves import Types
from branchwise.worlds.questions.plans import Amount, Holds, Years
from branchwise.worlds.questions.wording.descriptions import (
    Constraint,
    Either,
    Meets,
    NamedEntity,
    Related,
)
from branchwise.worlds.questions.wording.phrases import (
    Verb,
    amount_in_words,
    listed,
    with_article,
    years_in_words,
)


class Plainest(Random):
    """A draw that always takes the first and the plainest."""

    def random(self) -> float:
        return 0.0


def now_and_then(often: float, random: Random) -> bool:
    """Whether to say it another way this time; never for `Plainest`."""
    return random.random() >= 1 - often


_HUMAN = "Q5"


@dataclass(frozen=True)
class Noun:
    """A noun in both numbers. `general`: it says nothing of the type, as "people".

    `plain`: both without kinds of it, by which it is mentioned again; by default the same.
    """

    plural: str
    singular: str
    of_people: bool = False
    general: bool = False
    plain: tuple[str, str] = ("", "")

    @property
    def bare(self) -> str:
        return self.plain[0] or self.plural

    @property
    def bare_singular(self) -> str:
        return self.plain[1] or self.singular

    @property
    def pronoun(self) -> str:
        return "who" if self.of_people else "that"

    def other_than(self, plurals: Sequence[str]) -> "Noun":
        """Without things that it could mean, too: companies (other than film studios)."""
        apart = f"(other than {listed(plurals)})"
        forms = f"{self.plural} {apart}", f"{self.singular} {apart}"
        return Noun(*forms, self.of_people, self.general, (self.bare, self.bare_singular))

    def one(self) -> str:
        return "someone" if self.general else with_article(self.singular)

    def any(self) -> str:
        return "anyone" if self.general else f"any {self.singular}"

    def the(self) -> str:
        return f"the {self.singular}"


def noun_of(types: Types, schema: Schema) -> Noun:
    """The noun of things of any of these types; people of several are called people."""
    people = all(_is_person(name, schema) for name in types)
    if people and len(types) > 1:
        return people_of(types, schema)
    kinds = [schema.types[name] for name in types]
    plural = listed([kind.plural for kind in kinds], "or")
    return Noun(plural, listed([kind.noun for kind in kinds], "or"), people)


def people_of(types: Types, schema: Schema) -> Noun:
    """The noun of what the types have in common, for people of any occupation."""
    parents = {schema.types[name].parent for name in types}
    if len(parents) == 1 and (parent := parents.pop()):
        return Noun(schema.types[parent].plural, schema.types[parent].noun, True, True)
    return Noun("people", "person", True, True)


def _is_person(type_name: str, schema: Schema) -> bool:
    return schema.resolved(type_name).class_id == _HUMAN


def of_kind(noun: Noun, said: Said, values: Sequence[str]) -> Noun:
    """The noun with kinds of it: horror films, horror or drama films, goalkeepers."""
    if "*" not in said.kind:
        plural = listed([said.kind.format(value) for value in values], "or")
        return Noun(plural, listed(values, "or"), noun.of_people)
    kinds = [value.removesuffix(f" {noun.singular}") for value in values]
    pattern = said.kind.format(listed(kinds, "or"))
    plural, singular = (pattern.replace("*", form) for form in (noun.plural, noun.singular))
    return Noun(plural, singular, noun.of_people, plain=(noun.plural, noun.singular))


_ANOTHER_OFTEN = 0.5
_BESIDE_OFTEN = 0.6
_BEGINNING = 5  # letters that two words have in common where one repeats the other

NameOf = Callable[[str], str]
"""Gives the name of an entity, by its number or IRI."""


class Vocabulary:
    """Words for relations and values; `random` chooses where a schema has several."""

    def __init__(self, schema: Schema, name: NameOf, random: Random) -> None:
        self._schema, self._name, self._random = schema, name, random

    def said(self, relation: str) -> Said:
        """How a relation is said. Raises InputError where the schema does not tell."""
        said = self._schema.relations[relation].said
        if said is None:
            raise InputError(
                f"the relation {relation!r} cannot be said in a question",
                remedy="declare it in the schema, under `said`",
            )
        return said

    def verbs(self, relation: str, of_subject: bool) -> list[Verb]:
        """The phrases of one side. Raises InputError where none of them has a verb."""
        said = self.said(relation)
        verbs = [Verb.read(phrase) for phrase in (said.subject if of_subject else said.object)]
        if not any(verb.base for verb in verbs):
            side = "subject" if of_subject else "object"
            raise InputError(
                f"the relation {relation!r} cannot be said of its {side}s",
                remedy=f"declare a phrase with a verb in the schema, under `said: {side}`",
            )
        return verbs

    def verb(self, relation: str, of_subject: bool, noun: Noun, last: bool = False) -> Verb:
        """A phrase with a verb that does not repeat the noun; `last`: nothing comes after {}."""
        fit = [verb for verb in self.verbs(relation, of_subject) if verb.base]
        if last:
            fit = [verb for verb in fit if not verb.after] or fit
        fit = [verb for verb in fit if not stutters(noun, verb)] or fit
        return self._random.choice(fit) if now_and_then(_ANOTHER_OFTEN, self._random) else fit[0]

    def beside(self, relation: str, of_subject: bool) -> Verb | None:
        """Now and then a phrase without a verb: "by {}"."""
        bare = [verb for verb in self.verbs(relation, of_subject) if not verb.base]
        often = now_and_then(_BESIDE_OFTEN, self._random)
        return self._random.choice(bare) if bare and often else None

    def swapped(self, part: Related) -> tuple[str, Verb] | None:
        """The name of the other side, and a verb for what that did: Mara Voss, directed."""
        if not isinstance(part.to, NamedEntity):
            return None
        verbs = self.said(part.relation)
        phrases = map(Verb.read, verbs.object if part.inverse else verbs.subject)
        fit = [verb for verb in phrases if verb.is_active and verb.is_bare]
        return (self.named(part), self._random.choice(fit)) if fit else None

    def named(self, part: Related) -> str:
        """The name of the other side, with "the" where all of its types are said so."""
        assert isinstance(part.to, NamedEntity)
        relation = self._schema.relations[part.relation]
        types = self._schema.objects(relation) if part.inverse else self._schema.subjects(relation)
        name = self._name(part.to.number)
        definite = all(self._schema.types[type_name].definite for type_name in types)
        return f"the {name}" if definite and not name.lower().startswith("the ") else name

    def value(self, part: Meets) -> str:
        """ "after 1990", "at least 300", or an item's words."""
        if isinstance(part.condition, Years):
            return years_in_words(part.condition)
        if isinstance(part.condition, Amount):
            return amount_in_words(part.condition)
        words = self.said(part.relation).words
        return words.get(part.condition.value) or self._name(part.condition.value)

    def statement(self, part: Meets) -> Verb | None:
        """What says that an item is stated, where its word alone would cover other items, too."""
        if not isinstance(part.condition, Holds):
            return None
        phrase = self.said(part.relation).stated.get(part.condition.value)
        return Verb.read(phrase) if phrase else None

    def kinds(self, part: Constraint) -> tuple[Said, list[str]] | None:
        """What makes a noun of its own, "horror films": how it is said, and the words; or None."""
        options = part.options if isinstance(part, Either) else ((part,),)
        alone = [option[0] for option in options if len(option) == 1]
        found = [p for p in alone if isinstance(p, Meets) and isinstance(p.condition, Holds)]
        if len(found) < len(options) or len({p.relation for p in found}) > 1:
            return None
        if any(map(self.statement, found)):
            return None
        said = self.said(found[0].relation)
        return (said, [self.value(p) for p in found]) if said.kind else None


def stutters(noun: Noun, verb: Verb) -> bool:
    """Whether noun and verb have the beginning of a word in common: directors directed."""
    words = re.findall(r"\w+", f"{verb.base} {verb.form} {verb.before}".lower())
    return any(_alike(one, other) for one in noun.plural.lower().split() for other in words)


def _alike(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= _BEGINNING and one[:_BEGINNING] == other[:_BEGINNING]
