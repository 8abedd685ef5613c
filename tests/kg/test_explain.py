"""What a model is told when its query finds nothing."""

from collections.abc import Iterator

import pytest

from branchwise.kg.answers import KgError
from branchwise.kg.build import build_kg
from branchwise.kg.open import EmbeddedKg
from branchwise.kg.sparql.structure import shorten

FILMS = """\
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
wd:P31 rdfs:label "instance of"@en . wd:P57 rdfs:label "director"@en .
wd:P161 rdfs:label "cast member"@en . wd:P577 rdfs:label "publication date"@en .
wd:P136 rdfs:label "genre"@en .
wd:Q1 rdfs:label "Heat"@en ; wdt:P31 wd:Q10 ; wdt:P57 wd:Q3 ; wdt:P161 wd:Q4 ;
  wdt:P577 "1995-12-15T00:00:00Z"^^xsd:dateTime .
wd:Q2 rdfs:label "Alibi"@en ; wdt:P31 wd:Q10 ; wdt:P57 wd:Q4 .
wd:Q3 rdfs:label "Mira Man"@en ; wdt:P31 wd:Q5 .
wd:Q4 rdfs:label "Ann Bell"@en ; wdt:P31 wd:Q5 .
wd:Q5 rdfs:label "human"@en . wd:Q10 rdfs:label "film"@en . wd:Q11 rdfs:label "band"@en .
"""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[EmbeddedKg]:
    folder = tmp_path_factory.mktemp("films")
    (folder / "films.ttl").write_text(FILMS)
    build_kg([folder / "films.ttl"], folder / "kg")
    opened = EmbeddedKg(folder / "kg", workers=1)
    yield opened
    opened.close()


def notes_of(films: EmbeddedKg, body: str) -> tuple[str, ...]:
    """The notes on a query without rows."""
    answer = films.query(f"SELECT * WHERE {{ {body} }}")
    assert answer.rows == ()
    return answer.notes


def note_of(films: EmbeddedKg, body: str) -> str:
    (note,) = notes_of(films, body)
    return note


def unknown(films: EmbeddedKg, body: str) -> str:
    with pytest.raises(KgError) as caught:
        films.query(f"SELECT * WHERE {{ {body} }}")
    assert caught.value.kind == "unknown"
    return str(caught.value)


def test_rows_need_no_explanation(films: EmbeddedKg) -> None:
    assert films.query("SELECT * WHERE { ?film wdt:P57 ?person }").notes == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "?film wdt:P31 wd:Q10 . ?film wdt:P57 wd:Q5 . ?film wdt:P161 ?who",
            "`?film wdt:P57 wd:Q5` matches nothing. wdt:P57 has values such as wd:Q",
        ),
        ("?film rdfs:label 'Heat'", """It matches with "Heat"@en"""),
        ("?who rdfs:label 'Ann Bell'", """It matches with "Ann Bell"@en"""),
        ('?film rdfs:label ?label FILTER(?label = "Heat")', 'STR(?label) = "..."'),
        ('?film rdfs:label "Heat!"@en', "wikidata_search"),
        ('?film wdt:P577 "1995"', 'such as "1995-12-15T00:00:00Z"^^xsd:dateTime'),
        ("wd:Q3 wdt:P57 ?film", "The other way round it matches: `?film wdt:P57 wd:Q3`."),
        ("?film wd:P57 ?who", "write wdt:P57"),
        ("?film wdt:P57 wdt:Q3", "write wd:Q3"),
        ("wdt:P57 rdfs:label ?label", "written wd:P57"),
        ("?film wdt:P136 wd:Q3", "No statement has wdt:P136."),
        (
            "VALUES ?s { wd:Q1 } { SELECT ?s { ?s wdt:P57 wd:Q5 } }",
            "In the subquery: `?s wdt:P57 wd:Q5` matches nothing.",
        ),
    ],
)
def test_what_is_wrong_with_a_query_is_told(films, body, said):
    assert said in note_of(films, body).replace("'", '"')


def test_each_pattern_that_matches_nothing_is_named(films: EmbeddedKg) -> None:
    notes = notes_of(films, "?film wdt:P57 wd:Q5 . ?film wdt:P31 wd:Q11")
    assert [note.split("`")[1] for note in notes] == ["?film wdt:P57 wd:Q5", "?film wdt:P31 wd:Q11"]


def test_the_pattern_that_leaves_nothing_of_the_others_is_named(films: EmbeddedKg) -> None:
    body = "?film wdt:P31 wd:Q10 . ?film wdt:P57 ?who . ?who wdt:P161 ?other . ?x wdt:P31 ?y"
    assert note_of(films, body) == (
        "`?film wdt:P31 wd:Q10 . ?film wdt:P57 ?who` match together; "
        "adding `?who wdt:P161 ?other` leaves nothing."
    )


def test_a_filter_that_removes_everything_is_told(films: EmbeddedKg) -> None:
    note = note_of(films, "?film wdt:P577 ?date FILTER(YEAR(?date) = 1996)")
    assert note.startswith("All triple patterns match together: a FILTER")
    assert "STR(" not in note


def test_a_statement_node_that_is_not_there_is_told(films: EmbeddedKg) -> None:
    answer = films.query("SELECT * WHERE { ?film p:P57 ?s . ?s ps:P57 wd:Q3 }")
    assert "wdt:P57 only" in answer.notes[0]


def test_an_unknown_property_brings_the_nearest_ones(films: EmbeddedKg) -> None:
    message = unknown(films, "?film wdt:P4242 ?directorLabel")
    assert message.startswith("The graph has no property P4242.")
    assert "P57 (director)" in message
    assert 'wikidata_search(kind="property")' in message


def test_an_unknown_entity_leads_to_the_search(films: EmbeddedKg) -> None:
    assert unknown(films, "?film wdt:P57 wd:Q4242") == (
        "The graph has no entity Q4242. Do not guess numbers: "
        "look the name up with wikidata_search."
    )


def test_every_unknown_number_is_named_once(films: EmbeddedKg) -> None:
    message = unknown(films, "?a wdt:P4242 wd:Q4242 . ?b wdt:P57 wd:Q4242 . ?c wdt:P4243 ?d")
    assert [message.count(number) for number in ("P4242", "Q4242", "P4243")] == [1, 1, 1]


def test_an_unknown_number_that_need_not_match_is_a_note(films: EmbeddedKg) -> None:
    answer = films.query("SELECT * { ?film wdt:P57 ?who OPTIONAL { ?film wdt:P4242 ?composer } }")
    assert len(answer.rows) == 2
    assert len(answer.notes) == 1
    assert answer.notes[0].startswith("The graph has no property P4242.")


def test_a_path_that_may_be_empty_is_answered_though_its_property_is_unknown(films):
    answer = films.query("SELECT * WHERE { ?film wdt:P31/wdt:P279* wd:Q10 }")
    assert len(answer.rows) == 2
    assert answer.notes == (
        'The graph has no property P279. Look it up with wikidata_search(kind="property").',
    )


def test_a_false_ask_is_explained(films: EmbeddedKg) -> None:
    answer = films.query("ASK { wd:Q1 wdt:P57 wd:Q4 }")
    assert answer.boolean is False
    assert answer.notes[0].startswith("`wd:Q1 wdt:P57 wd:Q4` matches nothing.")


def test_unknown_numbers_beyond_three_are_counted(films: EmbeddedKg) -> None:
    many = " ".join(f"wd:Q{number}" for number in range(9_000_000, 9_001_200))
    (answer, *more) = films.query(f"SELECT * {{ VALUES ?x {{ {many} }} ?x ?p ?o }}").notes
    assert answer.startswith("The graph has no entity Q9000000.")
    assert "And 1,197 more of the query's numbers are not in the graph." in more
    assert len(" ".join((answer, *more))) < 1_000


def test_a_message_has_an_end(films: EmbeddedKg) -> None:
    with pytest.raises(KgError) as caught:
        films.query(f"SELECT * {{ ?x wdt:P57 {'y' * 10_000} }}")
    assert len(str(caught.value)) <= 2_000


def test_each_side_of_a_union_that_matches_nothing_is_named(films: EmbeddedKg) -> None:
    first, second, third = notes_of(
        films, "{ ?s wdt:P57 wd:Q5 } UNION { ?s wdt:P161 wd:Q4 . ?s wdt:P57 wd:Q4 }"
    )
    assert first.startswith("In side 1 of the UNION: `?s wdt:P57 wd:Q5` matches nothing.")
    assert second == (
        "In side 2 of the UNION: `?s wdt:P161 wd:Q4` matches; "
        "adding `?s wdt:P57 wd:Q4` leaves nothing."
    )
    assert third == "So no side of the UNION matches."


def test_sides_beyond_three_are_counted(films: EmbeddedKg) -> None:
    sides = " UNION ".join(f"{{ ?s wdt:P57 wd:Q{number} }}" for number in (1, 2, 5, 10, 11))
    notes = notes_of(films, sides)
    assert len(notes) == 4
    assert notes[3] == "And 2 more sides of the UNION match nothing."


@pytest.mark.parametrize(
    "body",
    [
        "?film wdt:P31 wd:Q10 MINUS { ?film wdt:P57 ?who }",
        "?film wdt:P31 wd:Q10 MINUS { ?film wdt:P136 ?x } FILTER NOT EXISTS { ?film wdt:P57 ?y }",
        "?film wdt:P31 wd:Q10 OPTIONAL { ?film wdt:P136 ?x } FILTER(BOUND(?x))",
        "wd:Q1 wdt:P577 ?y . { SELECT ?x { ?x wdt:P57 ?y } } UNION { SELECT ?x { ?y wdt:P57 ?x } } "
        "FILTER(false)",
    ],
    ids=["minus", "not exists", "optional", "hidden variable"],
)
def test_what_need_not_match_is_never_the_reason(films: EmbeddedKg, body: str) -> None:
    assert note_of(films, body).startswith("All triple patterns match together: a FILTER, VALUES, ")


HINT = "Nothing is left of what its parts match"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{ SELECT ?s { ?s wdt:P57 wd:Q3 } } { SELECT ?s { ?s wdt:P57 wd:Q4 } }", HINT),
        ("VALUES ?s { wd:Q5 } { ?s wdt:P57 wd:Q3 } UNION { ?s wdt:P57 wd:Q4 }", HINT),
        (
            "?s wdt:P161 wd:Q4 . { ?s wdt:P57 wd:Q4 } UNION { ?s wdt:P31 wd:Q5 }",
            "No side of the UNION matches together with the patterns outside of it.",
        ),
    ],
    ids=["subqueries", "values and union", "patterns outside"],
)
def test_parts_that_match_by_themselves_leave_a_hint(films, body, said):
    assert note_of(films, body).startswith(said)


@pytest.mark.slow
def test_shortening_keeps_what_has_no_prefix() -> None:
    text = '?x <http://www.wikidata.org/prop/statement/P57> <http://example.org/a> .\n ?y a "<b>"'
    assert shorten(text) == '?x ps:P57 <http://example.org/a> . ?y a "<b>"'
    assert len(shorten("?x " * 100)) == 201
