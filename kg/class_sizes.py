"""How many things are instances of a class, asked with SPARQL and remembered."""

import re
from collections.abc import Callable, Iterable, Sequence

from branchwise.kg.answers import KgError, Match, QueryResult
from branchwise.kg.remote.selecting import iri_list
from branchwise.kg.vocabulary import ENTITY, INSTANCE_OF, RDF_TYPE, is_wikidata_id

_AT_ONCE = 50  # things that are asked after with one query
_MOST_KNOWN = 100_000
_COUNT = re.compile("[0-9]{1,15}")


class ClassSizes:
    """Sizes of the classes of one graph. Safe to use from any thread.

    If a query fails (a large class may take an endpoint too long), nothing more is asked: sizes
    help to choose, and no search should wait for them twice.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._able = True

    def added(self, matches: Sequence[Match], select: Callable[[str], QueryResult]) -> list[Match]:
        """The matches, with `members` where they are classes and the graph says how large."""
        new = [match.id for match in matches if match.id not in self._known][:_AT_ONCE]
        query = _sizes_query(new)
        if query and self._able:
            try:
                self._remember(new, select(query))
            except KgError:
                self._able = False
        return [match._replace(members=self._known.get(match.id, 0)) for match in matches]

    def _remember(self, asked: Iterable[str], answer: QueryResult) -> None:
        if len(self._known) > _MOST_KNOWN:
            self._known = {}
        sizes = {
            cls.value.removeprefix(ENTITY): int(size.value)
            for cls, size in answer.cells("class", "size")
            if cls and size and _COUNT.fullmatch(size.value)
        }
        self._known |= {identifier: sizes.get(identifier, 0) for identifier in asked}


def _sizes_query(identifiers: Iterable[str]) -> str:
    """Counts of one pattern each: most stores have them without looking at every triple."""
    parts = []
    for identifier in identifiers:
        on_wikidata = is_wikidata_id(identifier)
        if iri := iri_list([ENTITY + identifier if on_wikidata else identifier]):
            property = INSTANCE_OF if on_wikidata else RDF_TYPE
            counted = f"SELECT (COUNT(*) AS ?size) WHERE {{ ?thing <{property}> {iri} }}"
            parts.append(f"{{ {{ {counted} }} BIND({iri} AS ?class) }}")
    return f"SELECT ?class ?size WHERE {{ {' UNION '.join(parts)} }}" if parts else ""
