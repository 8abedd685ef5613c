"""Names looked up through a Wikibase's own search, types and numbers through its endpoint."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from branchwise.kg.answers import KgError, Match
from branchwise.kg.open import RemoteKg, RemoteSettings
from branchwise.kg.remote import client as host_client
from branchwise.kg.remote.client import ClientSettings
from support.kg.sparql_server import FaultyServer, Reaction, Seen, hang, reply

ENTITY = "http://www.wikidata.org/entity/"
FILMS = {
    "searchinfo": {"search": "King Kong"},
    "search": [
        {
            "id": "Q309048",
            "concepturi": ENTITY + "Q309048",
            "label": "King Kong",
            "description": "1933 film",
            "match": {"type": "label", "language": "en", "text": "King Kong"},
        },
        {
            "id": "Q1142862",
            "concepturi": ENTITY + "Q1142862",
            "label": "Kong",
            "match": {"type": "alias", "language": "en", "text": "King Kong Lives"},
        },
        {"id": "Q160215", "label": "King Kong", "match": {"type": "label", "text": "King Kong"}},
    ],
}
NOTHING: dict[str, Any] = {"search": []}
FULL_TEXT = {
    "query": {
        "general": {"wikibase-conceptbaseuri": ENTITY},
        "pages": [
            {
                "title": "Property:P1",
                "index": 2,
                "entityterms": {"label": ["later"], "description": ["the second"]},
            },
            {"title": "Property:P161", "index": 1, "entityterms": {"label": ["cast member"]}},
            {"title": "Talk page", "index": 3},
        ],
    }
}


def json_reply(value: object) -> Reaction:
    body = json.dumps(value).encode()
    return reply(body=body, media="application/json; charset=utf-8")


def results(names: list[str], *rows: list[str]) -> Reaction:
    """Rows of strings; those that begin with http are IRIs."""
    bindings = [
        {
            name: {"type": "uri" if value.startswith("http") else "literal", "value": value}
            for name, value in zip(names, row, strict=True)
        }
        for row in rows
    ]
    answer = {"head": {"vars": names}, "results": {"bindings": bindings}}
    return reply(body=json.dumps(answer).encode())


TEXTS = results(
    ["thing", "what", "text"],
    [ENTITY + "Q309048", "3", "film"],
    [ENTITY + "Q160215", "3", "fictional human"],
    [ENTITY + "Q160215", "2", "fictional giant gorilla"],
    [ENTITY + "Q160215", "4", "king"],
)
COUNTS = results(
    ["thing", "direct", "full", "all"],
    [ENTITY + "Q309048", "90", "104", "3000"],
    [ENTITY + "Q160215", "31", "0", "500"],
)


GORILLA = ("fictional human", "king")


class Search:
    """A graph whose search API and endpoint react as told."""

    def __init__(self, api: FaultyServer, endpoint: FaultyServer) -> None:
        self.api, self.endpoint = api, endpoint
        settings = RemoteSettings(search_api=api.url, client=ClientSettings(pause=0.001))
        self.kg = RemoteKg(endpoint.url, settings)

    def fails(self) -> KgError:
        with pytest.raises(KgError) as raised:
            self.kg.search("King Kong")
        assert "127.0.0.1" not in str(raised.value)
        return raised.value

    def asked(self) -> list[Seen]:
        return self.api.requests


@contextmanager
def searching(
    api: list[Reaction], endpoint: tuple[Reaction, ...] = (TEXTS, COUNTS)
) -> Iterator[Search]:
    """A search over servers of its own."""
    host_client._throttles.clear()
    with FaultyServer() as first, FaultyServer() as second:
        first.play(*api)
        second.play(*endpoint)
        yield Search(first, second)


def test_hits_come_with_types_and_statements_and_bearers_of_one_name_together() -> None:
    with searching([json_reply(FILMS)]) as search:
        assert search.kg.search("King Kong", limit=5) == [
            Match("Q309048", "King Kong", "1933 film", "King Kong", ("film",), 104),
            Match("Q160215", "King Kong", "fictional giant gorilla", "King Kong", GORILLA, 31),
            Match("Q1142862", "Kong", "", "King Kong Lives", (), 0),
        ]


def test_the_search_is_asked_as_its_documentation_says() -> None:
    with searching([json_reply(FILMS)]) as search:
        search.kg.search("King Kong", "property", limit=99)
    sent = dict(search.asked()[0].parameters)
    assert search.asked()[0].headers["user-agent"].startswith("branchwise/")
    assert sent.pop("action") == "wbsearchentities"
    assert sent.pop("search") == "King Kong"
    assert sent.pop("type") == "property"
    assert sent.pop("limit") == "50"
    assert sent == {"language": "en", "uselang": "en", "format": "json", "formatversion": "2"}


def test_what_no_name_begins_with_is_searched_in_full_text() -> None:
    with searching([json_reply(NOTHING), json_reply(FULL_TEXT)]) as search:
        found = search.kg.search("starred in", "property")
    assert [(match.id, match.label, match.description) for match in found] == [
        ("P161", "cast member", ""),
        ("P1", "later", "the second"),
    ]
    second = search.asked()[1].parameters
    assert (second["generator"], second["gsrsearch"]) == ("search", "starred in")
    assert second["gsrnamespace"] == "120"


def test_a_thing_under_two_names_comes_once() -> None:
    label, alias = ({"id": "Q7", "match": {"text": name}} for name in ("Kong", "King Kong"))
    with searching([json_reply({"search": [label, alias]})]) as search:
        assert [(match.id, match.name) for match in search.kg.search("Kong")] == [("Q7", "Kong")]


def test_nothing_found_is_no_error() -> None:
    with searching([json_reply(NOTHING), json_reply({"batchcomplete": True})]) as search:
        assert search.kg.search("xyzzy") == []
        assert search.endpoint.requests == []


def test_entities_of_another_wikibase_have_their_iri() -> None:
    entry = {"id": "Q7", "concepturi": "https://base.example/entity/Q7", "label": "Seven"}
    with searching([json_reply({"search": [entry]})]) as search:
        assert search.kg.search("Seven")[0].id == "https://base.example/entity/Q7"


def test_an_iri_that_could_end_the_query_is_not_put_into_it() -> None:
    entry = {"id": "Q7", "concepturi": "http://a/> } DROP ALL # ", "label": "Seven"}
    with searching([json_reply({"search": [entry]})]) as search:
        assert search.kg.search("Seven")[0].label == "Seven"
        assert not any("DROP" in seen.parameters["query"] for seen in search.endpoint.requests)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("endpoint", "seconds"),
    [
        ((reply(500, b""),), 60.0),
        ((reply(body=b"<html>"),), 60.0),
        ((reply(429, b"", headers={"Retry-After": "300"}),), 60.0),
        ((TEXTS, hang()), 1.5),
    ],
)
def test_a_failing_endpoint_costs_types_only(endpoint, seconds, monkeypatch):
    monkeypatch.setattr("branchwise.kg.open.DEFAULT_SECONDS", seconds)
    with searching([json_reply(FILMS)], endpoint) as search:
        found = search.kg.search("King Kong")
    assert [match.id for match in found] == ["Q309048", "Q160215", "Q1142862"]
    assert all(match.statements == 0 for match in found)


@pytest.mark.parametrize(
    ("reaction", "kind", "words"),
    [
        (json_reply({"error": {"code": "badvalue", "info": "Bad \x1b word"}}), "endpoint", "Bad"),
        (json_reply({"error": {"code": "maxlag", "info": "Waiting for a host"}}), "busy", "wait"),
        (json_reply({"error": {"code": "ratelimited", "info": "slow"}}), "busy", "wait"),
        (json_reply({"error": "?"}), "endpoint", "failed"),
        (json_reply({"search": [{"label": "no id"}]}), "endpoint", "form"),
        (json_reply({"search": "?"}), "endpoint", "form"),
        (json_reply([]), "endpoint", "form"),
        (reply(body=b'{"search": [', media="application/json"), "endpoint", "broke off"),
        (reply(body=b"<html>", media="text/html"), "endpoint", "web page"),
        (reply(403, b""), "endpoint", "BRANCHWISE_USER_AGENT"),
        (reply(429, b"", headers={"Retry-After": "900"}), "busy", "900 seconds"),
    ],
)
def test_a_failing_search_says_what_failed(reaction: Reaction, kind: str, words: str) -> None:
    with searching([reaction]) as search:
        error = search.fails()
    assert error.kind == kind
    assert words in str(error)


def test_wikidatas_service_has_wikidatas_search() -> None:
    """Nothing is sent here: a held host refuses before a connection is opened."""
    host_client._throttles.clear()
    host_client.shared_throttle("www.wikidata.org").hold(3600)
    with pytest.raises(KgError) as raised:
        RemoteKg("https://query.wikidata.org/sparql").search("King Kong")
    host_client._throttles.clear()
    assert raised.value.kind == "busy"
