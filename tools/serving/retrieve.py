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

from branchwise.corpora.retrieval import DEFAULT_K, MAX_K, Hit, RetrieverError
from branchwise.corpora.text import encodable, one_line, parsed
from branchwise.tools.batcher import LARGEST_BATCH, Batcher
from branchwise.tools.serving.web import (
    STOPPING,
    LoopbackOnly,
    RefusalError,
    json_response,
    read_body,
    refused,
    say_why,
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


async def _read(request: Request) -> _RetrieveRequest:
    """What a client asks, with whole characters. Raises RefusalError and ClientDisconnect."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        # This also stops forms on web pages: browsers do not let a page send this type unasked.
        raise RefusalError(
            415, "send JSON, with the header Content-Type: application/json", last=True
        )
    try:
        value = parsed(await read_body(request, MAX_BODY_BYTES, BODY_SECONDS))
    except ValueError:
        raise RefusalError(400, "the request is not valid JSON") from None
    if not isinstance(value, dict):
        raise RefusalError(422, 'write {"queries": [...], "topk": 3, "return_scores": true}')
    if isinstance(queries := value.get("queries"), list):
        # A stray half of a character from a model must not cause all queries to be refused.
        value["queries"] = [encodable(q) if isinstance(q, str) else q for q in queries]
    try:
        asked = _RetrieveRequest.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = "".join(f"[{p}]" if isinstance(p, int) else str(p) for p in first["loc"])
        raise RefusalError(422, f"{where}: {first['msg']}") from None
    if len(asked.queries) * asked.k > MAX_PASSAGES:
        raise RefusalError(
            422,
            f"{len(asked.queries)} queries with {asked.k} passages each are more than "
            f"{MAX_PASSAGES} passages; send them in parts",
        )
    return asked


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
        exception_handlers={RefusalError: say_why, HTTPException: say_why},
    )


class _Server:
    def __init__(self, batcher: Batcher, complain: Callable[[str], None]) -> None:
        self._batcher, self._complain = batcher, complain

    async def retrieve(self, request: Request) -> Response:
        """The passages for each query of a request, in the order of its queries."""
        try:
            asked = await _read(request)
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

    def written(hit: Hit) -> dict[str, Any]:
        passage = hit.passage
        # As in corpora: a passage of one line without a title is all text.
        bare = not passage.title and "\n" not in passage.text
        document = {"id": passage.id, "contents": passage.text if bare else passage.contents}
        return {"document": document, "score": float(hit.score)} if with_scores else document

    return {"result": [list(map(written, hits)) for hits in rankings]}
