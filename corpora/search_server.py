"""A retriever behind Search-R1's `/retrieve`: any server that speaks it, no corpus here.

`POST {"queries": [str], "topk": int, "return_scores": true}`. Scores are always asked for: the
original server fails without. A ranking is the server's own, in the server's order.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

from branchwise.corpora.errors import InputError
from branchwise.corpora.http_post import PostError, post_json
from branchwise.corpora.keys import NO_KEYS, Keys, no_key
from branchwise.corpora.retrieval import Hit, RetrieverError
from branchwise.corpora.search_answers import read_rankings

PATH = "/retrieve"
_MAX_QUERIES = 64
_MAX_BODY_BYTES = 64 * 1024 * 1024
_LONGEST_BACKOFF = 30.0
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

    Its address is no part of its identity, as with model servers: a server may move.
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
        texts = [query.encode("utf-8", "replace").decode() for query in queries]
        request = orjson.dumps({"queries": texts, "topk": k, "return_scores": True})
        try:
            return read_rankings(self._posted(request), len(queries), k)
        except PostError as error:
            raise RetrieverError(str(error)) from None

    def _posted(self, request: bytes) -> bytes:
        """The answer, asked for again where a failure may pass, with growing pauses."""
        end, attempt = time.monotonic() + self._patience.total, 0
        while True:
            attempt += 1
            left = max(0.1, end - time.monotonic())
            try:
                seconds = min(self._patience.seconds, left)
                key = self._keys.key(self.url)
                return post_json(self.url, request, seconds, _MAX_BODY_BYTES, key)
            except PostError as error:
                wait = self._wait(attempt, error.wait)
                last = attempt >= self._patience.attempts or time.monotonic() + wait >= end
                if last or not error.may_pass:
                    raise
                self._sleep(wait)

    def _wait(self, attempt: int, asked: float | None) -> float:
        """What the server asked for and a little more, else between half and all of the backoff.

        Jitter, so that clients that were refused together do not return together.
        """
        if asked is not None:
            return asked + random.uniform(0, min(1.0, asked / 10))
        longest = min(_LONGEST_BACKOFF, self._patience.pause * 2.0 ** (attempt - 1))
        return random.uniform(longest / 2, longest)


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

    Without a path it is Search-R1's. Raises InputError for what is no address, and for one that
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
