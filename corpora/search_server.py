"""A retriever behind Search-R1's `/retrieve`: any server that speaks it, no corpus here.

`POST {"queries": [str], "topk": int, "return_scores": true}`: the original server fails without
scores. The answer, read without trust, is
`{"result": [[{"document": {"id", "contents"}, "score": float}]]}`, a list for each query; without
scores the documents stand there bare (Search-R1, `search_r1/search/retrieval_server.py`). Search
engines behind the same protocol send documents without ids. A ranking keeps the server's order.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request

import orjson

from branchwise.base.backoff import Sign, Tries, sign_of_status
from branchwise.base.errors import InputError, warn
from branchwise.base.http import HTTP, ExchangeError, HttpReply, check_way, user_agent
from branchwise.base.keys import NO_KEYS, Keys, headers_for, refused_key
from branchwise.base.text import encodable, parsed, whole_characters
from branchwise.corpora.passages import Passage, passage_id, to_passage
from branchwise.corpora.retrieval import Hit, KeyRefusedError, RetrieverError
from branchwise.kg.remote.responses import asked_wait, server_words

MAX_ID_CHARS = 200
_NOTHING = 3.4e38
PATH = "/retrieve"
_MAX_QUERIES = 64
_MAX_BODY_BYTES = 64 * 1024 * 1024
_LONGEST_BACKOFF = 30.0
_MAY_PASS = frozenset({408, 409, 425, 429})
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
_PROBE = "What is the capital of France?"


def read_rankings(body: bytes, queries: int, k: int) -> list[list[Hit]]:
    """The rankings in a body, at most `k` hits for each of `queries` queries, in its order.
    Repeated passages and places without one are left out, with a warning. A ranking that lacks a
    score gets 1, 1/2, 1/3, ...: the order alone. Raises RetrieverError for another form or number
    of rankings, a score that is no number, and an id of two texts."""
    try:
        rankings = _part(parsed(body), "result")
    except ValueError:
        page = body[:1000].lstrip().lower().startswith((b"<!doctype", b"<html"))
        problem = "a web page" if page else "no JSON"
        raise RetrieverError(f"the retriever's answer is {problem}") from None
    if not isinstance(rankings, list):
        raise RetrieverError('the retriever\'s answer has no list "result"')
    if len(rankings) != queries:
        count = len(rankings)
        raise RetrieverError(f"the retriever answered {count} queries but was asked {queries}")
    return [_ranking(ranking, k) for ranking in rankings]


def _ranking(ranking: Any, k: int) -> list[Hit]:
    """A ranking with each passage once, at its best rank: what is measured is what agents see."""
    if not isinstance(ranking, list):
        raise RetrieverError("the retriever's answer has no list of documents for a query")
    items = [(_part(item, "document") or item, _score(item)) for item in ranking[:k]]
    # faiss says that it found no more by row -1, or the least or greatest score of 32 bits.
    kept = [
        (document, score)
        for document, score in items
        if (_part(document, "id") not in (-1, "-1") if score is None else abs(score) < _NOTHING)
    ]
    if len(kept) < len(items):
        warn("a retriever filled its rankings up with places without a passage: they are left out")
    passages = [_passage(document) for document, _ in kept]
    scores = [score for _, score in kept if score is not None]
    if len(scores) < len(kept):
        scores = [1 / rank for rank in range(1, len(kept) + 1)]
    first: dict[str, Hit] = {}
    for hit in map(Hit, passages, scores):
        earlier = first.setdefault(hit.passage.id, hit).passage
        if earlier != hit.passage:
            raise RetrieverError(f"the retriever gives two texts the id {earlier.id[:80]!r}")
    if len(first) < len(passages):
        warn("a retriever names passages twice in a ranking: all but the first are left out")
    return [*first.values()]


def _score(item: Any) -> float | None:
    score = _part(item, "score")
    if score is None:
        return None
    try:
        number = math.nan if isinstance(score, bool | str) else float(score)
    except (TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise RetrieverError("the retriever's answer has a score that is not a number")
    return number


def _passage(document: Any) -> Passage:
    """A document's `contents` are its title and text; some have `title` and `text` apart."""
    contents, text = _part(document, "contents"), _part(document, "text")
    if not isinstance(contents, str) and isinstance(text, str):
        contents = f"{_part(document, 'title') or ''}\n{text}"
    if not isinstance(contents, str):
        raise RetrieverError("the retriever's answer has a document without contents")
    passage = to_passage("", whole_characters(contents))
    id = _part(document, "id")
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    # An id that can be shown and cited: it stands on a line of its own.
    if not isinstance(id, str) or not id.strip() or not id.isprintable() or len(id) > MAX_ID_CHARS:
        id = passage_id(passage.title, passage.text)
    return passage.model_copy(update={"id": id})


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


@dataclass(frozen=True)
class RequestBounds:
    """`seconds` for one attempt, `total` for all of a request; `pause` before the second. `silent`:
    attempts at a server that gives no answer: those who want to wait wait longer."""

    attempts: int = 5
    silent: int = 2
    seconds: float = 60.0
    total: float = 180.0
    pause: float = 0.5


class SearchServer:
    """Asks a retrieval server, which may be at work for other clients too. Thread-safe. Its address
    is not part of its identity, as with model servers: a server may move."""

    name = "http"
    identity: Mapping[str, Any] = {"kind": "http", "protocol": "search-r1"}

    def __init__(
        self,
        url: str,
        bounds: RequestBounds = RequestBounds(),
        sleep: Callable[[float], None] = time.sleep,
        keys: Keys = NO_KEYS,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        check_way(url)
        self._headers = headers_for(headers or {}, url)
        self.url = self.address = url
        self._bounds, self._sleep, self._keys = bounds, sleep, keys

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        rankings: list[list[Hit]] = []
        for at in range(0, len(queries), _MAX_QUERIES):
            texts = list(map(encodable, queries[at : at + _MAX_QUERIES]))
            request = orjson.dumps({"queries": texts, "topk": k, "return_scores": True})
            rankings += read_rankings(self._posted(request), len(texts), k)
        return rankings

    def _posted(self, body: bytes) -> bytes:
        bounds, end = self._bounds, time.monotonic() + self._bounds.total
        tries = Tries(bounds.attempts, first=bounds.pause, longest=_LONGEST_BACKOFF)
        while True:
            try:
                return self._post(body, end)
            except _PostError as error:
                wait = tries.wait(end - time.monotonic(), error.wait)
                is_left = error.sign in ("gone", "lost") and tries.made >= bounds.silent
                if not error.may_pass or is_left or wait is None:
                    raise
            self._sleep(wait)

    def _post(self, body: bytes, end: float) -> bytes:
        """The body of an answer with status 200 to 299. Raises _PostError and KeyRefusedError."""
        seconds = min(self._bounds.seconds, max(0.1, end - time.monotonic()))
        headers = {**self._headers, **_HEADERS, "User-Agent": user_agent()}
        request = Request(self.url, body, headers, method="POST")  # noqa: S310
        try:
            reply = HTTP.send(request, time.monotonic() + seconds, _MAX_BODY_BYTES, self._keys)
        except ExchangeError as error:
            raise _failure(error, seconds) from None
        if not reply.whole:
            raise _failure(ExchangeError("closed"), seconds)
        if 200 <= reply.status < 300:
            return reply.body
        refusal = _refusal(reply)
        if reply.status == 401:
            raise KeyRefusedError(str(refusal), refused_key(self.url, self._keys))
        raise refusal


class _PostError(RetrieverError):
    """`may_pass`: another attempt may succeed. `wait`: seconds that the server asked for."""

    def __init__(
        self,
        problem: str,
        sign: Sign | None = None,
        *,
        may_pass: bool = False,
        wait: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(f"the retrieval server{problem}", sign)
        self.may_pass, self.wait, self.status = may_pass, wait, status


def _refusal(reply: HttpReply) -> _PostError:
    status = reply.status
    if 300 <= status < 400:
        return _PostError(f" answers with a redirect ({status}), which is not followed", "answered")
    problem = f" answers with status {status}: {server_words(reply.body)}"
    wait, may_pass = asked_wait(reply), status in _MAY_PASS or status >= 500
    sign = sign_of_status(status, wait)
    return _PostError(problem, sign, may_pass=may_pass, wait=wait, status=status)


def _failure(error: ExchangeError, seconds: float) -> _PostError:
    failures: Mapping[str, tuple[str, Sign | None, bool]] = {
        "late": (f" did not answer within {seconds:.0f} seconds", "lost", True),
        "closed": ("'s answer broke off", "lost", True),
        "corrupt": ("'s answer broke off", "answered", True),
        "encryption": ("'s certificate or encryption is not accepted", None, False),
        "too large": (f"'s answer is larger than {_MAX_BODY_BYTES} bytes", None, False),
        "compression": (" compresses its answer in a way that was not asked for", None, False),
    }
    if error.fault not in failures:
        return _PostError(f" cannot be reached ({error.reason})", "gone", may_pass=True)
    problem, sign, may_pass = failures[error.fault]
    return _PostError(problem, sign, may_pass=may_pass)


def open_search_server(
    spec: str,
    bounds: RequestBounds = RequestBounds(attempts=2, total=60),
    keys: Keys = NO_KEYS,
    headers: Mapping[str, str] | None = None,
) -> SearchServer:
    """The server of `http:URL`, asked one query now, so that a wrong address shows at once."""
    url = server_url(spec)
    try:
        SearchServer(url, bounds, keys=keys, headers=headers).search([_PROBE], 1)
    except RetrieverError as error:
        problem, remedy = str(error).rstrip("."), _remedy(error, url, keys)
        raise InputError(problem, where=url, remedy=remedy) from None
    return SearchServer(url, keys=keys, headers=headers)


def _remedy(error: RetrieverError, url: str, keys: Keys) -> str:
    if isinstance(error, KeyRefusedError):
        return error.remedy
    status = error.status if isinstance(error, _PostError) else None
    if status == 403:
        return refused_key(url, keys)
    if status is not None and status < 500 and status != 404:
        return "the server does not take the request: does it speak Search-R1's protocol?"
    return f"start the server or correct the address in --retriever (Search-R1's path is {PATH})"


def server_url(spec: str) -> str:
    """The address in `http:URL` or `URL`, by default with Search-R1's path."""
    text = spec.removeprefix("http:") if spec.startswith(("http:http", "http:https")) else spec
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    secret = parts.username is not None or parts.password is not None or parts.query
    plain = text.isascii() and text.isprintable() and " " not in text
    if parts.scheme not in ("http", "https") or not host or secret or parts.fragment or not plain:
        problem = "the retrieval server's address has no host, or a user, a key or spaces in it"
        raise InputError(problem, where="--retriever", remedy=f"write http:http://HOST:PORT{PATH}")
    path = PATH if parts.path in ("", "/") else parts.path
    return parts._replace(path=path, fragment="", query="").geturl()
