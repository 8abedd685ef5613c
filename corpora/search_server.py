"""A retriever behind Search-R1's `/retrieve`: any server that speaks it, no corpus here.

`POST {"queries": [str], "topk": int, "return_scores": true}`. Scores are always asked for: the
original server fails without. A ranking is the server's own, in the server's order.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request

import orjson

from branchwise.base.backoff import Sign, Tries, sign_of_status
from branchwise.base.errors import InputError
from branchwise.base.http import HTTP, ExchangeError, HttpReply, check_way, user_agent
from branchwise.base.keys import NO_KEYS, Keys, headers_for, refused_key
from branchwise.base.text import encodable
from branchwise.corpora.retrieval import Hit, KeyRefusedError, RetrieverError
from branchwise.corpora.search_answers import read_rankings
from branchwise.kg.remote.responses import asked_wait, server_words

PATH = "/retrieve"
_MAX_QUERIES = 64
_MAX_BODY_BYTES = 64 * 1024 * 1024
_LONGEST_BACKOFF = 30.0
_MAY_PASS = frozenset({408, 409, 425, 429})
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
_PROBE = "What is the capital of France?"


@dataclass(frozen=True)
class RequestBounds:
    """`seconds` for one attempt, `total` for all of a request; `pause` before the second.

    `silent`: attempts at a server that gives no answer: those who want to wait wait longer.
    """

    attempts: int = 5
    silent: int = 2
    seconds: float = 60.0
    total: float = 180.0
    pause: float = 0.5


class SearchServer:
    """Asks a retrieval server, which may be at work for other clients too. Thread-safe.

    Its address is not part of its identity, as with model servers: a server may move.
    """

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
        self.url, self._bounds, self._sleep, self._keys = url, bounds, sleep, keys

    @property
    def address(self) -> str:
        """Its address."""
        return self.url

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """For each query the server's best `k` passages. Raises RetrieverError."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        rankings: list[list[Hit]] = []
        for at in range(0, len(queries), _MAX_QUERIES):
            texts = list(map(encodable, queries[at : at + _MAX_QUERIES]))
            request = orjson.dumps({"queries": texts, "topk": k, "return_scores": True})
            rankings += read_rankings(self._posted(request), len(texts), k)
        return rankings

    def _posted(self, body: bytes) -> bytes:
        """The answer, asked for again where a failure may pass, with growing pauses."""
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
        what: str,
        sign: Sign | None = None,
        *,
        may_pass: bool = False,
        wait: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(f"the retrieval server{what}", sign)
        self.may_pass, self.wait, self.status = may_pass, wait, status


def _refusal(reply: HttpReply) -> _PostError:
    """The error for an answer with another status, with the server's own words."""
    status = reply.status
    if 300 <= status < 400:
        return _PostError(f" answers with a redirect ({status}), which is not followed", "answered")
    what = f" answers with status {status}: {server_words(reply.body)}"
    wait, may_pass = asked_wait(reply), status in _MAY_PASS or status >= 500
    sign = sign_of_status(status, wait)
    return _PostError(what, sign, may_pass=may_pass, wait=wait, status=status)


def _failure(error: ExchangeError, seconds: float) -> _PostError:
    match error.fault:
        case "late":
            what = f" did not answer within {seconds:.0f} seconds"
            return _PostError(what, "lost", may_pass=True)
        case "closed":
            return _PostError("'s answer broke off", "lost", may_pass=True)
        case "corrupt":
            return _PostError("'s answer broke off", "answered", may_pass=True)
        case "encryption":
            return _PostError("'s certificate or encryption is not accepted")
        case "too large":
            return _PostError(f"'s answer is larger than {_MAX_BODY_BYTES} bytes")
        case "compression":
            return _PostError(" compresses its answer in a way that was not asked for")
    return _PostError(f" cannot be reached ({error.reason})", "gone", may_pass=True)


def open_search_server(
    spec: str,
    bounds: RequestBounds = RequestBounds(attempts=2, total=60),
    keys: Keys = NO_KEYS,
    headers: Mapping[str, str] | None = None,
) -> SearchServer:
    """The server of `http:URL`, asked one query now, so that a wrong address shows at once.

    Raises InputError.
    """
    url = server_url(spec)
    try:
        SearchServer(url, bounds, keys=keys, headers=headers).search([_PROBE], 1)
    except RetrieverError as error:
        raise InputError(
            str(error).rstrip("."), where=url, remedy=_remedy(error, url, keys)
        ) from None
    return SearchServer(url, keys=keys, headers=headers)


def _remedy(error: RetrieverError, url: str, keys: Keys) -> str:
    """What to do where a server does not answer its first query."""
    if isinstance(error, KeyRefusedError):
        return error.remedy
    status = error.status if isinstance(error, _PostError) else None
    if status == 403:
        return refused_key(url, keys)
    if status is not None and status < 500 and status != 404:
        return "the server does not take the request: does it speak Search-R1's protocol?"
    return f"start the server or correct the address in --retriever (Search-R1's path is {PATH})"


def server_url(spec: str) -> str:
    """The address in `http:http://host:port/retrieve`, also written without the first `http:`.

    Without a path it is Search-R1's. Raises InputError for what is not an address, and for one that
    carries a password or a key: runs keep it.
    """
    text = spec.removeprefix("http:") if spec.startswith(("http:http", "http:https")) else spec
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    secret = parts.username is not None or parts.password is not None or parts.query
    plain = text.isascii() and text.isprintable() and " " not in text
    if parts.scheme not in ("http", "https") or not host or secret or parts.fragment or not plain:
        raise InputError(
            "the retrieval server's address has no host, or a user, a key or spaces in it",
            where="--retriever",
            remedy=f"write http:http://HOST:PORT{PATH}",
        )
    path = PATH if parts.path in ("", "/") else parts.path
    return parts._replace(path=path, fragment="", query="").geturl()
