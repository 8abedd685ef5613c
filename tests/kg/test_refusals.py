"""What of a server's own words is passed on."""

import pytest

from branchwise.kg.remote.responses import clean_words, server_words

LONG = "a1B2c3D4e5F6g7H8"


@pytest.mark.parametrize(
    "secret",
    [
        f"sk-{LONG}",
        f"sk-proj-{LONG}",
        f"sk_live_{LONG}",
        "key=hunter",
        f"apikey={LONG}",
        f"api_key='{LONG}'",
        f"?api-key={LONG}"[1:],
        "access_token=abc",
        f"X-Api-Key: {LONG}",
        f'"token": "{LONG}"',
        f"Authorization: Bearer {LONG}/+=",
        f"authorization: bearer {LONG}",
        f"Basic {LONG}==",
        "password=correct-horse",
        f"eyJhbGciOiJIUzI1NiJ9.{LONG}.{LONG}",
        f"ghp_{LONG}",
        "AKIAIOSFODNN7EXAMPLE",
    ],
)
def test_keys_are_cut_from_a_servers_words(secret: str) -> None:
    said = clean_words(f"upstream failed with {secret} for client 7")
    assert said.startswith("upstream failed with ")
    assert "(key)" in said
    assert said.endswith(" for client 7")
    for part in (LONG, "hunter", "abc", "horse", "OSFODNN", "eyJ"):
        assert part not in said


def test_keys_in_json_and_in_an_exception_are_cut() -> None:
    body = b'{"error": "quota of sk-a1B2c3D4e5F6 is used up"}'
    assert server_words(body) == "quota of (key) is used up"
    body = b"java.lang.IllegalStateException: no user for token=a1B2c3\n\tat x.Y.z(Y.java)"
    assert server_words(body) == "no user for (key)"


@pytest.mark.parametrize(
    "said",
    [
        "Unexpected token: FILTER at line 2, column 14",
        "Invalid SPARQL query: Token \"}\": mismatched input '}'",
        "error near ?key=5 and $token = 7",
        "expected a keyword: SELECT or 1:19",
        "error at wdt:P31/wdt:P279* near foaf:knows",
        "the basic graph pattern is empty",
        "sk-P57 is no prefix",
    ],
)
def test_a_servers_words_on_a_query_stay(said: str) -> None:
    assert clean_words(said) == said


@pytest.mark.parametrize("unit", ["key", "token=", "sk-", "Bearer ", "a-", "eyJa.", "key: a", "="])
def test_words_made_to_look_like_keys_are_read_to_their_end(unit: str) -> None:
    assert clean_words(unit * 50_000)
