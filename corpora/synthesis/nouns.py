"""What things are called: the noun of their types, and the kinds that go with it."""

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.corpora.schema import Said, Schema
from branchwise.corpora.synthesis.descriptions import Types
from branchwise.corpora.synthesis.phrases import listed, with_article

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

    def one(self) -> str:
        return "someone" if self.general else with_article(self.singular)

    def any(self) -> str:
        return "anyone" if self.general else f"any {self.singular}"

    def the(self) -> str:
        return f"the {self.singular}"


def noun_of(types: Types, schema: Schema) -> Noun:
    """The noun of things of any of these types; people of several are called people."""
    people = all(is_person(name, schema) for name in types)
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


def is_person(type_name: str, schema: Schema) -> bool:
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
