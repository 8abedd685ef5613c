"""A polite client of a host: it names itself, takes turns, and waits when it is told to."""

import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.remote.exchange import MAX_BODY_BYTES, RetryLaterError, fetch
from branchwise.corpora.graph.remote.refusals import refusal
from branchwise.corpora.graph.remote.throttle import CONCURRENT, NoTurnError, shared_throttle
from branchwise.corpora.http_exchange import HttpReply, user_agent
from branchwise.corpora.keys import NO_KEYS, Keys

_LONGEST_HOLD = 3600.0
_MAX_WAITS = 4


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
        self, request: Callable[[], urllib.request.Request], deadline: float, attempts: int = 2
    ) -> HttpReply:
        """The answer, of status 200 to 299, to `request`, which is made anew for each attempt.

        What may pass (5xx, a lost connection) is tried `attempts` times; a server that asks for
        time (429) is left alone by all, and asked again where the deadline allows it. With one
        attempt neither is waited for. Raises GraphError.
        """
        most_waits = _MAX_WAITS if attempts > 1 else 1
        not_before, failures, waits = 0.0, 0, 0
        while True:
            try:
                return self._once(request(), deadline, not_before)
            except RetryLaterError as later:
                wait = self._settings.pause
                if later.asked is None:
                    failures += 1
                else:
                    waits += 1
                    wait = max(wait, later.asked)
                    self._throttle.hold(min(wait, _LONGEST_HOLD))
                not_before = time.monotonic() + wait
                if failures >= attempts or waits >= most_waits or not_before >= deadline:
                    raise

    def _once(
        self, request: urllib.request.Request, deadline: float, not_before: float
    ) -> HttpReply:
        try:
            with self._throttle.turn(deadline, not_before):
                reply = fetch(request, deadline, self._settings.max_body_bytes, self._keys)
        except NoTurnError as blocked:
            raise _no_turn(blocked) from None
        if not 200 <= reply.status < 300:
            raise refusal(reply)
        return reply


def get_request(url: str, parameters: Mapping[str, str]) -> urllib.request.Request:
    """A GET for JSON with these parameters."""
    headers = {"User-Agent": user_agent(), "Accept": "application/json", "Accept-Encoding": "gzip"}
    return urllib.request.Request(f"{url}?{urlencode(parameters)}", headers=headers)  # noqa: S310


def _no_turn(blocked: NoTurnError) -> GraphError:
    if blocked.seconds:
        message = (
            f"The endpoint asked to be left alone for another {blocked.seconds:.0f} seconds; "
            "go on with the other tools, or ask again then."
        )
    else:
        message = "Other queries take all places at the endpoint; ask again, one query at a time."
    return GraphError("busy", message)


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
