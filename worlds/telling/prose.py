"""What templates say: a world's prose, read from YAML files and checked against the facts to tell.
docs/worlds.md explains templates. No grammar library knows which facts a sentence tells, what is
still untold, and whom a pronoun means.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import first_problem
from branchwise.kg.schema import ANY, Relation, Schema
from branchwise.worlds.domains import world_schema

MAX_VARIANTS = 64
_MARKS = "[]{}|"


class Placeholder(NamedTuple):
    """`{name}`, `{name.form}`, `{name:1}` or `{name#one|many}`."""

    name: str
    form: str = ""


@dataclass(frozen=True)
class Alternatives:
    """Alternatives, one of which is chosen at random."""

    options: tuple["Sequence", ...]


TemplatePart = str | Placeholder | Alternatives
Sequence = tuple[TemplatePart, ...]


def parse(template: str) -> Sequence:
    """The parts of a template. Raises InputError if brackets do not match."""
    parts, end = _sequence(template, 0, inside=False)
    if end != len(template):
        raise InputError(f"unexpected {template[end]!r}", where=template)
    return parts


def _sequence(text: str, at: int, inside: bool) -> tuple[Sequence, int]:
    parts: list[TemplatePart] = []
    while at < len(text):
        character = text[at]
        if character == "[":
            options: list[Sequence] = []
            while text[at] != "]":
                option, at = _sequence(text, at + 1, inside=True)
                options.append(option)
            parts.append(Alternatives(tuple(options)))
            at += 1
        elif character == "{":
            end = text.find("}", at)
            if end < 0:
                raise InputError("a { is not closed", where=text)
            body = text[at + 1 : end]
            name = re.split("[.:#]", body, maxsplit=1)[0]
            parts.append(Placeholder(name, body[len(name) :]))
            at = end + 1
        elif character in _MARKS:
            if inside and character in "]|":
                return tuple(parts), at
            raise InputError(f"unexpected {character!r} at column {at + 1}", where=text)
        else:
            end = min((n for mark in _MARKS if (n := text.find(mark, at)) >= 0), default=len(text))
            parts.append(text[at:end])
            at = end
    if inside:
        raise InputError("a [ is not closed", where=text)
    return tuple(parts), at


def variants(sequence: Sequence, facts: frozenset[str]) -> list[Sequence]:
    """The template once for each way in which it names facts. Alternatives without facts stay
    choices, so that they cost nothing. Raises InputError for more than `MAX_VARIANTS`."""
    expanded = _expanded(sequence, facts)
    if len(expanded) > MAX_VARIANTS:
        raise InputError(f"has {len(expanded)} variants, at most {MAX_VARIANTS} are kept")
    return expanded


def _expanded(sequence: Sequence, facts: frozenset[str]) -> list[Sequence]:
    choices: list[list[Sequence]] = []
    for part in sequence:
        if isinstance(part, Alternatives) and names_fact(part, facts):
            choices.append([v for option in part.options for v in _expanded(option, facts)])
        else:
            choices.append([(part,)])
    return [tuple(part for chosen in row for part in chosen) for row in product(*choices)]


def names_fact(part: TemplatePart, facts: frozenset[str]) -> bool:
    if isinstance(part, Alternatives):
        return any(names_fact(inner, facts) for option in part.options for inner in option)
    return isinstance(part, Placeholder) and part.name in facts


FOLDER = Path(__file__).parents[1] / "prose"
ALIAS = "alias"
UNTOLD = ("instance_of", "gender")
"""Facts that every lead tells: the kind in its words, the gender by its pronouns."""

_WORDS = "s o n s's they them their themself name a other role hint stray beside then since"
SPOKEN = frozenset(_WORDS.split())
"""Slots that are not facts."""

FORMS = ("", ":1", ".date", ".year", ".adj")


class Wording(BaseModel):
    """One type's section of a prose file, as it is written."""

    model_config = ConfigDict(extra="forbid")

    description: list[str] = []
    title: str = ""
    hint: str = ""
    subject: list[str] = []
    first: list[str] = []
    last: list[str] = []
    lead: list[str] = []
    plain: list[str] = []
    tell: list[str] = []
    asides: list[str] = []
    identify: list[str] = []
    clause: list[str] = []
    carry: list[str] = []
    former: list[str] = []
    dated: list[str] = []
    since: list[str] = []
    retold: dict[str, str] = {}
    frames: dict[str, str] = {}

    def joined(self, other: "Wording") -> "Wording":
        """Both, this one first; what is chosen rather than added up is this one's, if it has it."""
        chosen = ("description", "title", "hint", "subject", "lead", "plain", "retold", "frames")
        fields = {
            name: (mine or theirs) if name in chosen else mine + theirs
            for name in Wording.model_fields
            for mine, theirs in [(getattr(self, name), getattr(other, name))]
        }
        return Wording(**fields)


class Variant(NamedTuple):
    """A sentence with the facts that it tells.

    `tells`: slots with the bit of their fact, and whether one value of it is told, or up to five.
    `needs`: bits that must be untold; `mentions`: those that the entity must have, told or not;
    `several`: those with two values at least. `others`: a following pronoun could mean another.
    """

    parts: Sequence
    tells: tuple[tuple[Placeholder, int, bool], ...]
    needs: int
    mentions: int
    several: tuple[int, ...]
    others: bool


class Source(NamedTuple):
    """Where a part of an article is told again: the title, what the source says of itself, and the
    facts that either names."""

    title: Sequence
    frame: Variant
    facts: frozenset[str]


@dataclass(frozen=True)
class TypeProse:
    """How entities of a type are told. `bits`: of each fact. `title`: tells a shared name apart in
    brackets, `hint` in words; `apart`: the bits of the facts that either names."""

    bits: Mapping[str, int]
    leads: tuple[Variant, ...]
    tells: tuple[Variant, ...]
    asides: tuple[Variant, ...]
    subject: tuple[str, ...]
    title: Sequence
    hint: Sequence
    apart: int
    identify: tuple[Variant, ...]
    clauses: Mapping[str, tuple[Variant, ...]]
    carry: tuple[Variant, ...]
    plain_leads: tuple[Variant, ...]
    sources: tuple[Source, ...]
    former: Mapping[str, tuple[Variant, ...]]
    dated: tuple[Sequence, ...]
    since: tuple[Variant, ...]
    description: tuple[Sequence, ...]
    is_person: bool


@cache
def _files() -> dict[str, dict[str, Wording]]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files: dict[str, dict[str, Wording]] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        try:
            sections = yaml.load(path.read_bytes(), Loader=loader) or {}  # noqa: S506 - a safe one
            read = Wording.model_validate
            files[path.name] = {name: read(fields or {}) for name, fields in sections.items()}
        except yaml.YAMLError as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"is not YAML ({reason})", where=str(path)) from None
        except ValidationError as error:
            raise InputError(first_problem(error), where=str(path)) from None
    return files


def wording_of(schema: Schema, type_name: str) -> Wording:
    """All that the prose files say of a type, of the types that it is, and of any."""
    wording = Wording()
    kind = type_name
    while kind:
        for sections in _files().values():
            if kind in sections:
                wording = wording.joined(sections[kind])
        kind = "" if kind == ANY else schema.types[kind].parent or ANY
    return wording


def type_prose(schema: Schema, type_name: str, facts: Iterable[str]) -> TypeProse:
    """The prose of a type in a world where these facts may be said of it. Raises InputError for a
    malformed template, an unknown slot, and a fact that no template tells alone."""
    wording = wording_of(schema, type_name)
    # Another name, what comes first, the schema's order, what comes last.
    names = [name for name in facts if name not in UNTOLD]
    first = [ALIAS, *(name for name in wording.first if name in names)]
    last = [name for name in wording.last if name in names]
    order = [*first, *(n for n in names if n not in first and n not in last), *last]
    bits = {name: n for n, name in enumerate(order)}
    compiler = _Compiler(schema, type_name, bits)
    apart = ("title", "hint") if schema.resolved(type_name).shares else ()
    for section in ("lead", "plain", "asides", "retold", *apart):
        if not getattr(wording, section):
            problem, remedy = f"the type {type_name!r} has no `{section}`", "add one to its section"
            raise InputError(problem, where="worlds/prose", remedy=remedy)
    compiler.check_known((*wording.first, *wording.last))
    leads = tuple(compiler.compiled(wording.lead))
    tells = tuple(compiler.compiled(wording.tell))
    for name, bit in bits.items():
        alone = [v for v in tells if v.needs == 1 << bit and not v.mentions and not v.several]
        if not alone and not all(v.needs & 1 << bit for v in leads):
            problem = f"no template tells {name!r} of the type {type_name!r} alone"
            remedy = "add such a template to `tell`"
            raise InputError(problem, where="worlds/prose", remedy=remedy)
    title = next(compiler.names([wording.title]))
    return TypeProse(
        bits=bits,
        leads=leads,
        tells=tells,
        asides=tuple(compiler.compiled(wording.asides)),
        subject=tuple(wording.subject),
        title=title,
        hint=next(compiler.names([wording.hint])),
        identify=tuple(compiler.compiled(wording.identify)),
        clauses=compiler.by_fact("clause", wording.clause, lambda relation: not relation.source),
        former=compiler.by_fact("former", wording.former, lambda r: r.former is not None),
        dated=tuple(compiler.names(wording.dated)),
        since=tuple(compiler.compiled(wording.since)),
        carry=tuple(compiler.compiled(wording.carry)),
        plain_leads=tuple(compiler.compiled(wording.plain)),
        sources=compiler.sources(wording.retold, wording.frames),
        apart=sum(1 << bits[slot.name] for slot in slots(title) if slot.name in bits),
        description=tuple(compiler.names(wording.description)),
        is_person=schema.is_a(type_name, "person"),
    )


class _Compiler:
    def __init__(self, schema: Schema, type_name: str, bits: Mapping[str, int]) -> None:
        self.schema = schema
        self.type_name = type_name
        self.bits = bits
        everywhere = world_schema()
        self.known = SPOKEN | bits.keys() | set(everywhere.relations)
        self.known |= {r.inverse for r in everywhere.relations.values()}
        # A pronoun for the subject could be taken for their values.
        self.confusable = {"other"}
        person = schema.is_a(type_name, "person")
        for name, relation in schema.relations.items():
            objects, subjects = schema.objects(relation), schema.subjects(relation)
            for fact, kinds in ((name, objects), (relation.inverse, subjects)):
                if any(schema.is_a(kind, "person") == person for kind in kinds):
                    self.confusable.add(fact)

    def compiled(self, templates: Iterable[str]) -> Iterator[Variant]:
        for template in templates:
            try:
                sequence = parse(template)
                self._check_slots(sequence)
                for parts in variants(sequence, frozenset(self.bits)):
                    if {s.name for s in slots(parts)} <= self.bits.keys() | SPOKEN:
                        yield self._variant(parts)
            except InputError as error:
                where = f"worlds/prose, {self.type_name}: {template}"
                raise InputError(error.what, where=where) from None

    def by_fact(
        self, section: str, templates: Iterable[str], needed: Callable[[Relation], bool]
    ) -> dict[str, tuple[Variant, ...]]:
        """The templates of a section by the one fact that each tells; all `needed` are there."""
        found: dict[str, tuple[Variant, ...]] = {}
        for variant in self.compiled(templates):
            ((slot, _, _),) = variant.tells
            found[slot.name] = (*found.get(slot.name, ()), variant)
        own = (name for name, r in self.schema.relations.items() if name in self.bits and needed(r))
        if missing := [name for name in own if name not in found]:
            problem = f"no `{section}` tells {missing[0]!r} of the type {self.type_name!r}"
            raise InputError(problem, where="worlds/prose", remedy="add a template to it")
        return found

    def sources(self, titles: Mapping[str, str], frames: Mapping[str, str]) -> tuple[Source, ...]:
        """What may tell a part of an article again; at least one of them about any of the type."""
        found: list[Source] = []
        for form, frame in titles.items():
            if frame not in frames:
                where = f"worlds/prose, {self.type_name}: {form}"
                raise InputError(f"there is no frame {frame!r}", where=where)
            for title in self.names([form]):
                for variant in self.compiled([frames[frame]]):
                    named = {slot.name for slot in (*slots(title), *slots(variant.parts))}
                    found.append(Source(title, variant, frozenset(named) - SPOKEN))
        if all(source.facts for source in found):
            where = f"worlds/prose, {self.type_name}"
            problem = "no title of `retold` stands without a fact"
            raise InputError(problem, where=where, remedy="add one with {name} alone")
        return tuple(found)

    def names(self, forms: Iterable[str]) -> Iterator[Sequence]:
        for form in forms:
            sequence = parse(form)
            self._check_slots(sequence)
            if {slot.name for slot in slots(sequence)} <= self.bits.keys() | SPOKEN:
                yield sequence

    def check_known(self, names: Iterable[str]) -> None:
        if unknown := sorted(set(names) - self.known):
            where = f"worlds/prose, {self.type_name}"
            raise InputError(f"there is no slot {{{unknown[0]}}}", where=where)

    def _check_slots(self, sequence: Sequence) -> None:
        self.check_known(slot.name for slot in slots(sequence))
        for slot in slots(sequence):
            if slot.form not in FORMS and not slot.form.startswith("#"):
                raise InputError(f"there is no form {slot.form!r}", where=f"{{{slot.name}}}")

    def _variant(self, parts: Sequence) -> Variant:
        own = [slot for slot in slots(parts) if slot.name in self.bits]
        telling = dict.fromkeys(slot for slot in own if slot.form in ("", ":1", ".date"))
        # One value each first, so that the rest is left for the lists.
        tells = sorted(
            ((slot, self.bits[slot.name], slot.form == ":1") for slot in telling),
            key=lambda entry: not entry[2],
        )
        mentions = needs = 0
        for _, bit, _ in tells:
            needs |= 1 << bit
        for slot in own:
            mentions |= 1 << self.bits[slot.name]
        counted = [bit for _, bit, _ in tells]
        several = tuple({bit for bit in counted if counted.count(bit) > 1})
        others = any(slot.name in self.confusable for slot in slots(parts))
        return Variant(parts, tuple(tells), needs, mentions & ~needs, several, others)


def slots(sequence: Sequence) -> Iterator[Placeholder]:
    """All slots of a sequence, those of alternatives included."""
    for part in sequence:
        if isinstance(part, Alternatives):
            for option in part.options:
                yield from slots(option)
        elif isinstance(part, Placeholder):
            yield part
