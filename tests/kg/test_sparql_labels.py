"""Labels that a query leaves to the label service, or to nobody."""

import pytest

from branchwise.kg.answers import KgError
from branchwise.kg.sparql.prepare import prepare
from support.kg.small_store import WD, rows, small_store

STORE = small_store()
SERVICE = 'SERVICE wikibase:label { bd:serviceParam wikibase:language "LANGUAGES" . }'
KONG, COOPER, PLAIN = '"King Kong"@en', '"Merian C. Cooper"@mul', '"Schoedsack"'


def table(query: str, languages: str = "[AUTO_LANGUAGE],en") -> list[tuple[str, ...]]:
    """The rows of a query, as its columns have them; "" where there is nothing."""
    prepared = prepare(query.replace("SERVICE", SERVICE).replace("LANGUAGES", languages))
    assert prepared.variables is not None
    assert "SERVICE" not in prepared.text
    assert prepare(prepared.text).text == prepared.text
    found = [dict(row) for row in rows(STORE, prepared.text)]
    return sorted(tuple(row.get(name, "") for name in prepared.variables) for row in found)


def one(query: str, languages: str = "en") -> list[str]:
    return [row[0] for row in table(query, languages)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?dLabel { wd:Q2 wdt:P57 ?d SERVICE }",
        "SELECT ?dLabel { wd:Q2 wdt:P57 ?d . SERVICE . }",
        "SELECT ?dLabel { ?f wdt:P57 ?d SERVICE ?f wdt:P577 ?w FILTER(YEAR(?w) < 1950) }",
        "SELECT ?dLabel { ?f wdt:P57 ?d SERVICE . ?f wdt:P577 ?w . FILTER(YEAR(?w) < 1950) }",
        "SELECT ?dLabel { ?f wdt:P577 ?w FILTER(YEAR(?w) < 1950) SERVICE . ?f wdt:P57 ?d }",
        "SELECT ?dLabel { SERVICE wd:Q2 wdt:P57 ?d }",
        "SELECT ?dLabel { ?f wdt:P57 ?d . SERVICE FILTER(?f = wd:Q2) }",
        "SELECT ?dLabel { wd:Q2 wdt:P57 ?d { SERVICE } }",
        "SELECT ?dLabel { { SELECT ?dLabel { wd:Q2 wdt:P57 ?d } } SERVICE }",
        "SELECT $dLabel { wd:Q2 wdt:P57 $d }",
        "SELECT ?dLabel { wd:Q2 wdt:P57 ?d } GROUP BY ?d",
        "SELECT ?dLabel { wd:Q2 wdt:P57 ?d } GROUP BY ?dLabel",
        "SELECT ?dLabel { VALUES ?d { wd:Q4 wd:Q5 } }",
        "SELECT ?dLabel { wd:Q2 wdt:P57 ?d . FILTER(STRLEN(?dLabel) > 3) SERVICE }",
        "SELECT ?dLabel { ?f wdt:P57 ?d FILTER EXISTS { ?f wdt:P577 ?w FILTER(YEAR(?w) < 1950) } }",
    ],
)
def test_places_for_labels(query: str) -> None:
    assert one(query) == [COOPER, PLAIN]


@pytest.mark.slow
def test_what_has_no_label_is_called_by_the_end_of_its_address() -> None:
    assert one("SELECT ?cLabel { wd:Q3 wdt:P31 ?c }") == ['"Q6"']
    assert one("SELECT ?uLabel { wd:Q1 wdt:P856 ?u }") == ['"http://films.example/kong/"']
    assert one("SELECT ?pLabel { wd:Q1 ?p wd:Q3 }") == ['"P57"']


@pytest.mark.slow
def test_languages_are_tried_in_order() -> None:
    query = "SELECT ?fLabel { ?f wdt:P31 wd:Q11424 SERVICE }"
    assert one(query, "de,en") == ['"King Kong (Film)"@de', KONG]
    assert one(query, "de") == ['"King Kong (Film)"@de', '"Q2"']
    assert one(query, "fr, de ,[AUTO_LANGUAGE]") == ['"King Kong (Film)"@de', '"Q2"']
    assert one(query, "[AUTO_LANGUAGE]") == [KONG, KONG]
    assert one("SELECT ?cLabel { wd:Q3 wdt:P31 ?c SERVICE }", "en,de") == ['"Mensch"@de']


def test_a_label_that_is_read_before_its_thing_is_found_is_nothing() -> None:
    query = "SELECT ?d ?name { BIND(STR(?dLabel) AS ?name) wd:Q1 wdt:P57 ?d }"
    assert table(query) == [(f"<{WD}Q3>", "")]


@pytest.mark.slow
def test_labels_that_only_an_inner_filter_reads() -> None:
    inner = "{{ ?f wdt:P57 ?d FILTER(CONTAINS(?dLabel, 'Cooper')) }}"
    films = f"SELECT ?f {{{{ ?f wdt:P31 wd:Q11424 {{}} {inner} }}}}"
    assert one(films.format("FILTER EXISTS")) == [f"<{WD}Q2>"]
    assert one(films.format("FILTER NOT EXISTS")) == [f"<{WD}Q1>"]
    assert one(films.format("MINUS")) == [f"<{WD}Q1>"]
    assert one(films.format("")) == [f"<{WD}Q2>"]
    assert one(films.format("").replace("?f {", "?dLabel {", 1)) == [COOPER]


def test_a_star_shows_labels_that_are_read_and_no_others() -> None:
    query = "SELECT * { wd:Q2 wdt:P57 ?d . FILTER(CONTAINS(?dLabel, 'Cooper')) SERVICE }"
    assert table(query) == [(f"<{WD}Q4>", COOPER)]
    assert prepare(query.replace("SERVICE", "")).variables == ("d", "dLabel")
    assert table("SELECT * { wd:Q2 wdt:P57 ?d SERVICE }") == [(f"<{WD}Q4>",), (f"<{WD}Q5>",)]


def test_names_in_use_are_not_used_again() -> None:
    query = "SELECT ?dLabel ?dLabel_1 { wd:Q2 wdt:P57 ?d . wd:Q1 wdt:P57 ?dLabel_1 }"
    assert table(query) == [(COOPER, f"<{WD}Q3>"), (PLAIN, f"<{WD}Q3>")]


def test_aliases_of_many_make_a_text_that_grows_with_their_number() -> None:
    def size(count: int) -> int:
        names = [f"?v{number}" for number in range(count)]
        columns = " ".join(f"{name}Label {name}AltLabel" for name in names)
        return len(prepare(f"SELECT {columns} {{ {' wdt:P57 ?x . '.join(names)} ?y ?z }}").text)

    assert size(12) - size(11) < 2 * (size(3) - size(2))


def test_a_text_that_labels_make_too_long_is_refused() -> None:
    nested = "?d wdt:P57 ?x ."
    for number in range(10):
        own = f"?x{number}"
        nested = f"{{ SELECT ?d {own}AltLabel {{ {nested} ?d wdt:P57 {own} }} }}"
    with pytest.raises(KgError) as error:
        prepare(f"SELECT * {{ {nested} }}")
    assert error.value.kind == "resources"


@pytest.mark.slow
@pytest.mark.parametrize(
    "condition",
    [
        'CONTAINS(?fLabel, "Kong")',
        'CONTAINS(?fAltLabel, "Wonder")',
        '?fLabel = "King Kong"@en && BOUND(?fAltLabel)',
    ],
)
def test_aliases_beside_a_condition_on_labels(condition: str) -> None:
    query = f"SELECT ?f ?fAltLabel {{ ?f wdt:P31 wd:Q11424 FILTER({condition}) SERVICE }}"
    assert (f"<{WD}Q1>", '"The Eighth Wonder, Kong"@en') in table(query, "en")
