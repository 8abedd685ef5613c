"""A JSON request over HTTP, bounded in time and size, whose failures say what may pass."""

import http.client
import ssl
import time
import urllib.error
import urllib.request
from http.client import HTTPResponse

from branchwise.corpora.graph.remote.client import user_agent
from branchwise.corpora.graph.remote.connection import TimedHTTP, TimedHTTPS, time_left
from branchwise.corpora.graph.remote.exchange import Reply
from branchwise.corpora.graph.remote.refusals import asked_wait, server_words
from branchwise.corpora.secrets import bytes_without_keys

_CHUNK_BYTES = 64 * 1024
_MAY_PASS = frozenset({408, 409, 425, 429})


class PostError(Exception):
    """A request without an answer. The message is one line and names no address.

    `may_pass`: another attempt may succeed. `wait`: seconds that the server asked for.
    """

    def __init__(self, message: str, *, may_pass: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.may_pass, self.wait = may_pass, wait


def post_json(url: str, body: bytes, seconds: float, limit: int, key: str | None = None) -> bytes:
    """The body of the answer with status 200 to 299, at most `limit` bytes.

    `seconds` are for everything, from the look-up of the name to the last byte. Redirects are
    not followed. `key` is sent as a bearer token. Raises PostError, and nothing else.
    """
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": user_agent(),
    }
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310
    if key is not None:
        request.add_unredirected_header("Authorization", f"Bearer {key}")
    deadline = time.monotonic() + seconds
    opener = urllib.request.build_opener(TimedHTTP(deadline), TimedHTTPS(deadline), _AnyStatus())
    try:
        with opener.open(request, timeout=seconds) as response:
            reply = _read(response, deadline, limit)
    except (OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
        raise _failure(error, seconds) from None
    if 200 <= reply.status < 300:
        return reply.body
    raise _refusal(reply)


class _AnyStatus(urllib.request.HTTPErrorProcessor):
    """Lets every status through as an answer, redirects too."""

    def http_response(
        self, request: urllib.request.Request, response: HTTPResponse
    ) -> HTTPResponse:
        return response

    https_response = http_response


def _read(response: HTTPResponse, deadline: float, limit: int) -> Reply:
    """The whole answer; one that ends before its announced end raises IncompleteRead."""
    body = bytearray()
    while chunk := response.read1(_CHUNK_BYTES):
        time_left(deadline)
        body += chunk
        if len(body) > limit:
            raise PostError(f"the retrieval server's answer is larger than {limit} bytes")
    if response.length:
        raise http.client.IncompleteRead(bytes(body), response.length)
    media = response.headers.get_content_type()
    said = bytes_without_keys(bytes(body))
    return Reply(response.status, media, response.headers, said, whole=True)


def _refusal(reply: Reply) -> PostError:
    """The error for an answer with another status, with the server's own words."""
    status = reply.status
    if 300 <= status < 400:
        return PostError(
            f"the retrieval server answers with a redirect ({status}), which is not followed"
        )
    message = f"the retrieval server answers with status {status}: {server_words(reply.body)}"
    if status in _MAY_PASS or status >= 500:
        return PostError(message, may_pass=True, wait=asked_wait(reply))
    return PostError(message)


def _failure(error: Exception, seconds: float) -> PostError:
    while isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception):
        error = error.reason
    if isinstance(error, TimeoutError):
        return PostError(
            f"the retrieval server did not answer within {seconds:.0f} seconds", may_pass=True
        )
    if isinstance(error, ssl.SSLError):
        return PostError("the retrieval server's certificate or encryption is not accepted")
    if isinstance(error, http.client.HTTPException | ConnectionResetError | BrokenPipeError):
        return PostError("the retrieval server's answer broke off", may_pass=True)
    reason = (isinstance(error, OSError) and error.strerror) or type(error).__name__
    return PostError(f"the retrieval server cannot be reached ({reason})", may_pass=True)
