"""Search-R1's retrieval server over any retriever: `POST /retrieve`.

With scores a response is `{"result": [[{"document": {"id", "contents"}, "score": float}]]}`, a list
for each query; without them the documents are bare. The original searches for each client alone;
here waiting queries are searched together.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from importlib.metadata import version
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive

from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import DEFAULT_K, MAX_K, Hit, RetrieverError
from branchwise.corpora.text import encodable, one_line
from branchwise.tools.batcher import LARGEST_BATCH, Batcher
from branchwise.tools.serving.guard import LoopbackOnly
from branchwise.tools.serving.requests import (
    STOPPING,
    RefusalError,
    json_response,
    read_json,
    refused,
    say_no_route,
    say_refusal,
)

MAX_QUERIES, MAX_QUERY_CHARS = 8192, 16_000
MAX_PASSAGES = 65_536
"""Queries times `topk`: a response is built in memory."""


class _RetrieveRequest(BaseModel):
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


def _parse_request(value: Any) -> _RetrieveRequest:
    """The request in a JSON value, with whole characters. Raises RefusalError (422)."""
    if not isinstance(value, dict):
        raise RefusalError(422, 'write {"queries": [...], "topk": 3, "return_scores": true}')
    try:
        request = _RetrieveRequest.model_validate(value | _whole_queries(value.get("queries")))
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


PATH = "/retrieve"
MAX_BODY_BYTES = 32 * 1024 * 1024
BODY_SECONDS = 30.0
_GONE = 499  # the client has left

T = TypeVar("T")


def retrieve_app(
    batcher: Batcher, complain: Callable[[str], None], *, only_loopback: bool = True
) -> Starlette:
    """The app. `complain` gets one line for each failure of the server rather than the client."""
    server = _Server(batcher, complain)
    return Starlette(
        routes=[
            Route(PATH, server.retrieve, methods=["POST"]),
            Route("/", server.describe, methods=["GET"]),
            Route("/health", server.describe, methods=["GET"]),
        ],
        middleware=[Middleware(LoopbackOnly)] if only_loopback else [],
        exception_handlers={RefusalError: say_refusal, HTTPException: say_no_route},
    )


class _Server:
    def __init__(self, batcher: Batcher, complain: Callable[[str], None]) -> None:
        self._batcher, self._complain = batcher, complain

    async def retrieve(self, request: Request) -> Response:
        """The passages for each query of a request, in the order of its queries."""
        try:
            value = await read_json(request, MAX_BODY_BYTES, BODY_SECONDS)
            asked = _parse_request(value)
            found = await _unless_gone(request.receive, self._search(asked.queries, asked.k))
        except ClientDisconnect:
            return Response(status_code=_GONE)
        except asyncio.CancelledError:
            # Only the end of the server cancels. Clients that know 503 come back.
            return refused(503, STOPPING, last=True)
        return json_response(json_answer(found, with_scores=asked.return_scores))

    async def describe(self, _: Request) -> Response:
        """What the server serves."""
        return json_response(
            {
                "status": "ok",
                "server": f"branchwise {version('branchwise')}",
                "protocol": f"Search-R1: POST {PATH} "
                '{"queries": [str], "topk": int, "return_scores": bool}',
                "retriever": self._batcher.retriever.name,
                "identity": dict(self._batcher.identity),
                "topk": {"default": DEFAULT_K, "most": MAX_K},
                "most": {
                    "queries": MAX_QUERIES,
                    "characters_of_a_query": MAX_QUERY_CHARS,
                    "passages": MAX_PASSAGES,
                    "bytes": MAX_BODY_BYTES,
                },
            }
        )

    async def _search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """A ranking for each query; other requests run between its parts."""
        found: list[list[Hit]] = []
        try:
            for start in range(0, len(queries), LARGEST_BATCH):
                part = queries[start : start + LARGEST_BATCH]
                found += await asyncio.gather(*(self._batcher.search(query, k) for query in part))
        except RetrieverError as error:
            raise RefusalError(502, str(error)) from None
        except Exception as error:  # noqa: BLE001 - the next request may be answered
            self._complain(one_line(f"a search failed: {type(error).__name__}: {error}"))
            raise RefusalError(500, "the search failed; the server's output says why") from None
        return found


async def _unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; if the client leaves first, cancel it and raise ClientDisconnect."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def json_answer(rankings: Sequence[Sequence[Hit]], *, with_scores: bool) -> dict[str, Any]:
    """The response with these rankings, in Search-R1's form."""
    write = _with_score if with_scores else _document
    return {"result": [list(map(write, hits)) for hits in rankings]}


def _with_score(hit: Hit) -> dict[str, Any]:
    return {"document": _document(hit), "score": float(hit.score)}


def _document(hit: Hit) -> dict[str, str]:
    return {"id": hit.passage.id, "contents": _contents(hit.passage)}


def _contents(passage: Passage) -> str:
    """Title and text as in corpora: a passage of one line without a title is all text."""
    if not passage.title and "\n" not in passage.text:
        return passage.text
    return passage.contents
