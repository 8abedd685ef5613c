"""One pass over a store: each thing's names, and how often it is mentioned."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from branchwise.kg.names.ends import SAMPLED, Sampled, literal_kind
from branchwise.kg.names.things import Thing
from branchwise.kg.vocabulary import (
    NAMING,
    TYPES,
    is_internal,
    is_wikidata_id,
    short_id,
    wikidata_predicate,
)

if TYPE_CHECKING:
    import pyoxigraph


class Harvest:
    """The counts of a pass besides the things themselves.

    `sampled`: some statements of each property, by its id. `used`: how often an id is an object;
    emptied by `take_used`, since there may be millions.
    """

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
        """How often each property is used. A statement that a graph has both plain and with its
        node counts once; qualifiers count separately."""
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
        thing = None
        if isinstance(subject, node) and not is_internal(subject.value):
            thing = Thing(short_id(subject.value))
        counts: Counter[str] = Counter()
        for quad in about:
            iri, value = quad.predicate.value, quad.object
            counts[iri] += 1
            if thing is not None:
                self._sample(thing.id, iri, value)
            if isinstance(value, node):
                self._used[value.value] += 1
                if thing is not None:
                    thing.add_link(iri, value.value)
            elif thing is not None and isinstance(value, pyoxigraph.Literal):
                thing.add_text(iri, value)
        self.triples += counts.total()
        self.predicates.update(counts)
        if thing is not None:
            thing.statements = _statements(thing.id, counts)
        return thing

    def _sample(self, subject: str, predicate: str, value: object) -> None:
        """Keep a statement, unless there are enough of its property."""
        import pyoxigraph

        if predicate not in self._samples:
            self._samples[predicate] = self._samples_of(predicate)
        kept = self._samples[predicate]
        if kept is None or len(kept) >= SAMPLED:
            return
        if isinstance(value, pyoxigraph.NamedNode):
            kept.append(Sampled(subject, value=short_id(value.value)))
        elif isinstance(value, pyoxigraph.Literal):
            kept.append(Sampled(subject, literal=literal_kind(value.datatype.value)))

    def _samples_of(self, predicate: str) -> list[Sampled] | None:
        """Of Wikidata's forms of a statement the plain one; none of what says names."""
        known = wikidata_predicate(predicate)
        if known.part != "direct" if known else predicate in NAMING or is_internal(predicate):
            return None
        return self.sampled.setdefault(short_id(predicate), [])


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
