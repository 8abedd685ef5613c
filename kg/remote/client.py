"""A polite client of a host: it names itself, takes turns, and waits when it is told to.

Turns are those of a host over all agents of the process: one throttle for each host.
"""

import re
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from branchwise.base.backoff import Tries
from branchwise.base.errors import InputError
from branchwise.base.http import HTTP, ExchangeError, HttpReply, user_agent
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.kg.answers import KgError, QueryResult
from branchwise.kg.remote.responses import RetryLaterError, failure, refusal

Form = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]

PREFIXES = """\
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX schema: <http://schema.org/>
PREFIX wikibase: <http://wikiba.se/ontology#>
PREFIX wdt: <http://www.wikidata.org/prop/direct/>
"""
ENGLISH = ("en", "mul", "")
"""Languages of names, best first: "mul" is Wikidata's for all, and "" has none."""

_SAFE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]+")


class RunSelect(Protocol):
    """Sends a query that needs no check, within the time of the question that it serves."""

    def __call__(self, text: str, form: Form = "SELECT") -> QueryResult:
        """Raises KgError."""
        ...


def iri_list(iris: Iterable[str]) -> str:
    """IRIs for a VALUES block; those that are unsafe in a query are left out."""
    return " ".join(f"<{iri}>" for iri in iris if _SAFE_IRI.fullmatch(iri))


def english_only(variable: str) -> str:
    tags = ", ".join(f'"{tag}"' for tag in ENGLISH)
    return f"FILTER(LANG({variable}) IN ({tags}))"


def language_rank(language: str) -> int:
    return ENGLISH.index(language) if language in ENGLISH else len(ENGLISH)


CONCURRENT = 5
"""Requests at a time: what Wikidata's query service allows one client."""
MAX_BODY_BYTES = 20 * 1024 * 1024
_LONGEST_HOLD = 3600.0
_MAX_WAITS = 4
_LONG_QUERY = 1_500
"""Characters from which a query is posted: addresses over 8 KB are refused by many servers."""
_TRIPLES = "application/n-triples, text/turtle;q=0.8, application/rdf+xml;q=0.5"

_throttles: dict[str, "HostThrottle"] = {}
_registry = threading.Lock()


@dataclass(frozen=True)
class ClientSettings:
    """`pause`: seconds before the second attempt. `interval`: seconds between two requests."""

    concurrent: int = CONCURRENT
    interval: float = 0.0
    pause: float = 0.5
    max_body_bytes: int = MAX_BODY_BYTES


class HostClient:
    """Sends requests to one host, behind the throttle that all its clients share."""

    def __init__(self, url: str, settings: ClientSettings, keys: Keys = NO_KEYS) -> None:
        """Raises InputError for what is not an http(s) address, or holds a password."""
        self._settings, self._keys = settings, keys
        self._throttle = shared_throttle(_host(url), settings.concurrent, settings.interval)

    def send(
        self, request: urllib.request.Request, deadline: float, attempts: int = 2
    ) -> HttpReply:
        """The answer, of status 200 to 299.

        What may pass (5xx, a lost connection) is tried `attempts` times; a server that asks for
        time (429) is left alone by all, and asked again within the deadline (`time.monotonic`).
        With one attempt neither is waited for. Redirects within the host are followed. Raises
        KgError.
        """
        pause, most = self._settings.pause, _MAX_WAITS if attempts > 1 else 1
        limit = self._settings.max_body_bytes
        tries = Tries(attempts, first=pause, longest=pause, most=most)
        while True:
            try:
                with self._throttle.turn(deadline):
                    reply = HTTP.send(request, deadline, limit, self._keys, redirects=True)
                if 200 <= reply.status < 300:
                    return reply
                error = refusal(reply)
            except ExchangeError as lost:
                error = failure(lost, limit)
            if not isinstance(error, RetryLaterError):
                raise error
            asked = None if error.asked is None else max(pause, error.asked)
            if asked is not None:
                self._throttle.hold(min(asked, _LONGEST_HOLD))
            wait = tries.wait(deadline - time.monotonic(), asked)
            if wait is None:
                raise error
            time.sleep(wait)


def sparql_request(url: str, text: str, form: Form) -> urllib.request.Request:
    """The request (SPARQL 1.1 Protocol) for a query that has been checked, whose form is known.

    SPARQLWrapper makes it. What it sends itself has a time-out per byte, follows redirects
    anywhere, reads error pages of any size, and raises other exceptions for each status.
    Parameters in `url` itself (?default-graph-uri=...) go with each query.
    """
    from SPARQLWrapper import GET, JSON, N3, POST, SPARQLWrapper

    address = urlsplit(url)
    builder = SPARQLWrapper(urlunsplit(address._replace(query="", fragment="")), agent=user_agent())
    for name, value in parse_qsl(address.query, keep_blank_values=True):
        builder.addParameter(name, value)
    tabular = form in ("SELECT", "ASK")
    builder.setReturnFormat(JSON if tabular else N3)
    builder.setOnlyConneg(True)
    builder.setMethod(POST if len(text) > _LONG_QUERY else GET)
    # Not setQuery: it would guess the form again, by patterns that comments can slow down.
    builder.queryString, builder.queryType = text, form
    builder.addCustomHttpHeader("Accept-Encoding", "gzip")
    if not tabular:
        builder.addCustomHttpHeader("Accept", _TRIPLES)
    return builder._createRequest()


class NoTurnError(KgError):
    """No turn is free before the deadline. `seconds`: how long the host must be left alone. 0 where
    the host asked for nothing, and other requests take all of its places."""

    def __init__(self, seconds: float) -> None:
        message = "Other queries take all places at the endpoint; ask again, one query at a time."
        if seconds:
            message = (
                f"The endpoint asked to be left alone for another {seconds:.0f} seconds; "
                "go on with the other tools, or ask again then."
            )
        super().__init__("busy", message)
        self.seconds = seconds


class HostThrottle:
    """At most `concurrent` requests at a time, `interval` seconds between the starts of two. Times
    are those of `time.monotonic`. Waiting threads sleep until something changes."""

    def __init__(self, concurrent: int = CONCURRENT, interval: float = 0.0) -> None:
        self.changed = threading.Condition()
        self.concurrent, self.interval = concurrent, interval
        self._running = 0
        self._next_start = 0.0
        self._held_until = 0.0

    def hold(self, seconds: float) -> None:
        """Send this host nothing for so long; requests that cannot wait that long fail at once."""
        with self.changed:
            self._held_until = max(self._held_until, time.monotonic() + seconds)
            self.changed.notify_all()

    @contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Wait for a place, kept for the body. Raises NoTurnError, early where it is sure."""
        with self.changed:
            while True:
                now = time.monotonic()
                if self._held_until > deadline:
                    raise NoTurnError(self._held_until - now)
                full = self._running >= self.concurrent
                start = max(self._held_until, self._next_start)
                if not full and start <= now:
                    break
                if now >= deadline:
                    raise NoTurnError(0.0)
                self.changed.wait((deadline if full else min(start, deadline)) - now)
            self._running += 1
            self._next_start = time.monotonic() + self.interval
        try:
            yield
        finally:
            with self.changed:
                self._running -= 1
                self.changed.notify_all()


def shared_throttle(host: str, concurrent: int = CONCURRENT, interval: float = 0.0) -> HostThrottle:
    """The one throttle of a host ("query.wikidata.org", with the port where one is named); of
    these limits and those that hold already, the stricter are kept."""
    with _registry:
        throttle = _throttles.setdefault(host.casefold(), HostThrottle(concurrent, interval))
    with throttle.changed:
        throttle.concurrent = min(throttle.concurrent, concurrent)
        throttle.interval = max(throttle.interval, interval)
    return throttle


def _host(url: str) -> str:
    parts = urlsplit(url)
    remedy = "give it as https://HOST/PATH"
    if not url.isprintable() or " " in url:
        raise InputError("an endpoint's address cannot hold spaces", remedy=remedy)
    try:
        port = parts.port
    except ValueError:
        raise InputError("the endpoint's port is not a number", remedy=remedy) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("an endpoint must be an http:// or https:// address", remedy=remedy)
    if parts.username is not None or parts.password is not None:
        raise InputError("an endpoint's address cannot hold a user or password", remedy=remedy)
    return f"{parts.hostname}:{port}" if port else parts.hostname
