"""`local_retriever(query, k=3)`: search the corpus. Import lazily: it loads langchain."""

from collections.abc import Sequence

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from branchwise.corpora.retrieval import DEFAULT_K, MAX_K, Hit, Retriever
from branchwise.tools.artifacts import PassageRecord, ToolArtifact
from branchwise.tools.batcher import Batcher

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


def make_local_retriever(search: Batcher | Retriever, k: int | None = None) -> BaseTool:
    """The tool over a retriever; with `k` given, the model cannot choose it.

    Its result is text for the model and a `ToolArtifact` (ids, titles, texts, scores).
    """
    batcher = search if isinstance(search, Batcher) else Batcher(search)

    def blocking(query: str, k: int = k or DEFAULT_K) -> tuple[str, ToolArtifact]:
        return _result(batcher.search_blocking(query, k))

    async def concurrent(query: str, k: int = k or DEFAULT_K) -> tuple[str, ToolArtifact]:
        return _result(await batcher.search(query, k))

    schema: type[BaseModel] = _QueryAndK if k is None else _Query
    return StructuredTool.from_function(
        func=blocking,
        coroutine=concurrent,
        name=NAME,
        description=_DESCRIPTION,
        args_schema=schema,
        response_format="content_and_artifact",
        infer_schema=False,
    )


def _result(hits: Sequence[Hit]) -> tuple[str, ToolArtifact]:
    records = [PassageRecord(id=p.id, title=p.title, text=p.text, score=score) for p, score in hits]
    text = "\n\n".join(map(_shown, records)) or "No passage matches the query."
    return text, ToolArtifact(passages=records)


def _shown(record: PassageRecord) -> str:
    """`[id] Title`, and the text on one line: a passage cannot pose as the start of another."""
    return f"[{record['id']}] {_one_line(record['title'])}\n{_one_line(record['text'])}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
