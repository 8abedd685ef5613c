"""A SPARQL query as one HTTP request (SPARQL 1.1 Protocol), and its whole answer or an error."""

import urllib.request
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from SPARQLWrapper import GET, JSON, N3, POST, SPARQLWrapper

from branchwise.corpora.absence import Sign
from branchwise.corpora.graph.answers import ErrorKind, GraphError
from branchwise.corpora.graph.remote.selecting import Form
from branchwise.corpora.http_exchange import ExchangeError, HttpReply, exchange, user_agent
from branchwise.corpora.keys import NO_KEYS, Keys

_LONG_QUERY = 1_500
"""Characters from which a query is posted: addresses over 8 KB are refused by many servers."""

_TRIPLES = "application/n-triples, text/turtle;q=0.8, application/rdf+xml;q=0.5"


class _Builder(SPARQLWrapper):
    """SPARQLWrapper without its sending.

    What it sends itself has a time-out per byte, follows redirects anywhere, reads error pages
    of any size, and raises other exceptions for each status.
    """

    def request(self) -> urllib.request.Request:
        return self._createRequest()


def sparql_request(url: str, text: str, form: Form) -> urllib.request.Request:
    """The request for a query that has been checked, whose form is known.

    Parameters in `url` itself (?default-graph-uri=...) go with each query.
    """
    address = urlsplit(url)
    builder = _Builder(urlunsplit(address._replace(query="", fragment="")), agent=user_agent())
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
    return builder.request()


MAX_BODY_BYTES = 20 * 1024 * 1024

TOO_SLOW = "The endpoint did not answer in time; ask for less: fewer patterns, or a LIMIT."
CUT_SHORT = "The endpoint's answer broke off; ask again, or ask for less with a LIMIT."


class RetryLaterError(GraphError):
    """A failure that may pass. `asked`: seconds that the server wants to be left alone, if any."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        asked: float | None = None,
        sign: Sign | None = None,
    ) -> None:
        super().__init__(kind, message, sign)
        self.asked = asked


def fetch(
    request: urllib.request.Request,
    deadline: float,
    limit: int = MAX_BODY_BYTES,
    keys: Keys = NO_KEYS,
) -> HttpReply:
    """Send `request`, follow redirects within its host, and read at most `limit` bytes of body.

    `deadline` is of `time.monotonic`. On any failure it raises GraphError (RetryLaterError if
    another attempt may succeed) and nothing else; an error status is a Reply like any other.
    """
    try:
        return exchange(request, deadline, limit, keys, redirects=True)
    except ExchangeError as error:
        raise _failure(error, limit) from None


def _failure(error: ExchangeError, limit: int) -> GraphError:
    """A failed exchange as an error for the model that asked; without address or path."""
    match error.fault:
        case "late":
            return GraphError("timeout", TOO_SLOW)
        case "closed":
            message = "The endpoint closed the connection before it had answered."
            return RetryLaterError("endpoint", message, sign="lost")
        case "too large":
            size = f"{limit // 1024**2} MB" if limit >= 1024**2 else f"{limit} bytes"
            message = f"The endpoint's answer is larger than {size}; add a LIMIT, or select fewer "
            return GraphError("resources", f"{message}variables.")
        case "redirect":
            message = f"The endpoint answered with a redirect ({error.reason}) that leads nowhere; "
            return GraphError("endpoint", f"{message}the user must check its address.")
    sign: Sign | None = "gone" if error.fault == "unreachable" else None
    return GraphError("endpoint", _ENDPOINT[error.fault], sign)


_ENDPOINT = {
    "another host": "The endpoint redirects to another host, which is not followed; "
    "give the address of the SPARQL endpoint itself.",
    "compression": "The endpoint compresses its answers in a way not asked for.",
    "corrupt": CUT_SHORT,
    "encryption": "The endpoint's certificate or encryption was not accepted; the user must check "
    "its address and certificate.",
    "unreachable": "The endpoint cannot be reached; the user must check that it runs, and its "
    "address. Go on with the other tools.",
}
