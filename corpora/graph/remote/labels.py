"""Names for the IRIs in an endpoint's rows."""

from collections.abc import Iterable

from branchwise.corpora.graph.answers import QueryResult
from branchwise.corpora.graph.remote.selecting import (
    PREFIXES,
    Select,
    english_only,
    iri_list,
    language_rank,
)
from branchwise.corpora.graph.vocabulary import ENTITY, is_internal, wikidata_predicate

MAX_LABELS = 100
"""Labels that are looked up for one answer: what a model is shown has no more rows."""


def unlabelled(answer: QueryResult) -> list[str]:
    """The IRIs in the rows, in order, of columns that have no ?xLabel column beside them."""
    named = {name.removesuffix("Label") for name in answer.variables if name.endswith("Label")}
    columns = [i for i, name in enumerate(answer.variables) if name not in named]
    cells = (row[column] for row in answer.rows for column in columns)
    iris = dict.fromkeys(cell.value for cell in cells if cell and cell.kind == "iri")
    return [iri for iri in iris if _entity(iri)][:MAX_LABELS]


def labels_of(iris: Iterable[str], select: Select) -> dict[str, str]:
    """English labels by IRI, with one query. Raises GraphError.

    A predicate of Wikidata's (wdt:P57) has the label of its property.
    """
    entities = {iri: _entity(iri) for iri in iris}
    values = iri_list(dict.fromkeys(filter(None, entities.values())))
    if not values:
        return {}
    answer = select(
        f"{PREFIXES}SELECT ?thing ?label WHERE {{ VALUES ?thing {{ {values} }} "
        f"?thing rdfs:label|skos:prefLabel ?label . {english_only('?label')} }}"
    )
    best: dict[str, tuple[int, str]] = {}
    for thing, label in answer.cells("thing", "label"):
        if thing and label:
            found = (language_rank(label.language), label.value)
            best[thing.value] = min(found, best.get(thing.value, found))
    return {iri: best[entity][1] for iri, entity in entities.items() if entity in best}


def _entity(iri: str) -> str | None:
    """What bears the label; None where nothing can."""
    predicate = wikidata_predicate(iri)
    if predicate:
        return ENTITY + predicate.property
    return None if is_internal(iri) else iri
