"""One pass over a store: each thing's names and mentions, and what properties lead from and to.

The ends of a property are called as kinds of things: so "league" tells "plays in" of clubs from
"plays" of musicians, and "when" a date from a founder.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from branchwise.kg.names.forms import fold, stem
from branchwise.kg.vocabulary import (
    ALIASES,
    DATES,
    LABELS,
    NAMING,
    OCCUPATION,
    TYPES,
    is_internal,
    is_wikidata_id,
    local_name,
    short_id,
    wikidata_predicate,
)

if TYPE_CHECKING:
    import pyoxigraph

_MAX_TYPES = 4
_MAX_OCCUPATIONS = 4
_MAX_YEARS = 12


class TaggedText(NamedTuple):
    """A name or description in a language ("" where it has none)."""

    value: str
    language: str

    @property
    def order(self) -> tuple[int, str, str]:
        """English first, then what is of no language or of all, then the others by tag."""
        rank = {"en": 0, "": 1, "mul": 1}.get(self.language)
        if rank is None:
            return (2 if self.language.startswith("en-") else 3, self.language, self.value)
        return (rank, self.language if rank else "", self.value)


@dataclass
class Thing:
    """What a graph says about one IRI. `statements`: where it is the subject, without names.
    `types` and `occupations` are ids; `years` are those of all its dates."""

    id: str
    labels: list[TaggedText] = field(default_factory=list)
    aliases: list[TaggedText] = field(default_factory=list)
    descriptions: list[TaggedText] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    occupations: list[str] = field(default_factory=list)
    years: set[str] = field(default_factory=set)
    statements: int = 0

    @property
    def label(self) -> str | None:
        """The first of its labels in the order of `TaggedText`."""
        return min(self.labels, key=lambda text: text.order).value if self.labels else None

    @property
    def description(self) -> str:
        """The first of its descriptions; "" where there is none."""
        first = min(self.descriptions, key=lambda text: text.order, default=None)
        return first.value if first else ""

    @property
    def kinds(self) -> list[str]:
        """Types as shown; for people "human" says little, so what they do stands beside it."""
        return sorted(self.types)[:_MAX_TYPES] + sorted(self.occupations)[:_MAX_OCCUPATIONS]

    @property
    def dates(self) -> list[str]:
        """Years that a name may be told apart by: "King Kong (1976 film)"."""
        return sorted(year for year in self.years if year.isdecimal())[:_MAX_YEARS]

    def add_text(self, predicate: str, value: "pyoxigraph.Literal") -> None:
        """Take a literal that is said of it, if it is a name, a description or a date."""
        if predicate in NAMING:
            texts = self.aliases if predicate in ALIASES else self.descriptions
            texts = self.labels if predicate in LABELS else texts
            if value.value.strip():
                texts.append(TaggedText(value.value, value.language or ""))
        elif value.datatype.value in DATES:
            self.years.add(value.value[:4])

    def names(self) -> Iterator[str]:
        """Its names, each once, the label first; of what has none, the end of its IRI."""
        label = self.label
        if label is None and not self.aliases:
            if self.id.startswith(("http", "urn:")) and self.statements:
                yield local_name(self.id)
            return
        if label is not None:
            yield label
        others = {text.value: None for text in sorted(self.labels + self.aliases)}
        others.pop(label or "", None)
        yield from others


SAMPLED = 100
"""Statements of a property whose two ends are looked at."""

_KINDS, _NAMES_A_KIND = 12, 6  # of an end, the commonest; of a kind, the label and aliases
_HEAD, _MODIFIER = 0.7, 0.35  # of the word for a kind, and beside it: no film is a film award
_RARER = 0.97  # of the next kind, which is rarer
_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = frozenset(_XSD + n for n in ("decimal", "integer", "int", "long", "double", "float"))
# What values are called and asked for with.
_DATE, _NUMBER = ("date", "year", "day", "time", "when"), ("number", "many", "much", "count")
_PERSON, _PLACE = ("person", "people", "who", "whom", "whose"), ("place", "location", "where")
_PERSONS = frozenset({"human", "person", "people"})
_PLACES = frozenset(
    {"city", "town", "village", "settlement", "country", "state", "region", "area", "place"}
)
_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'ends'"
_ENDS = "SELECT thing, subjects, objects FROM ends WHERE thing IN (SELECT value FROM json_each(?))"
_TYPES = "SELECT types FROM things WHERE id = ?"
_CALLED = """
SELECT text FROM staging.named JOIN things ON things.number = named.thing
WHERE things.id = ? ORDER BY text IS NOT label, named.rowid LIMIT ?
"""


class Sampled(NamedTuple):
    """A statement: ids of its subject and its value; of a literal, "date", "number" or neither."""

    subject: str
    value: str = ""
    literal: str = ""


def end_rows(
    connection: sqlite3.Connection, sampled: Mapping[str, Sequence[Sampled]]
) -> Iterator[tuple[int, str, str]]:
    """Rows of the table: a property's number, and what its subjects and its values are called. For
    while the tables are made: the things are there, and their names staged."""
    for identifier, statements in sorted(sampled.items()):
        subjects = _called(connection, [statement.subject for statement in statements])
        values = _called(connection, [s.value for s in statements if s.value])
        values += _asked(values, {statement.literal for statement in statements})
        query = "SELECT number FROM things WHERE id = ?"
        for (number,) in connection.execute(query, (identifier,)).fetchall():
            yield number, "\n".join(subjects), "\n".join(values)


class PropertyEnds(NamedTuple):
    """Of stems of words, how much they say of a property's subjects, and of its values."""

    subjects: Mapping[str, float]
    values: Mapping[str, float]


def ends_of(connection: sqlite3.Connection, properties: Iterable[int]) -> dict[int, PropertyEnds]:
    """The ends of properties; empty in a graph that was built before they were kept."""
    if connection.execute(_TABLE).fetchone() is None:
        return {}
    rows = connection.execute(_ENDS, (json.dumps(list(properties)),))
    return {number: PropertyEnds(*map(_weighed, ends)) for number, *ends in rows}


@lru_cache(maxsize=4_096)
def _weighed(lines: str) -> Mapping[str, float]:
    """The head of an English name is its last word, or the last before "of"."""
    weights: dict[str, float] = {}
    for index, name in enumerate(lines.splitlines()):
        words = fold(name).words
        head = words[: words.index("of")] if "of" in words[1:] else words
        for word in words:
            weight = (_HEAD if word == head[-1] else _MODIFIER) * _RARER**index
            weights[stem(word)] = max(weight, weights.get(stem(word), 0.0))
    return weights


def _called(connection: sqlite3.Connection, identifiers: Sequence[str]) -> list[str]:
    kinds: Counter[str] = Counter()
    for identifier in identifiers:
        for (types,) in connection.execute(_TYPES, (identifier,)):
            kinds.update(types.splitlines())
    names: dict[str, None] = {}
    for type_id, _ in kinds.most_common(_KINDS):
        for (text,) in connection.execute(_CALLED, (type_id, _NAMES_A_KIND)):
            names[" ".join(fold(text).words)] = None
    return [name for name in names if name]


def _asked(values: Iterable[str], literals: set[str]) -> list[str]:
    kinds = set(values)
    groups = (
        ("date" in literals, _DATE),
        ("number" in literals, _NUMBER),
        (not kinds.isdisjoint(_PERSONS), _PERSON),
        (not kinds.isdisjoint(_PLACES), _PLACE),
    )
    return [word for applies, words in groups if applies for word in words]


class Harvest:
    """The counts of a pass besides the things. `sampled`: some statements of each property, by id.
    `used`: how often an id is an object; emptied by `take_used`: there may be millions."""

    def __init__(self, store: "pyoxigraph.Store") -> None:
        self._store = store
        self.triples = 0
        self.predicates: Counter[str] = Counter()
        self.sampled: dict[str, list[Sampled]] = {}
        self._samples: dict[str, list[Sampled] | None] = {}  # by predicate
        self._used: Counter[str] = Counter()

    def things(self) -> Iterator[Thing]:
        """Every IRI that is a subject, once, except the nodes that Wikibase itself needs."""
        import pyoxigraph

        quads = self._store.quads_for_pattern(None, None, None, pyoxigraph.DefaultGraph())
        for subject, about in groupby(quads, key=lambda quad: quad.subject):
            thing = self._thing(subject, about)
            if thing is not None:
                yield thing

    def take_used(self, at_least: int = 0) -> list[tuple[str, int]]:
        """Take the ids that were objects, with counts; none if fewer are known."""
        if len(self._used) <= at_least:
            return []
        used, self._used = self._used, Counter()
        return sorted((short_id(iri), count) for iri, count in used.items() if not is_internal(iri))

    def usage(self) -> dict[str, int]:
        """How often each property is used, a statement and its node once, qualifiers apart."""
        parts: dict[str, Counter[str]] = {}
        for iri, count in self.predicates.items():
            predicate = wikidata_predicate(iri)
            if predicate:
                parts.setdefault(predicate.property, Counter())[predicate.part] += count
        usage = {
            number: max(part["direct"], part["full"], part["statement"]) + part["qualifier"]
            for number, part in parts.items()
        }
        for iri, count in self.predicates.items():
            if not is_internal(iri) and not (parts and (iri in NAMING or iri in TYPES)):
                usage[iri] = count
        return usage

    def _thing(self, subject: object, about: Iterable["pyoxigraph.Quad"]) -> Thing | None:
        import pyoxigraph

        node = pyoxigraph.NamedNode
        iri = subject.value if isinstance(subject, node) else ""
        thing = Thing(short_id(iri)) if iri and not is_internal(iri) else None
        counts: Counter[str] = Counter()
        for quad in about:
            predicate, value = quad.predicate.value, quad.object
            counts[predicate] += 1
            if isinstance(value, node):
                self._used[value.value] += 1
            if thing is None:
                continue
            self._sample(thing.id, predicate, value)
            if isinstance(value, pyoxigraph.Literal):
                thing.add_text(predicate, value)
            elif isinstance(value, node) and predicate in TYPES:
                thing.types.append(short_id(value.value))
            elif isinstance(value, node) and predicate == OCCUPATION:
                thing.occupations.append(short_id(value.value))
        self.triples += counts.total()
        self.predicates.update(counts)
        if thing is not None:
            thing.statements = _statements(thing.id, counts)
        return thing

    def _sample(self, subject: str, predicate: str, value: object) -> None:
        import pyoxigraph

        if predicate not in self._samples:
            # Of Wikidata's forms of a statement the plain one; none of what says names.
            known = wikidata_predicate(predicate)
            hidden = known.part != "direct" if known else predicate in NAMING
            hidden = hidden or (known is None and is_internal(predicate))
            own = None if hidden else self.sampled.setdefault(short_id(predicate), [])
            self._samples[predicate] = own
        kept = self._samples[predicate]
        if kept is None or len(kept) >= SAMPLED:
            return
        if isinstance(value, pyoxigraph.NamedNode):
            kept.append(Sampled(subject, value=short_id(value.value)))
        elif isinstance(value, pyoxigraph.Literal):
            datatype = value.datatype.value
            number = "number" if datatype in _NUMBERS else ""
            kept.append(Sampled(subject, literal="date" if datatype in DATES else number))


def _statements(identifier: str, counts: Counter[str]) -> int:
    """Statements about a subject with these predicates; of Wikidata's two forms, the fuller."""
    direct = full = plain = 0
    for iri, count in counts.items():
        predicate = wikidata_predicate(iri)
        if predicate is None:
            plain += 0 if iri in NAMING or is_internal(iri) else count
        elif predicate.part == "direct":
            direct += count
        elif predicate.part == "full":
            full += count
    return max(direct, full) or (0 if is_wikidata_id(identifier) else plain)
