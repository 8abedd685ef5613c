"""Reads an N-Triples file, a schema's YAML and a corpus with the standard library and PyYAML."""

import gzip
import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ENTITY = "<http://www.wikidata.org/entity/"
DIRECT = "<http://www.wikidata.org/prop/direct/"
STATED = "<http://www.wikidata.org/prop/P"
VALUE = "<http://www.wikidata.org/prop/statement/"
END = "<http://www.wikidata.org/prop/qualifier/P582>"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
ALIAS = "<http://www.w3.org/2004/02/skos/core#altLabel>"

# Subject, property, value: an entity, a date or a number. "former P127": what has ended.
Fact = tuple[str, str, str]


@dataclass
class PlainKg:
    """Direct and former statements both ways, the first label of each entity, and its aliases."""

    values: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    holders: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    labels: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, subject: str, prop: str, value: str) -> None:
        self.values[subject, prop].append(value)
        self.holders[value, prop].append(subject)

    def of(self, subject: str, prop: str) -> list[str]:
        return self.values.get((subject, prop), [])

    def having(self, value: str, prop: str) -> list[str]:
        return self.holders.get((value, prop), [])


def read_kg(path: Path) -> PlainKg:
    kg = PlainKg()
    subjects, values, ended = {}, {}, []
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            subject, predicate, rest = line.split(" ", 2)
            value = rest.rstrip().removesuffix(".").rstrip()
            if predicate.startswith(DIRECT):
                kg.add(number(subject), predicate[len(DIRECT) : -1], plain(value))
            elif predicate.startswith(STATED):
                subjects[value] = number(subject), predicate[len(STATED) - 1 : -1]
            elif predicate.startswith(VALUE):
                values[subject] = plain(value)
            elif predicate == END:
                ended.append(subject)
            elif predicate == LABEL:
                kg.labels.setdefault(number(subject), plain(value))
            elif predicate == ALIAS:
                kg.aliases[number(subject)].add(plain(value))
    for node in ended:
        subject, prop = subjects[node]
        if values[node] not in kg.of(subject, prop):
            kg.add(subject, f"former {prop}", values[node])
    return kg


def number(iri: str) -> str:
    """Q42 for Wikidata's entities, the IRI in brackets for all else."""
    return iri[len(ENTITY) : -1] if iri.startswith(ENTITY) else iri


def plain(value: str) -> str:
    """An entity's number, a date's day, or a literal's text."""
    if value.startswith("<"):
        return number(value)
    text = value[1 : value.rindex('"')]
    if "\\" in text:
        text = re.sub(r'\\([\\"])', r"\1", text)
        text = re.sub(r"\\u(\w{4})|\\U(\w{8})", lambda m: chr(int(m[1] or m[2], 16)), text)
    return text.removesuffix("T00:00:00Z")


@dataclass
class PlainSchema:
    """The YAML as it stands: types and relations of all files together, and beside a relation whose
    former values can be said one to these: "formerly owner"."""

    types: dict[str, dict]
    relations: dict[str, dict]

    def line(self, name: str) -> list[str]:
        """A type, what it is, and so on up."""
        parent = self.types[name].get("is")
        return [name, *(self.line(parent) if parent else [])]

    def of_type(self, kg: PlainKg, entity: str, name: str) -> bool:
        """Whether an entity has the class of a type, and its occupation where it has one."""
        if name == "any":
            return any(self.of_type(kg, entity, other) for other in self.types)
        kind = next(self.types[t]["class"] for t in self.line(name) if "class" in self.types[t])
        job = self.types[name].get("occupation")
        return kind in kg.of(entity, "P31") and (not job or job in kg.of(entity, "P106"))

    def fits(self, kg: PlainKg, entity: str, names: list[str] | str) -> bool:
        """Whether an entity is of any of these types."""
        listed = [names] if isinstance(names, str) else names
        return any(self.of_type(kg, entity, name) for name in listed)


def read_schema(*files: Path) -> PlainSchema:
    schema = PlainSchema({}, {})
    for file in files:
        fields = yaml.safe_load(file.read_text(encoding="utf-8"))
        schema.types |= fields.get("types", {})
        schema.relations |= fields.get("relations", {})
    for name, relation in list(schema.relations.items()):
        if "said_former" in relation:
            former = {"property": f"former {relation['property']}"}
            schema.relations[f"formerly {name}"] = relation | former
    return schema


def read_names(path: Path) -> dict[str, list[dict]]:
    """Shared name -> its bearers, `{"id", "title", "description"}`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {entry["name"]: entry["entities"] for entry in map(json.loads, lines)}


def read_told(path: Path) -> dict[str, set[Fact]]:
    """Passage id -> the statements that it tells, former ones, too."""
    told = {}
    with path.open(encoding="utf-8") as lines:
        for passage in map(json.loads, lines):
            former = {(s, f"former {prop}", v) for s, prop, v in passage.get("former", ())}
            told[passage["id"]] = {tuple(fact) for fact in passage["statements"]} | former
    return told
