"""`local_retriever(query, k=3)`, which searches the corpus, and `open_passages(title)`, which shows
all passages of a title. Import lazily: it loads langchain."""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import BaseModel, Field, SkipValidation

from branchwise.base.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.corpora.folder import Titles
from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import DEFAULT_K, MAX_K, Hit, Retriever, RetrieverError
from branchwise.tools.artifacts import PassageRecord, RepeatRecord, ToolArtifact
from branchwise.tools.batcher import Batcher
from branchwise.tools.built_in import BuiltInTool
from branchwise.tools.errors import ToolError
from branchwise.tools.passage_blocks import (
    MAX_MORE_QUERIES,
    MAX_OPENED,
    NO_PASSAGE,
    ShownPassages,
    blocks,
    new_and_repeated,
    passage_record,
    spread,
)

MAX_QUERY_CHARS = 4000
MAX_TITLE_CHARS = 1000

_DESCRIPTIONS: Mapping[PromptSet, str] = {
    "v2": """Search the passage collection and return the best matching passages.

Each passage is shown as "[id] Title" and its text; "2 of 3" behind a title says that it has \
several passages. Name the thing you mean, in plain words: "capital of Bolivia" finds more than \
"what is its capital". Passages that you have not found yet may need another wording, another \
name, or a look from the other side: what one passage leaves out may stand in another's.""",
    "paper": """Search a collection of passages. Returns those that match the query best, each as \
"[id] Title" and its text.""",
}
_SHORTENS = " A passage that you have before you is only named again; the next one takes its place."
_CITES = " The id in brackets is what to cite."


class _OneQuery(BaseModel):
    query: str = Field(
        description="What to look for: a question or key words.",
        min_length=1,
        max_length=MAX_QUERY_CHARS,
    )


class _OneQueryAndK(_OneQuery):
    k: int = Field(default=DEFAULT_K, description="How many passages to return.", ge=1, le=MAX_K)


class _Query(_OneQuery):
    more_queries: list[str] = Field(
        default=[],
        description="Other queries to answer in the same call, each on its own.",
        max_length=MAX_MORE_QUERIES,
    )


class _QueryAndPage(_Query):
    page: int = Field(
        default=1,
        description="Which passages: 1 for the best ones, 2 for the next, and so on.",
        ge=1,
        le=MAX_K,
    )


class _QueryAndK(_Query):
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

    def _run(
        self, query: str, k: int = 0, page: int = 1, more_queries: Sequence[str] = ()
    ) -> tuple[str, ToolArtifact]:
        ask = _Ask((query, *more_queries), k or self.form.k or DEFAULT_K, page, self._behind(0))
        with _as_tool_errors():
            search = self.batcher.search_blocking
            return ask.result([search(one, ask.depth) for one in ask.queries], self.form)

    async def _arun(
        self,
        query: str,
        k: int = 0,
        page: int = 1,
        more_queries: Sequence[str] = (),
        shown: ShownPassages | None = None,
    ) -> tuple[str, ToolArtifact]:
        behind = self._behind(shown.most if shown else 0)
        ask = _Ask((query, *more_queries), k or self.form.k or DEFAULT_K, page, behind)
        with _as_tool_errors():
            searches = [self.batcher.search(one, ask.depth) for one in ask.queries]
            # Most calls have one query, which needs no task of its own.
            is_one = len(searches) == 1
            rankings = [await searches[0]] if is_one else await asyncio.gather(*searches)
        return ask.result(rankings, self.form, await shown.ids() if shown else ())

    def _behind(self, known: int) -> int:
        """How many hits behind the page are looked at."""
        return MAX_K if self.form.per_name else known


@dataclass(frozen=True)
class _Ask:
    """A call. `behind`: how many hits more than the page's may be needed."""

    queries: tuple[str, ...]
    k: int
    page: int = 1
    behind: int = 0

    @property
    def depth(self) -> int:
        """How many hits are asked for: enough where all that may be known is among the best."""
        others = (len(self.queries) - 1) * self.k
        return min(MAX_K, self.page * self.k + self.behind + others)

    def result(
        self, rankings: Sequence[Sequence[Hit]], form: SearchForm, shown: Collection[str] = ()
    ) -> tuple[str, ToolArtifact]:
        """The text for the model, and the artifact. Of two queries the second repeats nothing."""
        known, texts = set(shown), list[str]()
        artifact = ToolArtifact(passages=[])
        for query, ranking in zip(self.queries, rankings, strict=True):
            order = spread(ranking, form.per_name) if form.per_name else ranking
            hits, repeats = new_and_repeated(order[(self.page - 1) * self.k :], self.k, known)
            records = [passage_record(hit, form.titles) for hit in hits]
            known |= {hit.passage.id for hit in hits}
            artifact["passages"] += records
            if repeats:
                artifact["repeats"] = [*artifact.get("repeats", []), *repeats]
            heading = [f"For {query!r}:"] if len(self.queries) > 1 else []
            texts += [*heading, _text(records, repeats, self.page)]
        return "\n\n".join(texts), artifact


def _text(records: Sequence[PassageRecord], repeats: Sequence[RepeatRecord], page: int) -> str:
    if records:
        return blocks(records, repeats)
    if repeats:
        return "\n\n".join(["No other passage matches the query.", blocks([], repeats)])
    return NO_PASSAGE if page == 1 else "No further passage matches the query."


def make_local_retriever(
    search: Batcher | Retriever, form: SearchForm = SearchForm()
) -> BuiltInTool:
    """The tool over a retriever.

    Its result is text for the model and a `ToolArtifact` (ids, titles, texts, scores).
    """
    return _LocalRetriever(
        name="local_retriever",
        description=form.description,
        args_schema=form.arguments,
        batcher=search if isinstance(search, Batcher) else Batcher(search),
        form=form,
    )


@contextmanager
def _as_tool_errors() -> Iterator[None]:
    """The error of a remote retriever, in its own words, for the model."""
    try:
        yield
    except RetrieverError as error:
        raise ToolError(f"{error}; go on with the other tools, or ask again later") from error


_OPENS: Mapping[PromptSet, str] = {
    "v2": """Show all passages of a title, in their order.

Use it where a search result says "2 of 3" behind a title, or where you know the title: it costs \
less than searching for the rest. Copy the title as the search showed it.""",
    "paper": "Open all passages of a title, in their order.",
}


class _Title(BaseModel):
    title: str = Field(
        description="The title, without the id and the number of the passage.",
        min_length=1,
        max_length=MAX_TITLE_CHARS,
    )


class _OpenPassages(BuiltInTool):
    titles: SkipValidation[Titles]

    def _run(self, title: str) -> tuple[str, ToolArtifact]:
        return self._shown(title, self.titles.passages(title), ())

    async def _arun(
        self, title: str, shown: ShownPassages | None = None
    ) -> tuple[str, ToolArtifact]:
        # The first look-up reads the whole corpus.
        passages = await asyncio.to_thread(self.titles.passages, title)
        return self._shown(title, passages, await shown.ids() if shown else ())

    def _shown(
        self, title: str, passages: Sequence[Passage], known: Collection[str]
    ) -> tuple[str, ToolArtifact]:
        if not passages:
            advice = "No passage has this title; search for it: titles must be written in full."
            return advice, ToolArtifact(passages=[])
        hits, repeats = new_and_repeated([Hit(one, 0.0) for one in passages], MAX_OPENED, known)
        records = [passage_record(hit, self.titles) for hit in hits]
        artifact = ToolArtifact(passages=records)
        if repeats:
            artifact["repeats"] = repeats
        left = len(passages) - len(hits) - len(repeats)
        more = [f"{left} more passages of this title are not shown."] if left else []
        return "\n\n".join([blocks(records, repeats), *more]), artifact


def make_open_passages(titles: Titles, prompt_set: PromptSet = DEFAULT_SET) -> BuiltInTool:
    """The tool over the titles of a corpus; its result is text and a `ToolArtifact`.

    `prompt_set`: in whose words it describes itself.
    """
    return _OpenPassages(
        name="open_passages",
        description=_OPENS[prompt_set],
        args_schema=_Title,
        titles=titles,
    )
