"""The built-in tools: `local_retriever` and `open_passages` of a corpus, `wikidata_search` and
`wikisparql` of a knowledge graph. Import lazily: it loads langchain."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, SkipValidation

from branchwise.base.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.corpora.folder import Titles
from branchwise.corpora.retrieval import DEFAULT_K, MAX_K, Hit, Retriever, RetrieverError
from branchwise.kg.answers import (
    DEFAULT_SECONDS,
    Graph,
    KgError,
    Term,
)
from branchwise.tools.artifacts import (
    MatchRecord,
    RowsRecord,
    ToolArtifact,
)
from branchwise.tools.batcher import Batcher
from branchwise.tools.result_text import (
    MAX_MORE_QUERIES,
    MAX_OPENED,
    NO_PASSAGE,
    ShownPassages,
    answer_text,
    blocks,
    by_label,
    matches_text,
    new_and_repeated,
    passage_record,
    spread,
)
from branchwise.tools.tool_results import ToolError


class BuiltInTool(BaseTool):
    """Answers an agent directly: LangChain's way to a tool, with callbacks, run contexts and a walk
    through its schema's classes, takes longer than a search. Others invoke it like any tool.

    `_arun` takes the fields of `args_schema` and `shown`.
    """

    args_schema: type[BaseModel]
    response_format: Literal["content_and_artifact"] = "content_and_artifact"

    @property
    def address(self) -> str | None:
        """The address of the server that it asks; None for what is searched here."""
        return None

    async def answer(
        self, arguments: Mapping[str, Any], shown: ShownPassages | None = None
    ) -> tuple[str, ToolArtifact]:
        """The text for the model and the artifact for the trace.

        `shown`: the passages that the model has before it; None where that is not to matter.
        Raises ValidationError for arguments that do not fit the schema, and ToolError, in words for
        the model, if the call failed.
        """
        checked = self.args_schema.model_validate(arguments)
        result: tuple[str, ToolArtifact] = await self._arun(**vars(checked), shown=shown)
        return result

    def _run(self, *_: Any, **arguments: Any) -> tuple[str, ToolArtifact]:
        result: tuple[str, ToolArtifact] = asyncio.run(self._arun(**arguments))
        return result


_DESCRIPTIONS: Mapping[PromptSet, str] = {
    "v2": """Search the passage collection and return the best matching passages.

Each passage is shown as "[id] Title" and its text; "2 of 3" behind a title says that it has \
several passages. Name the thing you mean, in plain words: "capital of Bolivia" finds more than \
"what is its capital". Passages that you have not found yet may need another wording, another \
name, or a look from the other side: what one passage leaves out may stand in another's.""",
    "paper": """Search a collection of passages. Returns those that match the query best, each as \
"[id] Title" and its text.""",
}
_OPENS: Mapping[PromptSet, str] = {
    "v2": """Show all passages of a title, in their order.

Use it where a search result says "2 of 3" behind a title, or where you know the title: it costs \
less than searching for the rest. Copy the title as the search showed it.""",
    "paper": "Open all passages of a title, in their order.",
}
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
_AT_ONCE = 32
"""Calls of a graph."""
_SHORTENS = " A passage that you have before you is only named again; the next one takes its place."
_CITES = " The id in brackets is what to cite."


class _OneQuery(BaseModel):
    query: str = Field(
        description="What to look for: a question or key words.",
        min_length=1,
        max_length=4000,
    )


class _OneQueryAndK(_OneQuery):
    k: int = Field(default=DEFAULT_K, description="How many passages to return.", ge=1, le=MAX_K)


class _Queries(_OneQuery):
    more_queries: list[str] = Field(
        default=[],
        description="Other queries to answer in the same call, each on its own.",
        max_length=MAX_MORE_QUERIES,
    )


class _QueryAndPage(_Queries):
    page: int = Field(
        default=1,
        description="Which passages: 1 for the best ones, 2 for the next, and so on.",
        ge=1,
        le=MAX_K,
    )


class _QueryAndK(_Queries):
    k: int = Field(
        default=DEFAULT_K, description="How many passages to return for a query.", ge=1, le=MAX_K
    )


@dataclass(frozen=True)
class SearchForm:
    """How passages are searched for and shown.

    `k`: passages a query; None leaves it to the model. `titles`: to say which part of a title a
    passage is. `shortens`: a passage that the model has before it is named and not shown again.
    `cites`: answers cite passages. `per_name`: how many passages of one name come before others
    (`spread`). `prompt_set`: in whose words, and with which arguments.
    """

    k: int | None = None
    titles: Titles | None = None
    shortens: bool = False
    cites: bool = False
    per_name: int | None = None
    prompt_set: PromptSet = DEFAULT_SET

    @property
    def description(self) -> str:
        """What the tool says of itself."""
        shortens, cites = _SHORTENS if self.shortens else "", _CITES if self.cites else ""
        return f"{_DESCRIPTIONS[self.prompt_set]}{shortens}{cites}"

    @property
    def arguments(self) -> type[BaseModel]:
        """What the model gives."""
        if self.prompt_set == "paper":
            return _OneQuery if self.k else _OneQueryAndK
        return _QueryAndPage if self.k else _QueryAndK


class _LocalRetriever(BuiltInTool):
    batcher: SkipValidation[Batcher]
    form: SkipValidation[SearchForm]

    @property
    def address(self) -> str | None:
        """The address that is asked; None where the search is local."""
        return self.batcher.address

    async def _arun(
        self,
        query: str,
        k: int = 0,
        page: int = 1,
        more_queries: Sequence[str] = (),
        shown: ShownPassages | None = None,
    ) -> tuple[str, ToolArtifact]:
        form, queries = self.form, (query, *more_queries)
        k = k or form.k or DEFAULT_K
        # Enough where all that may be known, or come after others, is among the best.
        behind = MAX_K if form.per_name else shown.most if shown else 0
        depth = min(MAX_K, page * k + behind + (len(queries) - 1) * k)
        searches = [self.batcher.search(each, depth) for each in queries]
        try:
            # Most calls have one query, which needs no task of its own.
            is_one = len(searches) == 1
            rankings = [await searches[0]] if is_one else await asyncio.gather(*searches)
        except RetrieverError as error:
            raise ToolError(f"{error}; go on with the other tools, or ask again later") from error
        known, texts = set(await shown.ids() if shown else ()), list[str]()
        artifact = ToolArtifact(passages=[])
        for each, ranking in zip(queries, rankings, strict=True):
            order = spread(ranking, form.per_name) if form.per_name else ranking
            hits, repeats = new_and_repeated(order[(page - 1) * k :], k, known)
            records = [passage_record(hit, form.titles) for hit in hits]
            # Of two queries the second repeats nothing.
            known |= {hit.passage.id for hit in hits}
            artifact["passages"] += records
            if repeats:
                artifact["repeats"] = [*artifact.get("repeats", []), *repeats]
            if len(queries) > 1:
                texts.append(f"For {each!r}:")
            if records:
                texts.append(blocks(records, repeats))
            elif repeats:
                texts += ["No other passage matches the query.", blocks([], repeats)]
            else:
                further = "No further passage matches the query."
                texts.append(NO_PASSAGE if page == 1 else further)
        return "\n\n".join(texts), artifact


def make_local_retriever(
    search: Batcher | Retriever, form: SearchForm = SearchForm()
) -> BuiltInTool:
    """The tool over a retriever; its result is text and a `ToolArtifact`."""
    return _LocalRetriever(
        name="local_retriever",
        description=form.description,
        args_schema=form.arguments,
        batcher=search if isinstance(search, Batcher) else Batcher(search),
        form=form,
    )


class _Title(BaseModel):
    title: str = Field(
        description="The title, without the id and the number of the passage.",
        min_length=1,
        max_length=1000,
    )


class _OpenPassages(BuiltInTool):
    titles: SkipValidation[Titles]

    async def _arun(
        self, title: str, shown: ShownPassages | None = None
    ) -> tuple[str, ToolArtifact]:
        # The first look-up reads the whole corpus.
        passages = await asyncio.to_thread(self.titles.passages, title)
        known = await shown.ids() if shown else ()
        if not passages:
            advice = "No passage has this title; search for it: titles must be written in full."
            return advice, ToolArtifact(passages=[])
        hits, repeats = new_and_repeated([Hit(p, 0.0) for p in passages], MAX_OPENED, known)
        records = [passage_record(hit, self.titles) for hit in hits]
        artifact = ToolArtifact(passages=records)
        if repeats:
            artifact["repeats"] = repeats
        left = len(passages) - len(hits) - len(repeats)
        more = [f"{left} more passages of this title are not shown."] if left else []
        return "\n\n".join([blocks(records, repeats), *more]), artifact


def make_open_passages(titles: Titles, prompt_set: PromptSet = DEFAULT_SET) -> BuiltInTool:
    """The tool over the titles of a corpus; `prompt_set`: in whose words it describes itself."""
    return _OpenPassages(
        name="open_passages",
        description=_OPENS[prompt_set],
        args_schema=_Title,
        titles=titles,
    )


class _KgTool(BuiltInTool):
    """Waits for the graph on threads of its own, so that agents do not wait for each other."""

    kg: SkipValidation[Graph]
    threads: SkipValidation[ThreadPoolExecutor]

    async def _arun(self, *, shown: object = None, **given: Any) -> tuple[str, ToolArtifact]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, lambda: self._run(**given))


class _NameArguments(BaseModel):
    text: str = Field(
        description="A name, or for properties a word or phrase.",
        min_length=1,
        max_length=1000,
    )
    kind: Literal["item", "property"] = Field(default="item", description="What to look for.")
    limit: int = Field(default=8, description="How many names.", ge=1, le=50)


class _WikidataSearch(_KgTool):
    @property
    def address(self) -> str | None:
        """The address that names are searched at; None for a graph in a folder."""
        return getattr(self.kg, "name_address", None)

    def _run(
        self, text: str, kind: Literal["item", "property"] = "item", limit: int = 8
    ) -> tuple[str, ToolArtifact]:
        try:
            matches = self.kg.search(text, kind, limit)
        except KgError as error:
            raise ToolError(str(error)) from error
        records = [match._asdict() | {"types": list(match.types)} for match in matches]
        for record in records:
            if not record["members"]:
                del record["members"]
        return matches_text(text, matches), ToolArtifact(matches=cast(list[MatchRecord], records))


def make_wikidata_search(kg: Graph, prompt_set: PromptSet = DEFAULT_SET) -> BuiltInTool:
    """The tool over a graph; `prompt_set`: in whose words it describes itself."""
    return _WikidataSearch(
        name="wikidata_search",
        description=_SEARCHES[prompt_set],
        args_schema=_NameArguments,
        kg=kg,
        threads=ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="wikidata_search"),
    )


class _SparqlArguments(BaseModel):
    query: str = Field(description="A SPARQL query: SELECT, ASK, CONSTRUCT or DESCRIBE.")


class _WikiSparql(_KgTool):
    finds_names: bool

    @property
    def address(self) -> str | None:
        """The endpoint's address; None for a graph in a folder."""
        return getattr(self.kg, "address", None)

    def _run(self, query: str) -> tuple[str, ToolArtifact]:
        advice = str if self.finds_names else by_label
        try:
            answer = self.kg.query(query, DEFAULT_SECONDS)
        except KgError as error:
            raise ToolError(advice(str(error))) from error
        rows = RowsRecord(
            variables=list(answer.variables),
            rows=[[term and _value(term) for term in row] for row in answer.rows],
            complete=answer.complete,
            boolean=answer.boolean,
            labels=dict(answer.labels),
        )
        advised = replace(answer, notes=tuple(map(advice, answer.notes)))
        return answer_text(advised), ToolArtifact(rows=rows)


def _value(term: Term) -> dict[str, str]:
    """As in SPARQL's JSON results."""
    kind = {"iri": "uri", "literal": "literal", "blank": "bnode"}[term.kind]
    more = {"datatype": term.datatype, "xml:lang": term.language}
    return {"type": kind, "value": term.value, **{key: text for key, text in more.items() if text}}


def make_wikisparql(
    kg: Graph, prompt_set: PromptSet = DEFAULT_SET, *, finds_names: bool = True
) -> BuiltInTool:
    """The tool over a graph. `prompt_set`: in whose words it describes itself; `finds_names`: its
    advice may be to call `wikidata_search`."""
    return _WikiSparql(
        name="wikisparql",
        description=_QUERIES[prompt_set],
        args_schema=_SparqlArguments,
        kg=kg,
        finds_names=finds_names,
        threads=ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="wikisparql"),
    )
