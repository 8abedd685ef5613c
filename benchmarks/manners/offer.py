"""What the tools offer a model, read from their schemas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Calls = list[tuple[str, dict[str, Any]]]
"""Tools' names and arguments."""
MOST_QUERIES = 4
"""Of one call, where a schema that takes several does not say how many."""

MOST_TITLES = 10


@dataclass(frozen=True)
class Offer:
    """The tool that searches, whether it takes a `page`, how many queries a call, and the tool that
    opens a title's passages, with its argument; "" where there is none."""

    search: str = ""
    pages: bool = False
    queries: int = 1
    opens: str = ""
    opens_by: str = ""

    @classmethod
    def of(cls, schemas: Sequence[Mapping[str, Any]] | None) -> "Offer":
        """Of a request's tools."""
        functions = {f["name"]: _properties(f) for s in schemas or () if (f := s.get("function"))}
        search, its = next(((n, p) for n, p in functions.items() if "query" in p), ("", {}))
        opens, by = next(
            ((n, a) for n, p in functions.items() for a in p if a in ("title", "titles")), ("", "")
        )
        return cls(search, "page" in its, _most_queries(its), opens, by)

    def searches(self, queries: Sequence[str]) -> Calls:
        """Calls that search for each of the queries, as many in a call as one takes."""
        if self.queries == 1:
            return [(self.search, {"query": query}) for query in queries]
        groups = [queries[n : n + self.queries] for n in range(0, len(queries), self.queries)]
        return [
            (self.search, {"query": first, "more_queries": list(more)}) for first, *more in groups
        ]

    def page(self, args: Mapping[str, Any], page: int) -> Calls:
        """The call for another page of a search."""
        return [(self.search, {**args, "page": page})]

    def open(self, titles: Sequence[str]) -> Calls:
        """Calls that open the titles, as many in a call as one takes."""
        if self.opens_by != "titles":
            return [(self.opens, {self.opens_by: title}) for title in titles]
        groups = [titles[n : n + MOST_TITLES] for n in range(0, len(titles), MOST_TITLES)]
        return [(self.opens, {self.opens_by: list(group)}) for group in groups]


def _properties(function: Mapping[str, Any]) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = function.get("parameters", {}).get("properties", {})
    return properties


def _most_queries(properties: Mapping[str, Any]) -> int:
    schema = properties.get("more_queries")
    return 1 if schema is None else 1 + int(schema.get("maxItems", MOST_QUERIES))
