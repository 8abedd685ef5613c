"""One request to an endpoint and its whole answer, or what to tell who asked for it."""

import urllib.request

from branchwise.corpora.graph.answers import ErrorKind, GraphError
from branchwise.corpora.http_exchange import ExchangeError, Reply, exchange
from branchwise.corpora.keys import NO_KEYS, Keys

MAX_BODY_BYTES = 20 * 1024 * 1024

TOO_SLOW = "The endpoint did not answer in time; ask for less: fewer patterns, or a LIMIT."
CUT_SHORT = "The endpoint's answer broke off; ask again, or ask for less with a LIMIT."


class RetryLaterError(GraphError):
    """A failure that may pass. `asked`: seconds that the server wants to be left alone, if any."""

    def __init__(self, kind: ErrorKind, message: str, asked: float | None = None) -> None:
        super().__init__(kind, message)
        self.asked = asked


def fetch(
    request: urllib.request.Request,
    deadline: float,
    limit: int = MAX_BODY_BYTES,
    keys: Keys = NO_KEYS,
) -> Reply:
    """Send `request`, follow redirects within its host, and read at most `limit` bytes of body.

    `deadline` is of `time.monotonic`. Whatever a server or a network does, it raises GraphError
    (RetryLaterError where another attempt may succeed) and nothing else; an error status is a
    Reply like any other.
    """
    try:
        return exchange(request, deadline, limit, keys, redirects=True)
    except ExchangeError as error:
        raise _failure(error, limit) from None


def _failure(error: ExchangeError, limit: int) -> GraphError:
    """What a failed exchange means to the one who asked; no address, no path."""
    match error.fault:
        case "late":
            return GraphError("timeout", TOO_SLOW)
        case "closed":
            message = "The endpoint closed the connection before it had answered."
            return RetryLaterError("endpoint", message)
        case "too large":
            size = f"{limit // 1024**2} MB" if limit >= 1024**2 else f"{limit} bytes"
            message = f"The endpoint's answer is larger than {size}; add a LIMIT, or select fewer "
            return GraphError("resources", f"{message}variables.")
        case "redirect":
            message = f"The endpoint answered with a redirect ({error.reason}) that leads nowhere; "
            return GraphError("endpoint", f"{message}the user must check its address.")
    return GraphError("endpoint", _ENDPOINT[error.fault])


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
