"""The built-in tools: `local_retriever` and `open_passages` of a corpus, `wikidata_search` and
`wikisparql` of a knowledge graph. Import lazily: it loads langchain."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, SkipValidation

from branchwise.base.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.base.text import counted, cut, unbroken
from branchwise.corpora.folder import Titles
from branchwise.corpora.names_in_text import names_in
from branchwise.corpora.retrieval import DEFAULT_K, MAX_K, Hit, Retriever, RetrieverError
from branchwise.kg.answers import DEFAULT_SECONDS, MAX_TEXT, Graph, KgError, Match
from branchwise.tools.artifacts import MatchRecord, RepeatRecord, ToolArtifact
from branchwise.tools.batcher import Batcher
from branchwise.tools.result_text import (
    MAX_MORE_NAMES,
    MAX_MORE_QUERIES,
    MAX_NAME_CHARS,
    MAX_NAMES,
    MAX_OPENED,
    MAX_SHOWN_BYTES,
    MAX_SHOWN_ROWS,
    MAX_TITLES,
    NO_PASSAGE,
    REACH,
    ShownPassages,
    answer_text,
    blocks,
    by_label,
    matches_text,
    new_and_repeated,
    passage_record,
    repeats_text,
    rows_record,
    search_head,
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
    "v2": f"""Search the passage collection and return the best matching passages.

Each passage is shown as "[id] Title" and its text; "2 of 3" behind a title says that it has \
several passages. Name the thing you mean, in plain words: "capital of Bolivia" finds more than \
"what is its capital"; words in quotation marks are a phrase, and passages that have it come \
first. Passages that you have not found yet may need another wording, another name, or a look \
from the other side: what one passage leaves out may stand in another's. A call counts once, \
however many queries it has: up to {MAX_MORE_QUERIES} `more_queries` cost no further call, only \
what you read of them. A page is a call of its own.""",
    "paper": """Search a collection of passages. Returns those that match the query best, each as \
"[id] Title" and its text.""",
}
_OPENS: Mapping[PromptSet, str] = {
    "v2": f"""Show all passages of titles, in their order.

Use it where a search result says "2 of 3" behind a title, or where you know the titles: it costs \
less than searching for the rest. Copy titles as the search showed them. Up to {MAX_TITLES} titles \
are one call. It shows {MAX_OPENED} passages at most, and says how many are left.""",
    "paper": "Open all passages of titles, in their order.",
}
_SEARCHES: Mapping[PromptSet, str] = {
    "v2": f"""Find entities or properties of the knowledge graph by name, for use in a query.

With kind "item": everything that is called `text` (name or alias), with number, description, kind \
and number of statements; things that share a name are listed together, and each may be meant. \
Where nothing is, the nearest names, and that they are only near. With kind "property": the \
property that a phrase means, such as "starred in" or "date of birth". Up to {MAX_MORE_NAMES} \
`more_texts` of the same kind cost no further call.""",
    "paper": """Find entities of the knowledge graph by name, or with kind "property" properties \
by a word or phrase. Returns numbers, labels and descriptions.""",
}
_QUERIES: Mapping[PromptSet, str] = {
    "v2": f"""Ask the knowledge graph in SPARQL, in Wikidata's vocabulary.

The usual prefixes (wd: wdt: p: ps: pq: rdfs: schema: skos: wikibase: bd: xsd:) are declared \
already. Numbers of entities and properties cannot be guessed: look them up first. `?xLabel` \
gives the label of ?x. Rows come back with labels; at most {MAX_SHOWN_ROWS} are shown, or as many \
as {MAX_SHOWN_BYTES // 1024} KB hold, and of a value at most {MAX_TEXT:,} characters. Only reading \
is possible.""",
    "paper": f"""Run a SPARQL query on a knowledge graph in the vocabulary of Wikidata. Returns \
the rows with labels, {MAX_SHOWN_ROWS} at most (or {MAX_SHOWN_BYTES // 1024} KB). Wikidata's usual \
prefixes are declared.""",
}
_COMMON = "\n\nThe properties that are used most here, which need no search: "
_MOST_COMMON = 30
_AT_ONCE = 32
"""Calls of a graph."""
_SHORTENS = " Passages that you have before you are only counted; others take their places."
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
        is_plain = form.prompt_set == "paper"
        # Enough where all that may be known is among the best, and to count what matches.
        behind = MAX_K if form.per_name or not is_plain else shown.most if shown else 0
        depth = min(MAX_K, page * k + behind + (len(queries) - 1) * k)
        searches = [self.batcher.search(each, depth) for each in queries]
        is_one = len(searches) == 1
        try:
            # Most calls have one query, which needs no task of its own.
            rankings = [await searches[0]] if is_one else await asyncio.gather(*searches)
        except RetrieverError as error:
            raise ToolError(f"{error}; go on with the other tools, or ask again later") from error
        known, texts = set(await shown.ids() if shown else ()), list[str]()
        artifact, repeats = ToolArtifact(passages=[]), list[RepeatRecord]()
        for n, (each, ranking) in enumerate(zip(queries, rankings, strict=True), start=1):
            order = spread(ranking, form.per_name) if form.per_name else ranking
            names = () if is_plain or shown is None else names_in(each)
            start = (page - 1) * k
            hits, again = new_and_repeated(order[start : start + REACH * k], k, known, names)
            records = [passage_record(hit, form.titles) for hit in hits]
            # Of two queries the second repeats nothing.
            known |= {hit.passage.id for hit in hits}
            artifact["passages"] += records
            repeats += again
            if ranking and not is_plain:
                number = 0 if is_one else n
                texts.append(search_head(number, len(records), len(ranking), k, page))
            if records:
                texts.append(blocks(records, ()))
            elif start >= MAX_K:
                texts.append(f"Only the best {MAX_K} passages can be shown.")
            elif again:
                texts.append("Nothing new on this page.")
            else:
                further = "No further passage matches the query."
                texts.append(NO_PASSAGE if page == 1 else further)
        if repeats:
            artifact["repeats"] = repeats
            texts.append(repeats_text(repeats))
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


class _TitleArguments(BaseModel):
    titles: list[str] = Field(
        description="The titles, without the id and the number of the passage.",
        min_length=1,
        max_length=MAX_TITLES,
    )


class _OpenPassages(BuiltInTool):
    titles: SkipValidation[Titles]

    async def _arun(
        self, titles: Sequence[str], shown: ShownPassages | None = None
    ) -> tuple[str, ToolArtifact]:
        opened, missing = list[Hit](), list[str]()
        for title in dict.fromkeys(titles):
            # The first look-up reads the whole corpus.
            passages = await asyncio.to_thread(self.titles.passages, title)
            opened += [Hit(passage, 0.0) for passage in passages]
            missing += [] if passages else [repr(cut(unbroken(title), MAX_NAME_CHARS))]
        known = await shown.ids() if shown else ()
        hits, repeats = new_and_repeated(opened, MAX_OPENED, known)
        records = [passage_record(hit, self.titles) for hit in hits]
        artifact = ToolArtifact(passages=records)
        if repeats:
            artifact["repeats"] = repeats
        texts = [blocks(records, repeats)] if records or repeats else []
        if left := len(opened) - len(hits) - len(repeats):
            how = "call it again for them" if shown else "search for what they say"
            texts.append(f"{counted(left, 'more passage')} of these titles: {how}.")
        if missing:
            advice = "search for it: titles must be written in full"
            texts.append(f"No passage has the title {', '.join(missing)}; {advice}.")
        return "\n\n".join(texts), artifact


def make_open_passages(titles: Titles, prompt_set: PromptSet = DEFAULT_SET) -> BuiltInTool:
    """The tool over the titles of a corpus; `prompt_set`: in whose words it describes itself."""
    return _OpenPassages(
        name="open_passages",
        description=_OPENS[prompt_set],
        args_schema=_TitleArguments,
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
    more_texts: list[str] = Field(
        default=[],
        description="Other names or phrases to look up in the same call, each on its own.",
        max_length=MAX_MORE_NAMES,
    )
    kind: Literal["item", "property"] = Field(default="item", description="What to look for.")
    limit: int = Field(default=8, description="How many names for a text.", ge=1, le=MAX_NAMES)


class _WikidataSearch(_KgTool):
    @property
    def address(self) -> str | None:
        """The address that names are searched at; None for a graph in a folder."""
        return getattr(self.kg, "name_address", None)

    def _run(
        self,
        text: str,
        more_texts: Sequence[str] = (),
        kind: Literal["item", "property"] = "item",
        limit: int = 8,
    ) -> tuple[str, ToolArtifact]:
        shown, records = list[str](), list[dict[str, Any]]()
        texts = list(dict.fromkeys((text, *more_texts)))
        for each in texts:
            try:
                matches = self.kg.search(each, kind, limit)
            except KgError as error:
                raise ToolError(str(error)) from error
            shown.append(matches_text(each, matches, limit))
            records += [match._asdict() | {"types": list(match.types)} for match in matches]
        if more_texts:
            heads = (f"For {cut(unbroken(each), MAX_NAME_CHARS)!r}:" for each in texts)
            shown = [f"{head}\n{found}" for head, found in zip(heads, shown, strict=True)]
        for record in records:
            if not record["members"]:
                del record["members"]
        return "\n\n".join(shown), ToolArtifact(matches=cast(list[MatchRecord], records))


def make_wikidata_search(kg: Graph, prompt_set: PromptSet = DEFAULT_SET) -> BuiltInTool:
    """The tool over a graph; `prompt_set`: in whose words it describes itself."""
    common: Callable[[int], list[Match]] | None = getattr(kg, "most_used_properties", None)
    used = common(_MOST_COMMON) if common and prompt_set != "paper" else []
    listed = "; ".join(f"{match.id} {cut(unbroken(match.label), MAX_NAME_CHARS)}" for match in used)
    return _WikidataSearch(
        name="wikidata_search",
        description=_SEARCHES[prompt_set] + (f"{_COMMON}{listed}." if listed else ""),
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
        advised = replace(answer, notes=tuple(map(advice, answer.notes)))
        return answer_text(advised), ToolArtifact(rows=rows_record(answer))


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
