"""A world's graph, entity by entity: as N-Triples, and as the arrays that questions are made from.

The arrays are those that reading the triples gives (`Statements`). They are gathered on the way,
since reading a million entities again takes a minute.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from branchwise.corpora.kept_arrays import PackedTexts, TextPacker, packed
from branchwise.kg.schema import ENDED, Schema, ValueKind
from branchwise.kg.vocabulary import ENTITY, PROP, RDF_TYPE
from branchwise.worlds.facts import Fact, FactKind, FactValue, Item
from branchwise.worlds.population import FIRST_NUMBER
from branchwise.worlds.questions.facts import fact_properties
from branchwise.worlds.questions.statements import ALIAS, LABEL, arranged, no_pairs, thing
from branchwise.worlds.world import World, iso_date

if TYPE_CHECKING:
    from branchwise.corpora.kept_arrays import Arrays

_DESCRIPTION = "http://schema.org/description"
_WIKIBASE = "http://wikiba.se/ontology#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_TIMES = {"point": ("P585", ""), "start": ("P580", ""), "spells": ("P580", "P582")}
QUALIFIERS = {"P580": "start time", "P582": "end time", "P585": "point in time"}


def text(value: str) -> str:
    if '"' in value or "\\" in value or "\n" in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{value}"@en'


def terms(iri: str, label: str, aliases: Iterable[str] = (), description: str = "") -> str:
    """Label, aliases and description of something, as lines."""
    lines = f"<{iri}> <{LABEL}> {text(label)} .\n"
    for alias in aliases:
        lines += f"<{iri}> <{ALIAS}> {text(alias)} .\n"
    if description:
        lines += f"<{iri}> <{_DESCRIPTION}> {text(description)} .\n"
    return lines


def statement_object(world: World, fact: Fact, value: FactValue) -> str:
    """A value as in a passage's `statements`: a number of an entity, a date or a number."""
    if value.item is not None:
        return value.item.qid
    if fact.kind is FactKind.ENTITY:
        return world.qid(value.content)
    return iso_date(value.content) if fact.kind is FactKind.DATE else str(value.content)


def _named(schema: Schema) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Number, label and aliases of the properties and items that a world uses, properties first."""
    labels: dict[str, str] = {}
    aliases: dict[str, set[str]] = {}
    for relation in schema.relations.values():
        number = relation.property
        labels.setdefault(number, relation.label)
        also_called = (*schema.aliases.get(number, ()), *relation.aliases)
        aliases.setdefault(number, set()).update(also_called)
    for number, label in sorted((labels | QUALIFIERS).items()):
        others = set() if number in QUALIFIERS else aliases[number]
        yield number, label, sorted(others - {label})
    items = {Item(*entry) for entries in schema.items.values() for entry in entries.items()}
    nouns = {kind.class_id: kind.noun for kind in schema.types.values() if kind.class_id}
    for item in sorted(items):
        noun = nouns.get(item.qid, item.label)
        yield item.qid, item.label, [noun] * (noun != item.label)


class GatheredStatements:
    """What a graph says, as it is written: entities in the order of their numbers, each once."""

    def __init__(self, schema: Schema, entities: int) -> None:
        self._schema, self._entities = schema, entities
        self._pairs = no_pairs(fact_properties(schema))
        # The numbers of other texts (items, dates, amounts), which follow those of all entities.
        self._others: dict[str, int] = {}
        self._labels, self._aliases, self._alias_of = TextPacker(), TextPacker(), array("I")

    def entity(self, label: str, aliases: Iterable[str]) -> None:
        """Take the next entity; the statements that follow are about it."""
        self._labels.add(label)
        self._alias(len(self._labels) - 1, label, aliases)

    def statement(self, number: str, kind: ValueKind, content: str) -> None:
        """Take a statement, if questions may be about its property ("P127", "P127 ended")."""
        pairs = self._pairs.get((number, kind))
        if pairs is not None:
            subjects, values = pairs
            subjects.append(len(self._labels) - 1)
            values.append(self._number(content))

    def _alias(self, number: int, label: str, aliases: Iterable[str]) -> None:
        for alias in aliases:
            if alias != label:
                self._aliases.add(alias)
                self._alias_of.append(number)

    def _number(self, content: str) -> int:
        if content.startswith("Q") and (place := int(content[1:]) - FIRST_NUMBER) >= 0:
            return place
        return self._others.setdefault(content, self._entities + len(self._others))

    def arrays(self) -> "Arrays":
        """All that was gathered, and the names of properties and items."""
        labels: dict[str, str] = {}
        for number, label, aliases in _named(self._schema):
            term = thing(ENTITY + number)
            assert term
            labels[term.text] = label
            self._alias(self._number(term.text), label, aliases)
        for other in self._others:
            self._labels.add(labels.get(other, other))
        texts = packed(chain((f"Q{FIRST_NUMBER + n}" for n in range(self._entities)), self._others))
        return arranged(
            PackedTexts(*texts),
            PackedTexts(*self._labels.arrays()),
            PackedTexts(*self._aliases.arrays()),
            self._alias_of,
            self._pairs,
        )


class KgWriter:
    """Says in lines what the graph has, entity by entity. `statements`: their number."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.gathered = GatheredStatements(world.schema, len(world))
        self.statements = 0

    def vocabulary(self) -> Iterator[str]:
        """Labels and aliases of properties and items, as lines."""
        for number, label, aliases in _named(self._world.schema):
            yield terms(ENTITY + number, label, aliases)
            if number.startswith("P"):
                direct = f"{PROP}direct/{number}"
                yield f"<{ENTITY}{number}> <{RDF_TYPE}> <{_WIKIBASE}Property> .\n"
                yield f"<{ENTITY}{number}> <{_WIKIBASE}directClaim> <{direct}> .\n"

    def entity(self, entity: int, description: str, known: Iterable[list[FactValue]]) -> str:
        """What is said of an entity, as lines. `known`: its values, fact by fact."""
        world = self._world
        qid, label, alias = world.qid(entity), world.label(entity), world.alias(entity)
        aliases = [alias] if alias else []
        self.gathered.entity(label, aliases)
        lines = [terms(ENTITY + qid, label, aliases, description)]
        for fact, values in zip(world.facts[world.type_number(entity)], known, strict=True):
            if not fact.inverse:
                self.statements += len(values)
                former = fact.former(entity) if fact.former else []
                lines += self._statements(qid, fact, values, former)
        return "".join(lines)

    def _statements(
        self, qid: str, fact: Fact, values: list[FactValue], former: list[FactValue]
    ) -> Iterator[str]:
        """What a relation says of an entity. A value with times has a node of its own with
        qualifiers, too. Values that were replaced have nodes alone, of a lower rank, as in
        Wikidata."""
        # Nodes for statements without a time would make the graph three times as large.
        number = fact.relation.property
        time_as = "start" if fact.relation.time is None else fact.relation.time_as
        rank = "PreferredRank" if former else ""
        for value in values:
            content = statement_object(self._world, fact, value)
            self.gathered.statement(number, fact.relation.value_kind, content)
            yield f"<{ENTITY}{qid}> <{PROP}direct/{number}> {_term(fact, content)} .\n"
            if value.begin:
                yield from self._node(qid, fact, content, value, _TIMES[time_as], rank)
        for value in former:
            content = statement_object(self._world, fact, value)
            yield from self._node(qid, fact, content, value, _TIMES["spells"], "NormalRank")

    def _node(
        self,
        qid: str,
        fact: Fact,
        content: str,
        value: FactValue,
        qualifiers: tuple[str, str],
        rank: str,
    ) -> Iterator[str]:
        """Its name follows from what it says, so that no counter is needed."""
        number = fact.relation.property
        node = f"<{ENTITY}statement/{qid}-{number}-{content}-{value.begin}>"
        yield f"<{ENTITY}{qid}> <{PROP}{number}> {node} .\n"
        yield f"{node} <{PROP}statement/{number}> {_term(fact, content)} .\n"
        for qualifier, year in zip(qualifiers, (value.begin, value.end), strict=True):
            if qualifier and year:
                date = f'"{year:04d}-01-01T00:00:00Z"^^<{_XSD}dateTime>'
                yield f"{node} <{PROP}qualifier/{qualifier}> {date} .\n"
        if rank:
            yield f"{node} <{_WIKIBASE}rank> <{_WIKIBASE}{rank}> .\n"
        if qualifiers[1] and value.end:
            self.gathered.statement(number + ENDED, fact.relation.value_kind, content)


def _term(fact: Fact, content: str) -> str:
    if fact.kind is FactKind.DATE:
        return f'"{content}T00:00:00Z"^^<{_XSD}dateTime>'
    if fact.kind is FactKind.NUMBER:
        return f'"{content}"^^<{_XSD}decimal>'
    return f"<{ENTITY}{content}>"
