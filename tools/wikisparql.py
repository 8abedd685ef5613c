"""`wikisparql(query)`: query a knowledge graph in SPARQL. Import lazily: it loads langchain."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field, SkipValidation

from branchwise.corpora.graph.answers import DEFAULT_SECONDS, Graph, GraphError, QueryResult, Term
from branchwise.corpora.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.tools.artifacts import RowsRecord, ToolArtifact
from branchwise.tools.built_in import BuiltInTool
from branchwise.tools.errors import ToolError
from branchwise.tools.graph_text import answer_text, by_label

NAME = "wikisparql"
MAX_AT_ONCE = 32

_DESCRIPTIONS: Mapping[PromptSet, str] = {
    "v2": """Ask the knowledge graph in SPARQL, in Wikidata's vocabulary.

The usual prefixes (wd: wdt: p: ps: pq: rdfs: schema: skos: wikibase: bd: xsd:) are declared \
already. Numbers of entities and properties cannot be guessed: look them up first. `?xLabel` \
gives the label of ?x. Rows come back with labels; at most 100 are shown. Only reading is \
possible.""",
    "paper": """Run a SPARQL query on a knowledge graph in the vocabulary of Wikidata. Returns the \
rows with labels, 100 at most. Wikidata's usual prefixes are declared.""",
}


class _Query(BaseModel):
    query: str = Field(description="A SPARQL query: SELECT, ASK, CONSTRUCT or DESCRIBE.")


class _WikiSparql(BuiltInTool):
    """Waits for the graph on its own thread, so that agents do not wait for each other."""

    graph: SkipValidation[Graph]
    seconds: float
    finds_names: bool
    threads: SkipValidation[ThreadPoolExecutor]

    @property
    def address(self) -> str | None:
        """The endpoint's address; None for a graph in a folder."""
        return getattr(self.graph, "address", None)

    def _run(self, query: str) -> tuple[str, ToolArtifact]:
        try:
            answer = self.graph.query(query, self.seconds)
        except GraphError as error:
            raise ToolError(self._advice(str(error))) from error
        told = replace(answer, notes=tuple(map(self._advice, answer.notes)))
        return answer_text(told), ToolArtifact(rows=_record(answer))

    def _advice(self, text: str) -> str:
        return text if self.finds_names else by_label(text)

    async def _arun(self, query: str, **_: Any) -> tuple[str, ToolArtifact]:
        return await asyncio.get_running_loop().run_in_executor(self.threads, self._run, query)


def make_wikisparql(
    graph: Graph,
    seconds: float = DEFAULT_SECONDS,
    prompt_set: PromptSet = DEFAULT_SET,
    finds_names: bool = True,
) -> BuiltInTool:
    """The tool over a graph; a query that takes longer than `seconds` is stopped.

    Its result is text for the model and a `ToolArtifact` with the rows. `prompt_set`:
    in whose words it describes itself. `finds_names`: its advice may be to call `wikidata_search`.
    """
    return _WikiSparql(
        name=NAME,
        description=_DESCRIPTIONS[prompt_set],
        args_schema=_Query,
        graph=graph,
        seconds=seconds,
        finds_names=finds_names,
        threads=ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix=NAME),
    )


def _record(answer: QueryResult) -> RowsRecord:
    """For the trace: values as in SPARQL's JSON results, and the labels shown with them."""
    return RowsRecord(
        variables=list(answer.variables),
        rows=[[_value(term) for term in row] for row in answer.rows],
        complete=answer.complete,
        boolean=answer.boolean,
        labels=dict(answer.labels),
    )


def _value(term: Term | None) -> dict[str, str] | None:
    if term is None:
        return None
    kind = {"iri": "uri", "literal": "literal", "blank": "bnode"}[term.kind]
    value = {"type": kind, "value": term.value}
    if term.datatype:
        value["datatype"] = term.datatype
    if term.language:
        value["xml:lang"] = term.language
    return value
