"""A SPARQL query as an HTTP request (SPARQL 1.1 Protocol), as SPARQLWrapper builds it."""

import urllib.request
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from SPARQLWrapper import GET, JSON, N3, POST, SPARQLWrapper

from branchwise.corpora.graph.remote.selecting import Form
from branchwise.corpora.http_exchange import user_agent

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
