"""Triples in memory that answer SPARQL as a graph does, with as few rows as a test wants."""

import pyoxigraph

from branchwise.kg.answers import QueryResult, Term


class StoreKg:
    """As much of a Graph as facts are asked from. `queries` are those it was asked."""

    def __init__(self, turtle: str, most: int = 1_000) -> None:
        self._store = pyoxigraph.Store()
        self._store.load(turtle.encode(), format=pyoxigraph.RdfFormat.TURTLE)
        self._most = most
        self.queries: list[str] = []

    def query(self, sparql: str, seconds: float = 10.0) -> QueryResult:
        self.queries.append(sparql)
        found = self._store.query(sparql)
        rows = [tuple(map(_term, row)) for row in found]
        names = tuple(variable.value for variable in found.variables)
        return QueryResult(names, tuple(rows[: self._most]), complete=len(rows) <= self._most)


def _term(term: object) -> Term:
    if isinstance(term, pyoxigraph.NamedNode):
        return Term(term.value, "iri")
    if isinstance(term, pyoxigraph.BlankNode):
        return Term(term.value, "blank")
    assert isinstance(term, pyoxigraph.Literal)
    return Term(term.value, "literal", term.datatype.value, term.language or "")
