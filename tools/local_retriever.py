"""`local_retriever(query, k=3)`: search the corpus. Import lazily: it loads langchain."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, SkipValidation

from branchwise.corpora.retrieval import DEFAULT_K, MAX_K, Hit, Retriever, RetrieverError
from branchwise.corpora.text import unbroken
from branchwise.tools.artifacts import PassageRecord, ToolArtifact
from branchwise.tools.batcher import Batcher
from branchwise.tools.errors import ToolError

NAME = "local_retriever"
MAX_QUERY_CHARS = 4000

_DESCRIPTION = """Search the passage collection and return the best matching passages.

Each passage is shown as "[id] Title" and its text. Ask for one thing at a time, in plain words, \
and name the thing you mean: "capital of Bolivia" finds more than "what is its capital". \
Passages that you have not found yet may need another wording or another name. The id in \
brackets is what to cite."""


class _Query(BaseModel):
    query: str = Field(
        description="What to look for: a question or key words.",
        min_length=1,
        max_length=MAX_QUERY_CHARS,
    )


class _QueryAndK(_Query):
    k: int = Field(default=DEFAULT_K, description="How many passages to return.", ge=1, le=MAX_K)


class _LocalRetriever(BaseTool):
    """A class of its own: StructuredTool inspects its function's types again at every call."""

    batcher: SkipValidation[Batcher]
    default_k: int

    def _run(self, query: str, k: int = 0) -> tuple[str, ToolArtifact]:
        with _as_tool_errors():
            return _result(self.batcher.search_blocking(query, k or self.default_k))

    async def _arun(self, query: str, k: int = 0) -> tuple[str, ToolArtifact]:
        with _as_tool_errors():
            return _result(await self.batcher.search(query, k or self.default_k))


def make_local_retriever(search: Batcher | Retriever, k: int | None = None) -> BaseTool:
    """The tool over a retriever; with `k` given, the model cannot choose it.

    Its result is text for the model and a `ToolArtifact` (ids, titles, texts, scores).
    """
    return _LocalRetriever(
        name=NAME,
        description=_DESCRIPTION,
        args_schema=_QueryAndK if k is None else _Query,
        response_format="content_and_artifact",
        batcher=search if isinstance(search, Batcher) else Batcher(search),
        default_k=k or DEFAULT_K,
    )


@contextmanager
def _as_tool_errors() -> Iterator[None]:
    """A retriever elsewhere that does not answer: its own words, for the model."""
    try:
        yield
    except RetrieverError as error:
        raise ToolError(f"{error}; go on with the other tools, or ask again later") from None


def _result(hits: Sequence[Hit]) -> tuple[str, ToolArtifact]:
    records = [PassageRecord(id=p.id, title=p.title, text=p.text, score=score) for p, score in hits]
    return passages_text(records), ToolArtifact(passages=records)


def passages_text(records: Sequence[PassageRecord]) -> str:
    """Passages as the agent is shown them."""
    return "\n\n".join(map(_shown, records)) or "No passage matches the query."


def _shown(record: PassageRecord) -> str:
    """`[id] Title`, and the text on one line: a passage cannot pose as the start of another."""
    return f"[{record['id']}] {unbroken(record['title'])}\n{unbroken(record['text'])}"
