"""What is found out about an empty result by asking its endpoint, here a store in memory."""

from typing import Any

import pytest

from branchwise.kg.answers import KgError, QueryResult, Term
from branchwise.kg.remote.descriptions import MAX_ASKS, explain_emptiness
from branchwise.kg.sparql.prepare import prepare
from support.kg.small_store import PREFIXES, small_store


class Endpoint:
    """Answers as an endpoint does, and counts the ASKs."""

    def __init__(self) -> None:
        self.store = small_store()
        self.asks = 0

    def __call__(self, text: str, form: str = "SELECT") -> QueryResult:
        found: Any = self.store.query(PREFIXES + text if form == "ASK" else text)
        if form == "ASK":
            self.asks += 1
            return QueryResult((), (), boolean=bool(found))
        names = tuple(variable.value for variable in found.variables)
        rows = tuple(tuple(map(_term, row)) for row in found)
        return QueryResult(names, rows)


def _term(node: Any) -> Term:
    language = getattr(node, "language", None)
    return Term(node.value, "literal" if hasattr(node, "datatype") else "iri", "", language or "")


def notes_on(body: str) -> tuple[str, ...]:
    endpoint = Endpoint()
    notes = explain_emptiness(prepare(f"SELECT * {{ {body} }}"), endpoint)
    assert endpoint.asks <= MAX_ASKS
    return notes


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "{ ?s wdt:P57 wd:Q1 } UNION { ?s wdt:P57 wd:Q2 }",
            "No side of the UNION matches. Nothing matches side 1, `?s wdt:P57 wd:Q1`; "
            "side 2, `?s wdt:P57 wd:Q2`.",
        ),
        (
            "VALUES ?s { wd:Q9 } { ?s wdt:P57 ?d } UNION { ?s wdt:P57 wd:Q2 }",
            "Not every side of the UNION matches. Nothing matches side 2, `?s wdt:P57 wd:Q2`.",
        ),
        (
            " UNION ".join(f"{{ ?s wdt:P58 wd:Q{number} }}" for number in range(1, 10)),
            "Not every side of the UNION matches. Nothing matches side 1, `?s wdt:P58 wd:Q1`; "
            "side 2, `?s wdt:P58 wd:Q2`; side 3, `?s wdt:P58 wd:Q3`; and 3 more.",
        ),
        (
            "{ SELECT ?s { ?s wdt:P57 wd:Q2 . ?s wdt:P31 ?c } }",
            "In the subquery `?s wdt:P57 wd:Q2 . ?s wdt:P31 ?c` matches nothing.",
        ),
    ],
)
def test_sides_and_subqueries_that_match_nothing_are_told(body: str, said: str) -> None:
    assert notes_on(body)[0] == said


def test_parts_that_match_by_themselves_leave_a_hint() -> None:
    body = "VALUES ?s { wd:Q9 } { ?s wdt:P57 wd:Q3 } UNION { ?s wdt:P57 wd:Q4 }"
    assert notes_on(body)[0].startswith("Nothing is left of what its parts match")


def test_what_was_not_asked_is_not_claimed() -> None:
    body = "?a wdt:P31 ?b . ?a wdt:P57 ?c . ?c wdt:P31 ?d . ?a wdt:P577 ?e FILTER(?e = 1)"
    assert notes_on(body)[0] == (
        "Each triple pattern alone matches something, but perhaps not all of them together."
    )


@pytest.mark.parametrize(
    "body",
    [
        "?f wdt:P57 ?d MINUS { ?f wdt:P31 wd:Q11424 }",
        "?f wdt:P57 ?d MINUS { ?f wdt:P58 ?x } FILTER NOT EXISTS { ?f wdt:P57 ?d }",
        "?f wdt:P57 ?d OPTIONAL { ?f wdt:P58 ?x } FILTER(BOUND(?x))",
        "?d wdt:P569 ?y . { SELECT ?s { ?s wdt:P57 ?y } } UNION { SELECT ?s { ?y wdt:P57 ?s } } "
        "FILTER(false)",
    ],
    ids=["minus", "not exists", "optional", "hidden variable"],
)
def test_what_need_not_match_is_never_the_reason(body: str) -> None:
    assert notes_on(body)[0].startswith("The triple patterns match together: a FILTER, VALUES, ")


@pytest.mark.parametrize("asked", [None, KgError("timeout", "late")])
def test_a_question_that_is_not_answered_teaches_nothing(asked: KgError | None) -> None:
    def endpoint(text: str, form: str = "SELECT") -> QueryResult:
        if form == "ASK" and asked is not None:
            raise asked
        return QueryResult(("thing", "label"), ())

    prepared = prepare("SELECT * { ?f wdt:P57 ?d MINUS { ?f wdt:P31 ?x } }")
    (numbers,) = explain_emptiness(prepared, endpoint)
    assert numbers.startswith("In this graph P57 has no name here")


@pytest.mark.slow
def test_numbers_beyond_twelve_are_counted() -> None:
    many = " ".join(f"wd:Q{number}" for number in range(1_000, 2_200))
    (_, numbers) = notes_on(f"VALUES ?s {{ wd:Q3 {many} }} ?s wdt:P57 ?x FILTER(false)")
    assert numbers.startswith("In this graph Q3 is John Guillermin, Q1000 has no name here, ")
    assert numbers.count("has no name") == 11
    assert ", and 1,190 more. Look the right ones up with wikidata_search." in numbers
