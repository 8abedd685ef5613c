"""What holds of preparing any query."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.kg.answers import KgError
from branchwise.kg.sparql.prepare import Prepared, prepare
from support.kg.small_store import PREFIXES, label, random_groups, rows, small_store

STORE = small_store()
STEADY = settings(max_examples=30, deadline=None, derandomize=True, database=None)
SERVICE = 'SERVICE wikibase:label { bd:serviceParam wikibase:language "en". }'
PIECES = (
    *("SELECT", "ASK", "WHERE", "{", "}", "(", ")", "[", "]", ".", ";", ",", "*", "?x", "?xLabel"),
    *("wdt:P57", "wd:Q1", "a", "OPTIONAL", "UNION", "MINUS", "FILTER", "BIND", "AS", "VALUES"),
    *("SERVICE", "wikibase:label", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "1", '"s"', "'''"),
    *(
        "@en",
        "^^",
        "xsd:date",
        "EXISTS",
        "NOT",
        "<urn:a>",
        "<",
        "#",
        "\n",
        "\\u0041",
        "COUNT",
        "PREFIX",
    ),
)
WHOLE = f"""SELECT ?film ?filmLabel (COUNT(?d) AS ?n) WHERE {{
  ?film wdt:P31 wd:Q11424 ; wdt:P57 ?d , [ wdt:P569 ?born ] . # films
  OPTIONAL {{ ?film wdt:P577 ?date . FILTER(YEAR(?date) > 1970 && ?filmLabel != "x") }}
  {SERVICE}
}} GROUP BY ?film ?filmLabel HAVING (?n > 0) ORDER BY DESC(?n) LIMIT 5"""
GROUPS = random_groups(STORE, 36)
NUMBERS = range(len(GROUPS))


def attempt(text: str) -> Prepared | None:
    try:
        return prepare(text)
    except KgError:
        return None


@pytest.mark.slow
@STEADY
@given(st.text(max_size=80))
def test_any_text_is_prepared_or_explained(text: str) -> None:
    attempt(text)
    attempt("SELECT * { " + text + " }")


@STEADY
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_words_are_prepared_or_explained(words: list[str]) -> None:
    attempt(" ".join(words))
    attempt("SELECT * { " + " ".join(words) + " }")


@pytest.mark.slow
@STEADY
@given(st.integers(0, len(WHOLE)), st.integers(0, 12), st.sampled_from(("", *PIECES)))
def test_a_query_with_a_slip_is_prepared_or_explained(at: int, gone: int, new: str) -> None:
    prepared = attempt(f"{WHOLE[:at]}{new}{WHOLE[at + gone :]}")
    if prepared is not None:
        assert "SERVICE" not in prepared.text


@pytest.mark.parametrize("number", NUMBERS[::2])
def test_a_query_without_labels_keeps_its_meaning(number: int) -> None:
    query = f"SELECT * WHERE {{ {GROUPS[number]} }}"
    assert rows(STORE, prepare(query).text) == rows(STORE, PREFIXES + query)


@pytest.mark.parametrize("number", NUMBERS)
def test_labels_are_added_to_rows_and_change_nothing_else(number: int) -> None:
    group = GROUPS[number]
    before, after = (("", ""), (SERVICE, ""), ("", SERVICE))[number % 3]
    query = f"SELECT ?a ?b ?c ?aLabel ?bLabel ?cLabel WHERE {{ {before} {group} {after} }}"
    expected = [
        tuple(sorted((*row, *((f"{name}Label", label(term)) for name, term in row))))
        for row in rows(STORE, f"{PREFIXES} SELECT ?a ?b ?c WHERE {{ {group} }}")
    ]
    assert rows(STORE, prepare(query).text) == sorted(expected)


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS[::3])
def test_preparing_twice_is_preparing_once(number: int) -> None:
    query = f"SELECT ?a ?aLabel ?bDescription ?cAltLabel {{ {GROUPS[number]} {SERVICE} }}"
    once = prepare(query).text
    assert prepare(once).text == once
