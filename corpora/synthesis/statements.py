"""What of a graph's triples plans are made and executed with, read into memory once."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.corpora.errors import InputError
from branchwise.corpora.files import open_data
from branchwise.corpora.graph.vocabulary import PROP
from branchwise.corpora.synthesis.entity_names import ALIAS, LABEL, EntityNames, Name
from branchwise.corpora.synthesis.values import Value, ValueKind, entity_text, literal, thing

if TYPE_CHECKING:
    import pyoxigraph

DIRECT = f"{PROP}direct/"
_KINDS: tuple[ValueKind, ...] = ("thing", "date", "number")
_FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE"}


class Statements:
    """The statements of some properties ("P57"), and the names of all entities.

    Each text is kept once; a statement takes 16 bytes. `pairs` are subjects and values by property
    and kind of value, one beside the other.
    """

    def __init__(self, properties: Iterable[str]) -> None:
        self._properties = {DIRECT + number: number for number in properties}
        self.pairs: dict[tuple[str, ValueKind], tuple[list[str], list[str]]] = {
            (number, kind): ([], []) for number in self._properties.values() for kind in _KINDS
        }
        self.names = EntityNames()
        self._texts: dict[str, str] = {}

    def of(self, number: str, kind: ValueKind) -> Iterator[tuple[str, str]]:
        """Subject and value of a property's statements with values of a kind."""
        return zip(*self.pairs[number, kind], strict=True)

    def read(self, path: Path) -> None:
        """Add a built graph's folder, or a file of triples (.nt or .ttl, plain, .gz or .zst).

        Raises InputError where there is neither, or a file is broken (with its line).
        """
        if path.is_dir():
            self._read_store(path)
        else:
            self._read_file(path)
        self._texts.clear()

    def _read_store(self, folder: Path) -> None:
        from pyoxigraph import NamedNode

        from branchwise.corpora.graph.open import graph_folder
        from branchwise.corpora.graph.store import open_store

        store = open_store(graph_folder(folder))
        for predicate in (*self._properties, LABEL, ALIAS):
            self._add(store.quads_for_pattern(None, NamedNode(predicate), None))

    def _read_file(self, path: Path) -> None:
        import pyoxigraph

        inner = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
        if inner.suffix not in _FORMATS:
            raise InputError(
                "is no file of triples by its name",
                where=str(path),
                remedy="give a folder that `branchwise kg build` made, or a .nt or .ttl file",
            )
        syntax = getattr(pyoxigraph.RdfFormat, _FORMATS[inner.suffix])
        with open_data(path) as stream:
            try:
                self._add(pyoxigraph.parse(input=stream, format=syntax))
            except SyntaxError as error:
                raise InputError(str(error.msg), where=f"{path}:{error.lineno}") from None

    def _add(self, triples: "Iterable[pyoxigraph.Triple | pyoxigraph.Quad]") -> None:
        """Keep the statements of wanted properties, and names; pass over all else."""
        from pyoxigraph import Literal, NamedNode

        for triple in triples:
            subject, predicate, object = triple.subject, triple.predicate.value, triple.object
            if not isinstance(subject, NamedNode):
                continue
            if number := self._properties.get(predicate):
                if isinstance(object, NamedNode):
                    self._add_value(subject.value, number, thing(object.value))
                elif isinstance(object, Literal):
                    value = literal(object.value, object.datatype.value)
                    self._add_value(subject.value, number, value)
            elif predicate in (LABEL, ALIAS) and isinstance(object, Literal):
                name = Name(object.value, object.language or "")
                self._add_name(subject.value, predicate, name)

    def _add_value(self, iri: str, number: str, value: Value | None) -> None:
        if value is not None:
            subjects, values = self.pairs[number, value.kind]
            subjects.append(self._once(entity_text(iri)))
            values.append(self._once(value.text))

    def _add_name(self, iri: str, predicate: str, name: Name) -> None:
        add = self.names.add_label if predicate == LABEL else self.names.add_alias
        add(self._once(entity_text(iri)), name)

    def _once(self, text: str) -> str:
        return self._texts.setdefault(text, text)
