"""One HTTP request and its whole answer: bounded in time and size, and never sent elsewhere."""

import http.client
import ssl
import urllib.error
import urllib.request
import zlib
from email.message import Message
from http.client import HTTPResponse
from typing import IO, NamedTuple
from urllib.parse import urlsplit

from branchwise.corpora.graph.answers import ErrorKind, GraphError
from branchwise.corpora.graph.remote.connection import TimedHTTP, TimedHTTPS, time_left
from branchwise.corpora.keys import Origin
from branchwise.corpora.secrets import bytes_without_keys

MAX_BODY_BYTES = 20 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024

TOO_SLOW = "The endpoint did not answer in time; ask for less: fewer patterns, or a LIMIT."
CUT_SHORT = "The endpoint's answer broke off; ask again, or ask for less with a LIMIT."


class Reply(NamedTuple):
    """An answer with its body, decompressed. `whole`: nothing that was announced is missing."""

    status: int
    media_type: str
    headers: Message
    body: bytes
    whole: bool


class RetryLaterError(GraphError):
    """A failure that may pass. `asked`: seconds that the server wants to be left alone, if any."""

    def __init__(self, kind: ErrorKind, message: str, asked: float | None = None) -> None:
        super().__init__(kind, message)
        self.asked = asked


def fetch(request: urllib.request.Request, deadline: float, limit: int = MAX_BODY_BYTES) -> Reply:
    """Send `request`, follow redirects within its host, and read at most `limit` bytes of body.

    `deadline` (of `time.monotonic`) covers everything from the look-up of the name to the last
    byte. Whatever a server or a network does, it raises GraphError (RetryLaterError where another
    attempt may succeed) and nothing else; an error status is a Reply like any other.
    """
    try:
        opener = urllib.request.build_opener(
            TimedHTTP(deadline), TimedHTTPS(deadline), _WithinHost(), _AnyStatus()
        )
        with opener.open(request, timeout=time_left(deadline)) as response:
            return _read(response, deadline, limit)
    except (OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
        raise _failure(error) from None


class _AnyStatus(urllib.request.HTTPErrorProcessor):
    """Lets error statuses through as answers; redirects go their usual way."""

    def http_response(
        self, request: urllib.request.Request, response: HTTPResponse
    ) -> HTTPResponse:
        if response.status not in (301, 302, 303, 307, 308):
            return response
        followed: HTTPResponse = super().http_response(request, response)
        return followed

    https_response = http_response


class _WithinHost(urllib.request.HTTPRedirectHandler):
    """Refuses redirects to other hosts; a POST stays one, or its query would be lost."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> urllib.request.Request:
        if not _same_place(req.full_url, newurl):
            fp.close()
            raise GraphError(
                "endpoint",
                "The endpoint redirects to another host, which is not followed; "
                "give the address of the SPARQL endpoint itself.",
            )
        method = req.get_method()
        followed = urllib.request.Request(newurl, req.data, dict(req.headers), method=method)  # noqa: S310
        key = req.unredirected_hdrs.get("Authorization")
        if key and Origin.of(newurl) == Origin.of(req.full_url):
            followed.add_unredirected_header("Authorization", key)
        return followed


def _same_place(old: str, new: str) -> bool:
    before, after = urlsplit(old), urlsplit(new)
    usual = {"http": 80, "https": 443}
    ports = [part.port or usual.get(part.scheme) for part in (before, after)]
    upgraded = (before.scheme, after.scheme, *ports) == ("http", "https", 80, 443)
    same = before.scheme == after.scheme and ports[0] == ports[1]
    return before.hostname == after.hostname and (same or upgraded)


def _read(response: HTTPResponse, deadline: float, limit: int) -> Reply:
    raw, whole = bytearray(), True
    try:
        while chunk := response.read1(_CHUNK_BYTES):
            time_left(deadline)
            raw += chunk
            if len(raw) > limit:
                raise _too_large(limit)
    except http.client.HTTPException:
        whole = False
    if not raw and not response.headers:
        raise ConnectionResetError("the answer ended within its head")
    encoding = (response.headers.get("Content-Encoding") or "identity").strip().lower()
    body, complete = _decoded(bytes(raw), encoding, limit)
    whole = whole and complete and not response.length
    media = response.headers.get_content_type()
    return Reply(response.status, media, response.headers, bytes_without_keys(body), whole)


def _decoded(raw: bytes, encoding: str, limit: int) -> tuple[bytes, bool]:
    """The body, and whether it was complete; never more than `limit` bytes are unpacked."""
    if encoding == "identity":
        return raw, True
    if encoding not in ("gzip", "x-gzip"):
        raise GraphError("endpoint", "The endpoint compresses its answers in a way not asked for.")
    inflater = zlib.decompressobj(wbits=31)
    try:
        body = inflater.decompress(raw, limit + 1)
    except zlib.error:
        raise GraphError("endpoint", CUT_SHORT) from None
    if len(body) > limit:
        raise _too_large(limit)
    return body, inflater.eof


def _too_large(limit: int) -> GraphError:
    size = f"{limit // 1024**2} MB" if limit >= 1024**2 else f"{limit} bytes"
    return GraphError(
        "resources",
        f"The endpoint's answer is larger than {size}; add a LIMIT, or select fewer variables.",
    )


def _failure(error: Exception) -> GraphError:
    """What a failed exchange means to the one who asked; no address, no path."""
    while isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception):
        error = error.reason
    if isinstance(error, TimeoutError):
        return GraphError("timeout", TOO_SLOW)
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return GraphError(
            "endpoint",
            f"The endpoint answered with a redirect ({error.code}) that leads nowhere; "
            "the user must check its address.",
        )
    if isinstance(error, ssl.SSLError):
        return GraphError(
            "endpoint",
            "The endpoint's certificate or encryption was not accepted; the user must check "
            "its address and certificate.",
        )
    if isinstance(error, ConnectionResetError | BrokenPipeError | http.client.HTTPException):
        return RetryLaterError(
            "endpoint", "The endpoint closed the connection before it had answered."
        )
    return GraphError(
        "endpoint",
        "The endpoint cannot be reached; the user must check that it runs, and its address. "
        "Go on with the other tools.",
    )
