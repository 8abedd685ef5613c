"""Search-R1's retrieval server over any retriever: `POST /retrieve`.

With scores a response is `{"result": [[{"document": {"id", "contents"}, "score": float}]]}`, a list
for each query; without them the documents are bare. The original searches for each client alone;
here waiting queries are searched together.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from branchwise.base.text import encodable, one_line, parsed
from branchwise.corpora.retrieval import DEFAULT_K, MAX_K, Hit, RetrieverError
from branchwise.tools.batcher import LARGEST_BATCH, Batcher
from branchwise.tools.web_server import LAST, json_response, read_body, service

PATH = "/retrieve"
MAX_QUERIES, MAX_QUERY_CHARS = 8192, 16_000
MAX_PASSAGES = 65_536
"""Queries times `topk`: a response is built in memory."""
MAX_BODY_BYTES = 32 * 1024 * 1024
BODY_SECONDS = 30.0
_GONE = 499  # the client has left


def retrieve_app(
    batcher: Batcher, complain: Callable[[str], None], *, only_loopback: bool = True
) -> Starlette:
    """The app. `complain` gets one line for each failure of the server rather than the client."""

    async def left(request: Request) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    async def retrieve(request: Request) -> Response:
        try:
            asked = await _read(request)
            searching = asyncio.ensure_future(search(asked.queries, asked.topk or DEFAULT_K))
            leaving = asyncio.ensure_future(left(request))
            try:
                await asyncio.wait({searching, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not searching.done():
                    raise ClientDisconnect
                return json_response(json_answer(searching.result(), asked.return_scores))
            finally:
                searching.cancel()
                leaving.cancel()
        except ClientDisconnect:
            return Response(status_code=_GONE)

    async def search(queries: Sequence[str], k: int) -> list[list[Hit]]:
        """A ranking for each query; other requests run between its parts."""
        rankings: list[list[Hit]] = []
        try:
            for start in range(0, len(queries), LARGEST_BATCH):
                part = queries[start : start + LARGEST_BATCH]
                rankings += await asyncio.gather(*(batcher.search(query, k) for query in part))
        except RetrieverError as error:
            raise HTTPException(502, str(error)) from None
        except Exception as error:  # noqa: BLE001 - the next request may be answered
            complain(one_line(f"a search failed: {type(error).__name__}: {error}"))
            raise HTTPException(500, "the search failed; the server's output says why") from None
        return rankings

    fields = '{"queries": [str], "topk": int, "return_scores": bool}'
    about = {
        "protocol": f"Search-R1: POST {PATH} {fields}",
        "retriever": batcher.retriever.name,
        "identity": dict(batcher.identity),
        "topk": {"default": DEFAULT_K, "most": MAX_K},
        "most": {
            "queries": MAX_QUERIES,
            "characters_of_a_query": MAX_QUERY_CHARS,
            "passages": MAX_PASSAGES,
            "bytes": MAX_BODY_BYTES,
        },
    }
    return service(PATH, retrieve, about, only_loopback=only_loopback)


class _RetrieveRequest(BaseModel):
    """A training step of Search-R1 sends thousands of queries at once, some of them empty."""

    model_config = ConfigDict(frozen=True)

    queries: list[Annotated[str, Field(max_length=MAX_QUERY_CHARS)]] = Field(max_length=MAX_QUERIES)
    topk: int | None = Field(default=None, ge=1, le=MAX_K)
    return_scores: bool = False


async def _read(request: Request) -> _RetrieveRequest:
    """What a client asks, with whole characters. Raises HTTPException and ClientDisconnect."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        # This also stops forms on web pages: browsers do not let a page send this type unasked.
        raise HTTPException(415, "send JSON, with the header Content-Type: application/json", LAST)
    try:
        value = parsed(await read_body(request, MAX_BODY_BYTES, BODY_SECONDS))
    except ValueError:
        raise HTTPException(400, "the request is not valid JSON") from None
    if not isinstance(value, dict):
        raise HTTPException(422, 'write {"queries": [...], "topk": 3, "return_scores": true}')
    if isinstance(queries := value.get("queries"), list):
        # A stray half of a character from a model must not cause all queries to be refused.
        value["queries"] = [encodable(q) if isinstance(q, str) else q for q in queries]
    try:
        asked = _RetrieveRequest.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = "".join(f"[{p}]" if isinstance(p, int) else str(p) for p in first["loc"])
        raise HTTPException(422, f"{where}: {first['msg']}") from None
    k = asked.topk or DEFAULT_K
    if len(asked.queries) * k > MAX_PASSAGES:
        what = f"{len(asked.queries)} queries with {k} passages each are more than {MAX_PASSAGES}"
        raise HTTPException(422, f"{what} passages; send them in parts")
    return asked


def json_answer(rankings: Sequence[Sequence[Hit]], with_scores: bool) -> dict[str, Any]:
    """The response with these rankings, in Search-R1's form."""

    def written(hit: Hit) -> dict[str, Any]:
        passage = hit.passage
        # As in corpora: a passage of one line without a title is all text.
        bare = not passage.title and "\n" not in passage.text
        document = {"id": passage.id, "contents": passage.text if bare else passage.contents}
        return {"document": document, "score": float(hit.score)} if with_scores else document

    return {"result": [list(map(written, hits)) for hits in rankings]}
