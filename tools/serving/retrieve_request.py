"""The request of `POST /retrieve` (Search-R1, `search_r1/search/retrieval_server.py`)."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.corpora.retrieval import DEFAULT_K, MAX_K
from branchwise.corpora.text import encodable
from branchwise.tools.serving.refusals import RefusalError

MAX_QUERIES, MAX_QUERY_CHARS = 8192, 16_000
MAX_PASSAGES = 65_536
"""Queries times `topk`: a response is built in memory."""


class RetrieveRequest(BaseModel):
    """`queries`, the passages for each (None: 3), and whether their scores are wanted.

    A training step of Search-R1 sends thousands of queries at once, some of them empty.
    """

    model_config = ConfigDict(frozen=True)

    queries: list[Annotated[str, Field(max_length=MAX_QUERY_CHARS)]] = Field(max_length=MAX_QUERIES)
    topk: int | None = Field(default=None, ge=1, le=MAX_K)
    return_scores: bool = False

    @property
    def k(self) -> int:
        """Passages for each query."""
        return self.topk or DEFAULT_K


def parse_request(value: Any) -> RetrieveRequest:
    """The request in a JSON value, with whole characters. Raises RefusalError (422)."""
    if not isinstance(value, dict):
        raise RefusalError(422, 'write {"queries": [...], "topk": 3, "return_scores": true}')
    try:
        request = RetrieveRequest.model_validate(value | _whole_queries(value.get("queries")))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = "".join(f"[{p}]" if isinstance(p, int) else str(p) for p in first["loc"])
        raise RefusalError(422, f"{where}: {first['msg']}") from None
    if len(request.queries) * request.k > MAX_PASSAGES:
        raise RefusalError(
            422,
            f"{len(request.queries)} queries with {request.k} passages each are more than "
            f"{MAX_PASSAGES} passages; send them in parts",
        )
    return request


def _whole_queries(queries: Any) -> dict[str, Any]:
    """Replace lone surrogates: a stray one from a model must not cause all queries to be
    refused."""
    if not isinstance(queries, list):
        return {}
    return {"queries": [encodable(q) if isinstance(q, str) else q for q in queries]}
