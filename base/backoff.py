"""What a failed request says of its server, and when the server is asked again."""

import math
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal
from urllib.parse import urlsplit

Sign = Literal["answered", "gone", "lost"]
"""`answered`: the server is there, whatever it said. `gone`: there is no connection to it, or the
gateway before it finds none. `lost`: no answer in time, or a connection that ended without one,
which may also be the request's fault."""


def sign_of_status(status: int, wait: float | None) -> Sign:
    """What a status says; `wait`: seconds that the server asked for, which a gateway does not."""
    if status in (502, 503) and wait is None:
        return "gone"
    return "lost" if status == 504 else "answered"


def host_of(server: str) -> str:
    """How messages call a server: host and port of its address; "" for what is not an address."""
    try:
        return urlsplit(server.removeprefix("http:") if "http:http" in server else server).netloc
    except ValueError:
        return ""


def backoff(attempt: int, asked: float | None, *, first: float, longest: float) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 1).

    What the server asked for and up to a tenth (at most a second) more, so that calls that were
    refused together do not return together; else between half and all of `first`, twice, four
    times that, ... up to `longest` seconds.
    """
    if asked is not None:
        return asked + random.uniform(0, min(1.0, asked / 10))
    most = min(longest, first * 2.0 ** min(attempt - 1, 30))
    return random.uniform(most / 2, most)


class Tries:
    """The attempts at one request: at most `failing` that fail, and `most` with those that the
    server put off, by default no more. `first`, `longest`: as of `backoff`."""

    def __init__(
        self, failing: int, *, first: float, longest: float, most: int | None = None
    ) -> None:
        self._failing, self._most = failing, most or failing
        self._first, self._longest = first, longest
        self.made = self._failed = 0

    def wait(self, left: float, asked: float | None) -> float | None:
        """Seconds until the next attempt, after one that came to nothing; None: give up.

        `left`: seconds for all that follows, so that no wait is begun that takes all of them;
        `asked`: those that the server asked for.
        """
        self.made += 1
        self._failed += asked is None
        if self._failed >= self._failing or self.made >= self._most:
            return None
        wait = backoff(self.made, asked, first=self._first, longest=self._longest)
        return wait if wait < left else None


def retry_after(
    headers: Mapping[str, str], now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> float | None:
    """Seconds that the server asked to wait, or None: `Retry-After` as seconds or as HTTP date.

    Never negative (RFC 9110, section 10.2.3); OpenAI's `retry-after-ms` goes first.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        date = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now()).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None
