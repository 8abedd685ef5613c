"""What a knowledge graph holds: types, relations with their direction and cardinality, predicates.

A schema is declared in YAML (`worlds/domains/*.yaml` for worlds) and checked: every name it uses is
declared, every range is in order. Worlds are made from it and questions are planned over it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from branchwise.base.errors import InputError
from branchwise.base.files import first_problem, open_data

Range = tuple[int, int]
ValueKind = Literal["thing", "date", "number"]
TypeNames = Annotated[tuple[str, ...], BeforeValidator(lambda v: (v,) if isinstance(v, str) else v)]
ANY = "any"
FORMERLY = "formerly "
"""Begins the name of a relation to values that have ended: "formerly owner"."""
ENDED = " ended"
"""Ends what their statements are kept under: "P127 ended"."""


class _Declared(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class EntityType(_Declared):
    """A kind of entity. A type that `is` another has its class, its kind of names and its
    relations; what tells such types apart in the graph is their occupation."""

    noun: str
    plural: str
    class_id: str = Field("", alias="class", pattern=r"^(Q\d+)?$")
    parent: str = Field("", alias="is")
    occupation: str = Field("", pattern=r"^(Q\d+)?$")
    definite: bool = False  # its name is said with "the"
    covers: TypeNames = ()  # types that its noun means, too, to most readers: a label is a company
    # For making worlds only:
    name: str = ""  # the kind of names
    shares: str = ""  # the kind of names that entities of several types may share
    share: float = Field(0, ge=0)  # of all entities, as a weight
    at_least: int = Field(1, ge=1)
    at_most: int = Field(2**31, ge=1)
    years: Range = (0, 0)  # of birth, release, founding
    second: Mapping[str, int] = {}  # per cent that have another occupation too


class Said(_Declared):
    """How a relation is said in questions: what its subjects did, and what its objects did.

    A phrase is a verb and the rest, in the plural, with {} for the other side:

    * "were directed by {}", "are in {}", "have {} pages": of be and have as they stand;
    * "direct/directed {}": other verbs as infinitive/form (twice the same is the present tense);
    * "starring {}", "by {}": without a verb, beside another phrase that has one;
    * "are the capital[s] of {}", "have {} among [their|its] citizens": plural, plural|singular.

    For dates {} is "after 1990", for numbers "at least 300", for items the item's label. The first
    phrase is the plainest; the others are for variety. A side without a phrase is not asked for.
    """

    subject: TypeNames = ()
    object: TypeNames = ()
    # For items: "{} *" where a horror film is said, * is the noun; "{}s": goalkeepers.
    kind: str = ""
    words: Mapping[str, str] = {}  # items that are said otherwise than by their label
    # Items whose word, in a `kind`, would cover others, too: to most readers singers are musicians.
    # A phrase with a verb that says which statement is meant: "have the occupation musician".
    stated: Mapping[str, str] = {}


class Relation(_Declared):
    """A property between a subject type and what it may hold.

    The value is an entity (`object`), an item of a closed list (`items`), a `date`, or a `number`.
    `count` bounds the values of one subject; there are fewer if too few fit the era. `inverse`
    is the relation's name as seen from the object; without one it is told of the subject only.
    """

    property: str = Field(pattern=r"^P\d+$")
    label: str
    aliases: tuple[str, ...] = ()
    subject: TypeNames
    object: TypeNames = ()
    items: str = ""
    date: Literal["year"] | Range | None = None  # in the subject's year, or so many years after
    number: Range | None = None
    count: Range = (1, 1)
    inverse: str = ""
    predicates: tuple[Literal["date", "number", "award", "type"], ...] = ()
    source: Literal["", "class", "gender", "occupation"] = ""  # follows from the subject itself
    said: Said | None = None  # without it, no question is asked about the relation
    # Of a graph that has statements with an end time: how those are said ("were formerly owned by
    # {}"), and how present ones are, where `said` could mean either ("are signed to {}").
    said_former: Said | None = None
    said_now: Said | None = None
    ended: bool = False  # it holds where such a statement has ended, and no present one says so
    # For making worlds only:
    chance: int | Mapping[str, int] = 100  # per cent of subjects that have any (by type)
    even: bool = False  # all counts as likely as each other, instead of small ones likelier
    era: Range | Mapping[str, Range] | None = None  # subject's year less object's (by type)
    at: Literal["", "now"] = ""  # `era` and `time` count from the present
    evenly: bool = False  # objects as likely as each other, instead of a long tail
    cover: bool = False  # every object has at least one subject
    exclusive: bool = False  # no object has two subjects
    via: tuple[str, ...] = ()  # mostly the value at the end of these relations
    # A path of the subject and one of the object that end in the same entity, where possible.
    agree: tuple[tuple[str, ...], ...] = Field((), min_length=0, max_length=2)
    within: str = ""  # an object whose own value of this relation is the subject
    skew: bool = False  # small numbers likelier
    # A relation to the subject, and a number of those who have it: more than their sum.
    more_than: tuple[str, ...] = Field((), max_length=2)
    time: Range | None = None  # years from the subject's year to the statement's
    time_as: Literal["point", "start", "spells"] = "point"
    # Its value may have replaced another, so many years before the present or a person's death;
    # with a `time`, in that year.
    former: Range | None = None

    @model_validator(mode="after")
    def _one_kind_of_value(self) -> Self:
        kinds = (bool(self.object), bool(self.items), self.date is not None)
        if sum(kinds) + (self.number is not None) + (self.source == "class") != 1:
            raise ValueError("needs exactly one of object, items, date, number")
        return self

    @cached_property
    def value_kind(self) -> ValueKind:
        """The kind of its values: things are entities and items."""
        if self.date is not None:
            return "date"
        return "thing" if self.number is None else "number"

    def kept_as(self) -> str:
        """What its statements are kept under: its property; "P127 ended" for those that ended."""
        return self.property + ENDED if self.ended else self.property


class Domain(_Declared):
    types: dict[str, EntityType] = {}
    aliases: dict[str, tuple[str, ...]] = {}  # property -> what else it is called
    relations: dict[str, Relation] = {}
    items: dict[str, dict[str, str]] = {}
    since: dict[str, int] = {}  # for making worlds only: items that came up in some year


class Schema(Domain):
    """Types, relations and items of several domains together."""

    @cached_property
    def former(self) -> Mapping[str, Relation]:
        """By name ("formerly owner"), relations to values that have ended, where they can be said.
        A subject may have several such values, and an object several such subjects."""
        changed = {"said_former": None, "ended": True, "count": (1, 2), "exclusive": False}
        return {
            FORMERLY + name: relation.model_copy(update={**changed, "said": relation.said_former})
            for name, relation in self.relations.items()
            if relation.said_former
        }

    def with_former(self, names: Collection[str]) -> "Schema":
        """A schema with these relations of `former` beside its own; itself where there are none."""
        if not names:
            return self
        relations = {
            name: relation.model_copy(update={"said": relation.said_now or relation.said})
            for name, relation in self.relations.items()
        }
        relations |= {name: self.former[name] for name in names}
        return Schema(
            types=self.types,
            aliases=self.aliases,
            relations=relations,
            items=self.items,
            since=self.since,
        )

    def is_a(self, type_name: str, ancestor: str) -> bool:
        """Whether a type is another one, or descends from it."""
        return ancestor in (ANY, type_name) or (
            (parent := self.types[type_name].parent) != "" and self.is_a(parent, ancestor)
        )

    def resolved(self, name: str) -> EntityType:
        """A type with what it has from its parent filled in."""
        own = self.types[name]
        if not own.parent:
            return own
        parent = self.resolved(own.parent)
        fields = ("class_id", "name", "shares")
        inherited = {name: getattr(own, name) or getattr(parent, name) for name in fields}
        return own.model_copy(update=inherited)

    @cached_property
    def concrete(self) -> tuple[str, ...]:
        """The types that entities are of, in the order of their declaration."""
        parents = {kind.parent for kind in self.types.values()}
        return tuple(name for name in self.types if name not in parents)

    def subjects(self, relation: Relation) -> tuple[str, ...]:
        """The concrete types that may have the relation."""
        return self._concrete_among(relation.subject)

    def objects(self, relation: Relation) -> tuple[str, ...]:
        """The concrete types that its values may be of; none for items, dates and numbers."""
        return self._concrete_among(relation.object)

    @cached_property
    def ends(self) -> Mapping[str, tuple[frozenset[str], frozenset[str]]]:
        """By relation, classes of subjects and values: "Q5", "items:genre", "date", "number"."""

        def classes(names: tuple[str, ...]) -> frozenset[str]:
            types = [self.resolved(name) for name in names]
            return frozenset(kind.class_id or kind.occupation for kind in types)

        ends = {}
        for name, relation in self.relations.items():
            values = classes(self.objects(relation))
            if not relation.object:
                kind = relation.value_kind
                items = f"items:{relation.items or relation.source}"
                values = frozenset({items if kind == "thing" else kind})
            ends[name] = (classes(self.subjects(relation)), values)
        return ends

    def _concrete_among(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(t for t in self.concrete if any(self.is_a(t, name) for name in names))


def merge(domains: Mapping[str, Domain], keep: bool = False) -> Schema:
    """One schema of several domains, without what refers to types that are in none of them. `keep`:
    with that, too, for a check. Raises InputError where two declare the same name."""
    types: dict[str, EntityType] = {}
    aliases: dict[str, tuple[str, ...]] = {}
    relations: dict[str, Relation] = {}
    items: dict[str, dict[str, str]] = {}
    since: dict[str, int] = {}
    for name, domain in domains.items():
        twice = sorted(types.keys() & domain.types.keys())
        if twice := twice or sorted(relations.keys() & domain.relations.keys()):
            raise InputError(f"{twice[0]!r} is declared twice", where=name)
        types |= domain.types
        relations |= domain.relations
        since |= domain.since
        for number, names in domain.aliases.items():
            aliases[number] = (*aliases.get(number, ()), *names)
        for group, entries in domain.items.items():
            items[group] = items.get(group, {}) | entries
    if not keep:
        # Relations of which both sides are there, without the types that are not.
        for name, relation in list(relations.items()):
            subject = tuple(t for t in relation.subject if t in types or t == ANY)
            object = tuple(t for t in relation.object if t in types)
            del relations[name]
            if subject and bool(object) == bool(relation.object):
                update = {"subject": subject, "object": object}
                relations[name] = relation.model_copy(update=update)
        for name, kind in types.items():
            second = {other: share for other, share in kind.second.items() if other in types}
            covers = tuple(other for other in kind.covers if other in types)
            types[name] = kind.model_copy(update={"second": second, "covers": covers})
    return Schema(types=types, aliases=aliases, relations=relations, items=items, since=since)


def load_domain(path: Path) -> Domain:
    """One YAML file of a schema. Raises InputError, naming file and field."""
    import yaml

    try:
        with open_data(path) as stream:
            fields = yaml.safe_load(stream) or {}
        return Domain.model_validate(fields)
    except yaml.YAMLError as error:
        raise InputError(f"is not YAML ({str(error).splitlines()[0]})", where=str(path)) from None
    except RecursionError:
        raise InputError("is not YAML (nested too deeply)", where=str(path)) from None
    except ValidationError as error:
        raise InputError(first_problem(error), where=str(path)) from None
    except ValueError as error:  # a date such as 2026-13-45, a number of thousands of digits
        raise InputError(f"is not YAML ({error})", where=str(path)) from None


def check_types(schema: Schema) -> None:
    """Raises InputError for the first type, of any schema, that is named and not declared, or
    descends from itself. Merge with `keep`: what refers to no type would be left out else."""
    for name, kind in schema.types.items():
        for fault in _kinship_faults(schema, name, kind):
            raise InputError(fault, where=f"type {name!r}")
    known = schema.types.keys() | {ANY}
    for name, relation in schema.relations.items():
        for fault in _unknown("type", (*relation.subject, *relation.object), known):
            raise InputError(fault, where=f"relation {name!r}")


def check_schema(schema: Schema) -> None:
    """Raises InputError for the first fault, naming the type or relation that has it. For a whole
    schema: in a world of some domains only, names of the others are left out."""
    check_types(schema)
    for name, kind in schema.types.items():
        for fault in _type_faults(schema, kind):
            raise InputError(fault, where=f"type {name!r}")
    for kind_name in schema.concrete:
        if not schema.resolved(kind_name).class_id:
            raise InputError("has no class", where=f"type {kind_name!r}")
    for name, relation in schema.relations.items():
        for fault in _relation_faults(schema, relation):
            raise InputError(fault, where=f"relation {name!r}")


def _kinship_faults(schema: Schema, name: str, kind: EntityType) -> Iterator[str]:
    yield from _unknown("type", _given(kind.parent), schema.types)
    yield from _unknown("type", (*kind.second, *kind.covers), schema.types)
    line = [name]
    while (parent := schema.types[line[-1]].parent) in schema.types:
        if parent in line:
            yield f"it descends from itself ({' is '.join([*line, parent])})"
            return
        line.append(parent)


def _type_faults(schema: Schema, kind: EntityType) -> Iterator[str]:
    yield from _unknown("item of `class`", _given(kind.class_id), schema.items.get("class", {}))
    occupations = schema.items.get("occupation", {})
    yield from _unknown("item of `occupation`", _given(kind.occupation), occupations)
    if kind.years[0] > kind.years[1]:
        yield f"its years {list(kind.years)} run backwards"
    if kind.share and not kind.years[1]:
        yield "has a share, and no years"
    if kind.at_least > kind.at_most:
        yield "at_least is more than at_most"


def _relation_faults(schema: Schema, relation: Relation) -> Iterator[str]:
    types = schema.types.keys() | {ANY}
    by_type = [s for s in (relation.chance, relation.era) if isinstance(s, Mapping)]
    yield from _unknown("type", chain.from_iterable(by_type), types)
    if relation.items and not relation.source:
        yield from _unknown("list of items", [relation.items], schema.items)
    paths = (relation.via, _given(relation.within), *relation.agree, relation.more_than)
    yield from _unknown("relation", chain.from_iterable(paths), schema.relations)
    eras = relation.era.values() if isinstance(relation.era, Mapping) else [relation.era]
    date = None if relation.date == "year" else relation.date
    for name, bounds in (
        ("count", relation.count),
        ("number", relation.number),
        ("date", date),
        *(("era", era) for era in eras),
        ("time", None if relation.time_as == "spells" else relation.time),
        ("former", relation.former),
    ):
        if bounds and bounds[0] > bounds[1]:
            yield f"its {name} {list(bounds)} runs backwards"
    if relation.count[0] < 1:
        yield "its count begins below 1; say with `chance` that some have none"
    every = relation.chance.values() if isinstance(relation.chance, Mapping) else [relation.chance]
    if not all(0 <= chance <= 100 for chance in every):
        yield "its chance is not a percentage"
    if relation.former and relation.count != (1, 1):
        yield "has `former`, and may have several values"
    if relation.inverse and not relation.object:
        yield "has an inverse, and its values are not entities"


def _given(name: str) -> tuple[str, ...]:
    return (name,) if name else ()


def _unknown(noun: str, names: Iterable[str], known: Collection[str]) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"unknown {noun} {name!r}"
