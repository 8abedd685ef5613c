"""The statements of a graph that questions are made from, and their terms as texts.

An entity or item is its number ("Q42") or its IRI in angle brackets, a date is "1976-03-14", or
as much of it as is known, and a number is decimal text without an exponent. Each text has a number,
in the order of all texts: sorted numbers are sorted texts.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from branchwise.base.errors import InputError
from branchwise.base.files import open_data
from branchwise.corpora.kept_arrays import PackedTexts, file_origin, kept_arrays, packed
from branchwise.kg.open import kg_folder
from branchwise.kg.schema import ENDED, Relation, ValueKind
from branchwise.kg.store import check_kg, open_store, read_description
from branchwise.kg.vocabulary import DATES, ENTITY, PROP

if TYPE_CHECKING:
    import numpy as np
    import pyoxigraph

    from branchwise.corpora.kept_arrays import Arrays


_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = frozenset(
    _XSD + name
    for name in (
        *("decimal", "integer", "double", "float", "int", "long", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedLong"),
    )
)
_QID = re.compile(r"Q[1-9]\d*")
_DATE = re.compile(r"\+?(-?\d{4,}(?:-\d\d(?:-\d\d)?)?)(?:T.*|Z|[+-]\d\d:\d\d)?")
_UNKNOWN = "/.well-known/genid/"  # Wikibase's IRIs for "some value"


class TermValue(NamedTuple):
    """What a statement ends in."""

    kind: ValueKind
    text: str


def thing(iri: str) -> TermValue | None:
    """ "Q42" for an entity of Wikidata's, "<iri>" for others; None for an unknown value."""
    if _UNKNOWN in iri:
        return None
    known = iri.startswith(ENTITY) and _QID.fullmatch(iri, len(ENTITY))
    return TermValue("thing", iri[len(ENTITY) :] if known else f"<{iri}>")


def entity_iri(text: str) -> str:
    """The IRI of what `thing` wrote."""
    return text[1:-1] if text.startswith("<") else ENTITY + text


@lru_cache(maxsize=65_536)
def literal(text: str, datatype: str) -> TermValue | None:
    """A date or a number; None for a literal that is neither."""
    if datatype in DATES:
        date = _DATE.fullmatch(text)
        return TermValue("date", date[1]) if date else None
    if datatype not in _NUMBERS:
        return None
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > 40:
        return None
    plain = f"{number:f}"
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return TermValue("number", "0" if plain in ("-0", "") else plain)


LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
LANGUAGES = ("en", "mul", "")
"""Best first. A label of another language is better than none; an alias is not."""


class TaggedName(NamedTuple):
    """A label or an alias in a language ("" where none is given)."""

    text: str
    language: str


def best_label(names: Iterable[TaggedName]) -> str | None:
    """The label in the best language, the first in order where that has several."""
    best = min(names, key=name_rank, default=None)
    return best.text if best else None


def best_aliases(names: Iterable[TaggedName], label: str) -> tuple[str, ...]:
    """The aliases in `LANGUAGES` that differ from the label, sorted."""
    return tuple(sorted({name.text for name in names if name.language in LANGUAGES} - {label}))


def name_rank(name: TaggedName) -> tuple[int, str, str]:
    """Its place among labels: the lower, the better."""
    known = name.language in LANGUAGES
    place = LANGUAGES.index(name.language) if known else len(LANGUAGES)
    return place, name.language, name.text


DIRECT = f"{PROP}direct/"
_END = f"{PROP}qualifier/P582"
FACTS_FOLDER = "facts"
"""Where a built graph's, or a world's, arrays are kept."""

_KINDS: tuple[ValueKind, ...] = ("thing", "date", "number")
_FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE"}
_TEXTS_AT_HAND = 2**18
_APART = 32  # texts: one of so many is at hand to find the others by


def ended(number: str) -> str:
    """A pattern: a statement of a property leads from ?s to ?o, and has an end time."""
    return f"?s <{PROP}{number}> ?n . ?n <{PROP}statement/{number}> ?o ; <{_END}> ?end ."


def said(relation: Relation) -> str:
    """A pattern: ?s has ?o now, or, of statements that have ended, had and no longer has it."""
    now = f"?s <{DIRECT}{relation.property}> ?o ."
    if not relation.ended:
        return now
    return f"{ended(relation.property)} FILTER NOT EXISTS {{ {now} }}"


class Statements:
    """The statements of some properties ("P57"; "P57 ended" for those with an end time), and the
    names of all entities."""

    def __init__(self, arrays: "Arrays", properties: Iterable[str]) -> None:
        self._texts = PackedTexts(arrays["text"], arrays["text_starts"])
        self._some = [self._texts[place] for place in range(0, len(self), _APART)]
        self._labels = PackedTexts(arrays["label"], arrays["label_starts"])
        self._aliases = PackedTexts(arrays["alias"], arrays["alias_starts"])
        self._alias_of = arrays["alias_of"]
        self._pairs, self._ends = arrays["pairs"], arrays["ends"].tolist()
        self._places = {key: place for place, key in enumerate(_keys(properties))}
        self.text = lru_cache(_TEXTS_AT_HAND)(self._text)
        self._numbers: dict[str, int] = {}  # of texts that were asked for lately

    @classmethod
    def load(
        cls,
        path: Path,
        properties: Iterable[str],
        keep: Path | None = None,
        gathered: "Callable[[], Arrays] | None" = None,
    ) -> "Statements":
        """From a built graph's folder, or a file of triples (.nt or .ttl, plain, .gz or .zst).

        A folder's arrays are kept in it, a file's in `keep`, where it is named, while graph and
        properties are the same. `gathered`: what reading it would give, where that is known.
        Raises InputError where there is neither, or a file is broken.
        """
        wanted = tuple(properties)
        origin: dict[str, Any] = {"properties": wanted}
        if path.is_dir():
            folder = kg_folder(path)
            keep = folder / FACTS_FOLDER
            origin["graph"] = read_description(folder).sha256
        elif path.is_file():
            origin["file"] = file_origin(path)

        def read() -> "Arrays":
            return _Reading(wanted).read(path)

        return cls(kept_arrays(keep, origin, gathered or read), wanted)

    def __len__(self) -> int:
        return len(self._texts)

    def of(self, number: str, kind: ValueKind) -> "np.ndarray":
        """A property's values of a kind, uint32 [n, 2]: subject and value, sorted, each once."""
        place = self._places[number, kind]
        return self._pairs[self._ends[place] : self._ends[place + 1]]

    def label(self, entity: str) -> str:
        """The best label; the entity's number or IRI where it has none."""
        number = self.number(entity)
        return entity if number is None else self._labels[number]

    def aliases(self, entity: str) -> tuple[str, ...]:
        number = self.number(entity)
        if number is None:
            return ()
        first, end = self._alias_of.searchsorted([number, number + 1])
        return tuple(self._aliases[place] for place in range(first, end))

    def number(self, text: str) -> int | None:
        """The place of a text among all; None where the graph lacks it."""
        number = self._numbers.get(text)
        if number is None:
            after = bisect_right(self._some, text) * _APART
            number = bisect_left(self._texts, text, max(after - _APART, 0), min(after, len(self)))
            if number == len(self) or self._texts[number] != text:
                return None
            self._keep(text, number)
        return number

    def _text(self, number: int) -> str:
        text = self._texts[number]
        self._keep(text, number)
        return text

    def _keep(self, text: str, number: int) -> None:
        if len(self._numbers) >= _TEXTS_AT_HAND:
            self._numbers.clear()
        self._numbers[text] = number


def _keys(properties: Iterable[str]) -> list[tuple[str, ValueKind]]:
    return [(number, kind) for number in properties for kind in _KINDS]


class _Reading:
    """Statements as they are read: each text has the number of its place among those met."""

    def __init__(self, properties: Iterable[str]) -> None:
        self._properties = {DIRECT + number: number for number in properties}
        self._pairs = no_pairs(self._properties.values())
        # By IRI or, for dates and numbers, by text, which has no colon.
        self._numbers: dict[str, int] = {}
        self._labels: dict[int, TaggedName] = {}
        self._aliases: dict[int, list[TaggedName]] = {}

    def read(self, path: Path) -> "Arrays":
        if not path.is_dir():
            self._read_file(path)
            return self._arrays()
        kg = kg_folder(path)
        check_kg(kg)
        store = open_store(kg)
        for predicate in (*self._properties, LABEL, ALIAS):
            number = self._properties.get(predicate, "")
            had = number.endswith(ENDED) and ended(number.removesuffix(ENDED))
            rows = store.query(f"SELECT ?s ?o WHERE {{ {had or f'?s <{predicate}> ?o'} }}")
            pairs = cast("Iterable[tuple[Any, Any]]", rows)
            self._add((subject, predicate, object) for subject, object in pairs)
        return self._arrays()

    def _read_file(self, path: Path) -> None:
        import pyoxigraph

        inner = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
        if inner.suffix not in _FORMATS:
            problem = "does not have the name of a file of triples"
            remedy = "give a folder that `branchwise kg build` made, or a .nt or .ttl file"
            raise InputError(problem, where=str(path), remedy=remedy)
        syntax = getattr(pyoxigraph.RdfFormat, _FORMATS[inner.suffix])
        with open_data(path) as stream:
            try:
                self._add(self._wanted(pyoxigraph.parse(input=stream, format=syntax)))
            except SyntaxError as error:
                raise InputError(str(error.msg), where=f"{path}:{error.lineno}") from None

    def _wanted(self, triples: "Iterable[Any]") -> "Iterator[tuple[Any, str, Any]]":
        """Triples of wanted predicates; then the statements with an end time, which have a node:
        under a predicate that ends in `ENDED`."""
        wanted = {*self._properties, LABEL, ALIAS}
        had = [p for p, number in self._properties.items() if number.endswith(ENDED)]
        whole = {p.replace(DIRECT, PROP).removesuffix(ENDED): p for p in had}
        parts = {p.replace(PROP, f"{PROP}statement/") for p in whole}
        subjects: dict[Any, tuple[Any, str]] = {}
        values: dict[Any, Any] = {}
        ends = set()
        for triple in triples:
            predicate = triple.predicate.value
            if predicate in wanted:
                yield triple.subject, predicate, triple.object
            elif predicate in whole:
                subjects[triple.object] = triple.subject, whole[predicate]
            elif predicate in parts:
                values[triple.subject] = triple.object
            elif predicate == _END and had:
                ends.add(triple.subject)
        for node in ends & subjects.keys() & values.keys():
            yield *subjects[node], values[node]

    def _add(self, triples: "Iterable[tuple[Any, str, Any]]") -> None:
        """Keep statements of wanted properties, and names; pass over blank nodes. One loop without
        calls for each: a world of a million entities has nine million statements."""
        from pyoxigraph import Literal, NamedNode

        numbers = self._numbers
        pairs_of = {p: self._pairs[number, "thing"] for p, number in self._properties.items()}
        for subject, predicate, object in triples:
            if type(subject) is not NamedNode:
                continue
            iri = subject.value
            entity = numbers.get(iri)
            if entity is None and (entity := self._thing(iri)) is None:
                continue
            kind = type(object)
            if kind is NamedNode and predicate in pairs_of:
                iri = object.value
                other = numbers.get(iri)
                if other is not None or (other := self._thing(iri)) is not None:
                    subjects, values = pairs_of[predicate]
                    subjects.append(entity)
                    values.append(other)
            elif kind is Literal:
                self._add_literal(entity, predicate, object)

    def _add_literal(self, entity: int, predicate: str, object: "pyoxigraph.Literal") -> None:
        number = self._properties.get(predicate)
        if number is not None:
            if value := literal(object.value, object.datatype.value):
                subjects, values = self._pairs[number, value.kind]
                subjects.append(entity)
                values.append(self._text(value.text))
            return
        name = TaggedName(object.value, object.language or "")
        if predicate == ALIAS:
            self._aliases.setdefault(entity, []).append(name)
        else:
            known = self._labels.setdefault(entity, name)
            self._labels[entity] = min(known, name, key=name_rank)

    def _thing(self, iri: str) -> int | None:
        return self._text(iri) if thing(iri) else None

    def _text(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def _arrays(self) -> "Arrays":
        """The statements; empties this object to save memory."""
        texts = [value.text if ":" in t and (value := thing(t)) else t for t in self._numbers]
        self._numbers.clear()
        named = {n: name.text for n, name in self._labels.items()}
        labels = [named.get(n, text) for n, text in enumerate(texts)]
        aliases = {n: best_aliases(names, labels[n]) for n, names in self._aliases.items()}
        alias_of = array("I", (n for n, own in aliases.items() for _ in own))
        every = list(chain.from_iterable(aliases.values()))
        return arranged(texts, labels, every, alias_of, self._pairs)


PairsByProperty = dict[tuple[str, ValueKind], tuple["array[int]", "array[int]"]]
"""By property and kind of value: subjects and values, by the numbers of their texts."""


def no_pairs(properties: Iterable[str]) -> PairsByProperty:
    return {key: (array("I"), array("I")) for key in _keys(properties)}


def arranged(
    texts: "Sequence[str] | PackedTexts",
    labels: "Sequence[str] | PackedTexts",
    aliases: "Sequence[str] | PackedTexts",
    alias_of: "array[int]",
    pairs: PairsByProperty,
) -> "Arrays":
    """The arrays of `Statements`, from texts in any order, each once, with a label each. Aliases of
    one text are sorted; `alias_of` is its number. Empties `pairs` to save memory."""
    import numpy as np

    order = sorted(range(len(texts)), key=texts.__getitem__)
    ranks = np.empty(len(texts), dtype=np.uint32)
    ranks[order] = np.arange(len(texts), dtype=np.uint32)
    ranked = []  # uint32 [n, 2] each: subjects and values by their ranks, sorted, each pair once
    for key in tuple(pairs):
        subjects, objects = (ranks[np.frombuffer(c, dtype=np.uint32)] for c in pairs.pop(key))
        both = np.unique(subjects.astype(np.uint64) << 32 | objects)
        ranked.append(np.stack([both >> 32, both & 0xFFFFFFFF], axis=1).astype(np.uint32))
    named = ranks[np.frombuffer(alias_of, dtype=np.uint32)]
    by_rank = np.argsort(named, kind="stable")
    arrays: dict[str, np.ndarray] = {}
    for column, values in (
        ("text", (texts[n] for n in order)),
        ("label", (labels[n] for n in order)),
        ("alias", (aliases[n] for n in by_rank.tolist())),
    ):
        arrays[column], arrays[f"{column}_starts"] = packed(values)
    arrays["alias_of"] = named[by_rank]
    arrays["pairs"] = np.concatenate(ranked)
    arrays["ends"] = np.cumsum([0, *map(len, ranked)])
    return arrays
