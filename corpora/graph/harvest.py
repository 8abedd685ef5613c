"""One pass over a store: what each thing is called, and how often it is spoken of."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from branchwise.corpora.graph.vocabulary import (
    ALIASES,
    DATES,
    DESCRIPTIONS,
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

_KEPT = (
    dict.fromkeys(LABELS, "labels")
    | dict.fromkeys(ALIASES, "aliases")
    | dict.fromkeys(DESCRIPTIONS, "descriptions")
    | dict.fromkeys(TYPES, "types")
    | {OCCUPATION: "occupations"}
)
_TEXTS = frozenset({"labels", "aliases", "descriptions"})
_MAX_TYPES = 4
_MAX_OCCUPATIONS = 4
_MAX_YEARS = 12


class Text(NamedTuple):
    """A name or description in a language ("" where it has none)."""

    value: str
    language: str

    @property
    def order(self) -> tuple[int, str, str]:
        """English first, then what is of no language or of all, then the others by tag."""
        if self.language == "en":
            return (0, "", self.value)
        if self.language.startswith("en-"):
            return (2, self.language, self.value)
        if self.language in {"", "mul"}:
            return (1, self.language, self.value)
        return (3, self.language, self.value)


@dataclass
class Thing:
    """What a graph says about one IRI. `statements`: where it is the subject, without names.

    `types` and `occupations` are ids; `years` are those of all its dates.
    """

    id: str
    labels: list[Text] = field(default_factory=list)
    aliases: list[Text] = field(default_factory=list)
    descriptions: list[Text] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    occupations: list[str] = field(default_factory=list)
    years: set[str] = field(default_factory=set)
    statements: int = 0

    @property
    def label(self) -> str | None:
        """The first of its labels in the order of `Text`."""
        return min(self.labels, key=lambda text: text.order).value if self.labels else None

    @property
    def description(self) -> str:
        """The first of its descriptions; "" where there is none."""
        if not self.descriptions:
            return ""
        return min(self.descriptions, key=lambda text: text.order).value

    @property
    def kinds(self) -> list[str]:
        """Types as shown; for people "human" says little, so what they do stands beside it."""
        return sorted(self.types)[:_MAX_TYPES] + sorted(self.occupations)[:_MAX_OCCUPATIONS]

    @property
    def dates(self) -> list[str]:
        """Years that a name may be told apart by: "King Kong (1976 film)"."""
        return sorted(year for year in self.years if year.isdecimal())[:_MAX_YEARS]

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


class Harvest:
    """What a pass has counted besides the things themselves.

    `used`: how often an id is an object; emptied by `take_used`, since there may be millions.
    """

    def __init__(self, store: "pyoxigraph.Store") -> None:
        self._store = store
        self.triples = 0
        self.predicates: Counter[str] = Counter()
        self._used: Counter[str] = Counter()

    def things(self) -> Iterator[Thing]:
        """Every IRI that is a subject, once, but for the nodes that Wikibase itself needs."""
        import pyoxigraph

        quads = self._store.quads_for_pattern(None, None, None, pyoxigraph.DefaultGraph())
        for subject, about in groupby(quads, key=lambda quad: quad.subject):
            thing = self._thing(subject, about)
            if thing is not None:
                yield thing

    def take_used(self, at_least: int = 0) -> list[tuple[str, int]]:
        """Ids that were objects, with counts, and forget them; none where fewer are known."""
        if len(self._used) <= at_least:
            return []
        used, self._used = self._used, Counter()
        return sorted((short_id(iri), count) for iri, count in used.items() if not is_internal(iri))

    def usage(self) -> dict[str, int]:
        """How often each property is used. Of a statement that a graph has both plain and with
        its node, one is counted; qualifiers count by themselves."""
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

        node, literal = pyoxigraph.NamedNode, pyoxigraph.Literal
        named = isinstance(subject, node) and not is_internal(subject.value)
        thing = Thing(short_id(subject.value)) if named else None  # type: ignore[attr-defined]
        counts: Counter[str] = Counter()
        for quad in about:
            iri, value = quad.predicate.value, quad.object
            counts[iri] += 1
            if isinstance(value, node):
                self._used[value.value] += 1
            elif (
                thing is not None and isinstance(value, literal) and (value.datatype.value in DATES)
            ):
                thing.years.add(value.value[:4])
            if thing is not None and iri in _KEPT:
                _keep(thing, _KEPT[iri], value)
        self.triples += counts.total()
        self.predicates.update(counts)
        if thing is not None:
            thing.statements = _statements(thing.id, counts)
        return thing


def _keep(thing: Thing, where: str, value: object) -> None:
    import pyoxigraph

    if isinstance(value, pyoxigraph.Literal):
        if where in _TEXTS and value.value.strip():
            getattr(thing, where).append(Text(value.value, value.language or ""))
    elif isinstance(value, pyoxigraph.NamedNode) and where not in _TEXTS:
        getattr(thing, where).append(short_id(value.value))


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
