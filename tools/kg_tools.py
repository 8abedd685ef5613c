"""`wikidata_search(text)`, from a name to the entities that bear it, and `wikisparql(query)`, which
queries the knowledge graph. Import lazily: it loads langchain."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal, cast

from pydantic import BaseModel, Field, SkipValidation

from branchwise.base.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.kg.answers import (
    DEFAULT_SECONDS,
    Graph,
    KgError,
    Match,
    QueryResult,
    Term,
)
from branchwise.tools.artifacts import MatchRecord, RowsRecord, ToolArtifact
from branchwise.tools.built_in import BuiltInTool
from branchwise.tools.errors import ToolError
from branchwise.tools.kg_text import answer_text, by_label, matches_text

DEFAULT_LIMIT, MAX_LIMIT, MAX_TEXT_CHARS = 8, 50, 1000
MAX_AT_ONCE = 32

_SEARCHES: Mapping[PromptSet, str] = {
    "v2": """Find entities or properties of the knowledge graph by name, for use in a query.

With kind "item": everything that is called `text` (name or alias), with number, description, kind \
and number of statements; things that share a name are listed together, and each may be meant. \
Where nothing is, the nearest names, and that they are only near. With kind "property": the \
property that a phrase means, such as "starred in" or "date of birth".""",
    "paper": """Find entities of the knowledge graph by name, or with kind "property" properties \
by a word or phrase. Returns numbers, labels and descriptions.""",
}
_QUERIES: Mapping[PromptSet, str] = {
    "v2": """Ask the knowledge graph in SPARQL, in Wikidata's vocabulary.

The usual prefixes (wd: wdt: p: ps: pq: rdfs: schema: skos: wikibase: bd: xsd:) are declared \
already. Numbers of entities and properties cannot be guessed: look them up first. `?xLabel` \
gives the label of ?x. Rows come back with labels; at most 100 are shown. Only reading is \
possible.""",
    "paper": """Run a SPARQL query on a knowledge graph in the vocabulary of Wikidata. Returns the \
rows with labels, 100 at most. Wikidata's usual prefixes are declared.""",
}


class _KgTool(BuiltInTool):
    """Waits for the graph on threads of its own, so that agents do not wait for each other."""

    kg: SkipValidation[Graph]
    threads: SkipValidation[ThreadPoolExecutor]

    async def _arun(self, *, shown: object = None, **given: Any) -> tuple[str, ToolArtifact]:
        loop = asyncio.get_running_loop()
        result: tuple[str, ToolArtifact] = await loop.run_in_executor(
            self.threads, lambda: self._run(**given)
        )
        return result


class _Search(BaseModel):
    text: str = Field(
        description="A name, or for properties a word or phrase.",
        min_length=1,
        max_length=MAX_TEXT_CHARS,
    )
    kind: Literal["item", "property"] = Field(default="item", description="What to look for.")
    limit: int = Field(default=DEFAULT_LIMIT, description="How many names.", ge=1, le=MAX_LIMIT)


class _WikidataSearch(_KgTool):
    @property
    def address(self) -> str | None:
        """The address that names are searched at; None for a graph in a folder."""
        return getattr(self.kg, "name_address", None)

    def _run(
        self, text: str, kind: Literal["item", "property"] = "item", limit: int = DEFAULT_LIMIT
    ) -> tuple[str, ToolArtifact]:
        try:
            matches = self.kg.search(text, kind, limit)
        except KgError as error:
            raise ToolError(str(error)) from error
        return matches_text(text, matches), ToolArtifact(matches=list(map(_match, matches)))


def _match(match: Match) -> MatchRecord:
    record = match._asdict() | {"types": list(match.types)}
    if not match.members:
        del record["members"]
    return cast(MatchRecord, record)


def make_wikidata_search(kg: Graph, prompt_set: PromptSet = DEFAULT_SET) -> BuiltInTool:
    """The tool over a graph; its result is text and a `ToolArtifact` with the matches.

    `prompt_set`: in whose words it describes itself.
    """
    return _WikidataSearch(
        name="wikidata_search",
        description=_SEARCHES[prompt_set],
        args_schema=_Search,
        kg=kg,
        threads=ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="wikidata_search"),
    )


class _Query(BaseModel):
    query: str = Field(description="A SPARQL query: SELECT, ASK, CONSTRUCT or DESCRIBE.")


class _WikiSparql(_KgTool):
    seconds: float
    finds_names: bool

    @property
    def address(self) -> str | None:
        """The endpoint's address; None for a graph in a folder."""
        return getattr(self.kg, "address", None)

    def _run(self, query: str) -> tuple[str, ToolArtifact]:
        try:
            answer = self.kg.query(query, self.seconds)
        except KgError as error:
            raise ToolError(self._advice(str(error))) from error
        advised = replace(answer, notes=tuple(map(self._advice, answer.notes)))
        return answer_text(advised), ToolArtifact(rows=_rows(answer))

    def _advice(self, text: str) -> str:
        return text if self.finds_names else by_label(text)


def _rows(answer: QueryResult) -> RowsRecord:
    """For the trace: values as in SPARQL's JSON results, and the labels shown with them."""
    return RowsRecord(
        variables=list(answer.variables),
        rows=[[term and _value(term) for term in row] for row in answer.rows],
        complete=answer.complete,
        boolean=answer.boolean,
        labels=dict(answer.labels),
    )


def _value(term: Term) -> dict[str, str]:
    kind = {"iri": "uri", "literal": "literal", "blank": "bnode"}[term.kind]
    more = {"datatype": term.datatype, "xml:lang": term.language}
    return {"type": kind, "value": term.value, **{key: text for key, text in more.items() if text}}


def make_wikisparql(
    kg: Graph,
    seconds: float = DEFAULT_SECONDS,
    prompt_set: PromptSet = DEFAULT_SET,
    finds_names: bool = True,
) -> BuiltInTool:
    """The tool over a graph; a query that takes longer than `seconds` is stopped.

    Its result is text for the model and a `ToolArtifact` with the rows. `prompt_set`:
    in whose words it describes itself. `finds_names`: its advice may be to call `wikidata_search`.
    """
    return _WikiSparql(
        name="wikisparql",
        description=_QUERIES[prompt_set],
        args_schema=_Query,
        kg=kg,
        seconds=seconds,
        finds_names=finds_names,
        threads=ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="wikisparql"),
    )
