"""What of a graph's triples plans are made and executed with, read into memory once."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from branchwise.corpora.errors import InputError
from branchwise.corpora.files import open_data
from branchwise.corpora.graph.vocabulary import PROP
from branchwise.corpora.synthesis.terms import (
    ALIAS,
    LABEL,
    EntityNames,
    TaggedName,
    ValueKind,
    literal,
    thing,
)

if TYPE_CHECKING:
    import pyoxigraph

DIRECT = f"{PROP}direct/"
_KINDS: tuple[ValueKind, ...] = ("thing", "date", "number")
_FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE"}


class Statements:
    """The statements of some properties ("P57"), and the names of all entities.

    Each text is kept once; a statement takes 16 bytes.
    """

    def __init__(self, properties: Iterable[str]) -> None:
        from pyoxigraph import NamedNode

        self._iri = NamedNode
        self._properties = {DIRECT + number: number for number in properties}
        self._pairs: dict[tuple[str, ValueKind], tuple[list[str], list[str]]] = {
            (number, kind): ([], []) for number in self._properties.values() for kind in _KINDS
        }
        self.names = EntityNames()
        self._entities: dict[str, str] = {}  # text by IRI, while reading

    def of(self, number: str, kind: ValueKind) -> Iterator[tuple[str, str]]:
        """Subject and value of a property's statements with values of a kind."""
        return zip(*self._pairs[number, kind], strict=True)

    def read(self, path: Path) -> None:
        """Add a built graph's folder, or a file of triples (.nt or .ttl, plain, .gz or .zst).

        Raises InputError where there is neither, or a file is broken (with its line).
        """
        if path.is_dir():
            self._read_store(path)
        else:
            self._read_file(path)
        self._entities.clear()

    def _read_store(self, folder: Path) -> None:
        from branchwise.corpora.graph.open import graph_folder
        from branchwise.corpora.graph.store import open_store

        store = open_store(graph_folder(folder))
        for predicate in (*self._properties, LABEL, ALIAS):
            rows = store.query(f"SELECT ?s ?o WHERE {{ ?s <{predicate}> ?o }}")
            for subject, object in cast("pyoxigraph.QuerySolutions", rows):
                self._add(subject, predicate, object)

    def _read_file(self, path: Path) -> None:
        import pyoxigraph

        inner = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
        if inner.suffix not in _FORMATS:
            raise InputError(
                "does not have the name of a file of triples",
                where=str(path),
                remedy="give a folder that `branchwise kg build` made, or a .nt or .ttl file",
            )
        syntax = getattr(pyoxigraph.RdfFormat, _FORMATS[inner.suffix])
        wanted = {*self._properties, LABEL, ALIAS}
        with open_data(path) as stream:
            try:
                for triple in pyoxigraph.parse(input=stream, format=syntax):
                    if (predicate := triple.predicate.value) in wanted:
                        self._add(triple.subject, predicate, triple.object)
            except SyntaxError as error:
                raise InputError(str(error.msg), where=f"{path}:{error.lineno}") from None

    def _add(self, subject: Any, predicate: str, object: Any) -> None:
        """Keep a statement of a wanted property, or a name; pass over blank nodes."""
        entity = self._entity(subject)
        if entity is None:
            return
        number = self._properties.get(predicate)
        datatype = getattr(object, "datatype", None)  # only literals have one
        if number is None:
            if datatype is not None:
                add = self.names.add_label if predicate == LABEL else self.names.add_alias
                add(entity, TaggedName(object.value, object.language or ""))
        elif datatype is not None:
            if value := literal(object.value, datatype.value):
                self._keep(entity, number, value.kind, value.text)
        elif (other := self._entity(object)) is not None:
            self._keep(entity, number, "thing", other)

    def _entity(self, term: Any) -> str | None:
        """The text of an IRI, the same object each time; None for any other term."""
        if not isinstance(term, self._iri):
            return None
        iri = term.value
        known = self._entities.get(iri)
        if known is None and (value := thing(iri)):
            known = self._entities[iri] = value.text
        return known

    def _keep(self, entity: str, number: str, kind: ValueKind, text: str) -> None:
        subjects, values = self._pairs[number, kind]
        subjects.append(entity)
        values.append(text)
