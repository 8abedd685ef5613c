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

from branchwise.corpora.backoff import backoff
from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.remote.refusals import asked_wait, server_words
from branchwise.corpora.http_exchange import ExchangeError, HttpReply, exchange, user_agent
from branchwise.corpora.keys import NO_KEYS, Keys, no_key
from branchwise.corpora.retrieval import Hit, RetrieverError
from branchwise.corpora.search_answers import read_rankings
from branchwise.corpora.text import encodable

PATH = "/retrieve"
_MAX_QUERIES = 64
_MAX_BODY_BYTES = 64 * 1024 * 1024
_LONGEST_BACKOFF = 30.0
_MAY_PASS = frozenset({408, 409, 425, 429})
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
_PROBE = "What is the capital of France?"


@dataclass(frozen=True)
class Patience:
    """`seconds` for one attempt, `total` for all of a request; `pause` before the second."""

    attempts: int = 5
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
        patience: Patience = Patience(),
        sleep: Callable[[float], None] = time.sleep,
        keys: Keys = NO_KEYS,
    ) -> None:
        self.url, self._patience, self._sleep, self._keys = url, patience, sleep, keys

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """For each query the server's best `k` passages. Raises RetrieverError."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        parts = (queries[at : at + _MAX_QUERIES] for at in range(0, len(queries), _MAX_QUERIES))
        return [ranking for part in parts for ranking in self._search(part, k)]

    def _search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        texts = list(map(encodable, queries))
        request = orjson.dumps({"queries": texts, "topk": k, "return_scores": True})
        return read_rankings(self._posted(request), len(queries), k)

    def _posted(self, body: bytes) -> bytes:
        """The answer, asked for again where a failure may pass, with growing pauses."""
        patience, end = self._patience, time.monotonic() + self._patience.total
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._post(body, end)
            except _PostError as error:
                first, longest = patience.pause, _LONGEST_BACKOFF
                pause = backoff(attempt, error.wait, first=first, longest=longest)
                is_late = time.monotonic() + pause >= end
                if not error.may_pass or is_late or attempt >= patience.attempts:
                    raise
            self._sleep(pause)

    def _post(self, body: bytes, end: float) -> bytes:
        """The body of an answer with status 200 to 299. Raises _PostError."""
        seconds = min(self._patience.seconds, max(0.1, end - time.monotonic()))
        headers = {**_HEADERS, "User-Agent": user_agent()}
        request = Request(self.url, body, headers, method="POST")  # noqa: S310
        try:
            reply = exchange(request, time.monotonic() + seconds, _MAX_BODY_BYTES, self._keys)
        except ExchangeError as error:
            raise _failure(error, seconds) from None
        if not reply.whole:
            raise _failure(ExchangeError("closed"), seconds)
        if 200 <= reply.status < 300:
            return reply.body
        raise _refusal(reply)


class _PostError(RetrieverError):
    """`may_pass`: another attempt may succeed. `wait`: seconds that the server asked for."""

    def __init__(self, what: str, *, may_pass: bool = False, wait: float | None = None) -> None:
        super().__init__(f"the retrieval server{what}")
        self.may_pass, self.wait = may_pass, wait


def _refusal(reply: HttpReply) -> _PostError:
    """The error for an answer with another status, with the server's own words."""
    status = reply.status
    if 300 <= status < 400:
        return _PostError(f" answers with a redirect ({status}), which is not followed")
    what = f" answers with status {status}: {server_words(reply.body)}"
    if status in _MAY_PASS or status >= 500:
        return _PostError(what, may_pass=True, wait=asked_wait(reply))
    return _PostError(what)


def _failure(error: ExchangeError, seconds: float) -> _PostError:
    match error.fault:
        case "late":
            return _PostError(f" did not answer within {seconds:.0f} seconds", may_pass=True)
        case "closed" | "corrupt":
            return _PostError("'s answer broke off", may_pass=True)
        case "encryption":
            return _PostError("'s certificate or encryption is not accepted")
        case "too large":
            return _PostError(f"'s answer is larger than {_MAX_BODY_BYTES} bytes")
        case "compression":
            return _PostError(" compresses its answer in a way that was not asked for")
    return _PostError(f" cannot be reached ({error.reason})", may_pass=True)


def open_search_server(
    spec: str, patience: Patience = Patience(attempts=2, total=60), keys: Keys = NO_KEYS
) -> SearchServer:
    """The server of `http:URL`, asked one query now, so that a wrong address shows at once.

    Raises InputError.
    """
    url = server_url(spec)
    try:
        SearchServer(url, patience, keys=keys).search([_PROBE], 1)
    except RetrieverError as error:
        remedy = (
            f"start the server or correct the address in --retriever (Search-R1's path is {PATH})"
        )
        if "status 401" in str(error) and keys.variable(url) is None:
            remedy = no_key(url)
        raise InputError(str(error), where=url, remedy=remedy) from None
    return SearchServer(url, keys=keys)


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
