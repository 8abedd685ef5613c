"""What is known of entities, from memory and from an endpoint."""

import gzip
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.kg.answers import KgError, QueryResult
from branchwise.kg.build import build_kg
from branchwise.worlds.domains import world_schema
from branchwise.worlds.questions.endpoint_facts import EndpointFacts
from branchwise.worlds.questions.facts import Facts, KgFacts
from branchwise.worlds.questions.plans import Plan, execute
from branchwise.worlds.questions.support import Support
from support.synthesis.former_kg import triples
from support.synthesis.little_kg import OTHER, TRIPLES, little_schema
from support.synthesis.store_kg import StoreKg


@pytest.fixture(params=["memory", "endpoint"])
def little(request: pytest.FixtureRequest, little_facts: KgFacts) -> Facts:
    """The little graph's facts, from either source."""
    if request.param == "memory":
        return little_facts
    return EndpointFacts(StoreKg(TRIPLES), little_schema())


def test_a_relation_leads_from_subject_to_objects(little: Facts) -> None:
    found = little.related("cast", False, ("Q102", "Q101", "Q999"))

    assert list(found.items()) == [("Q102", ("Q121", "Q123")), ("Q101", ("Q121", "Q122"))]


def test_a_relation_leads_back_to_subjects_of_its_types_alone(little: Facts) -> None:
    """The song has the same property, and is no film."""
    assert little.related("cast", True, ("Q121", "Q123")) == {
        "Q121": ("Q101", "Q102", "Q103"),
        "Q123": (OTHER, "Q102"),
    }


def test_objects_must_be_of_the_relations_types(little: Facts) -> None:
    """Who acts and directs is found by both; blank nodes are nobody."""
    assert little.related("cast", False, ("Q103",)) == {"Q103": ("Q111", "Q121")}
    assert little.related("directed_by", True, ("Q111",)) == {"Q111": ("Q101", "Q102")}
    assert little.related("directed_by", False, ("Q104",)) == {}


def test_a_type_without_occupation_takes_in_people_who_have_none(little: Facts) -> None:
    assert little.related("honour", True, ("Q131",)) == {"Q131": ("Q101", "Q121", "Q124")}
    assert tuple(little.members("person")) == ("Q111", "Q112", "Q121", "Q122", "Q123", "Q124")
    assert tuple(little.members("actor")) == ("Q111", "Q121", "Q122", "Q123")


def test_items_lead_to_what_has_them(little: Facts) -> None:
    """An unknown value is no genre."""
    films = ("Q101", "Q102", "Q103")
    assert little.related("genre", False, films) == {
        "Q101": ("Q130232",),
        "Q102": ("Q130232", "Q157443"),
    }
    assert little.related("genre", True, ("Q157443",)) == {"Q157443": ("Q102",)}


@pytest.fixture(params=["memory", "folder", "endpoint"])
def moved(request: pytest.FixtureRequest, tmp_path: Path) -> Facts:
    """Companies that moved, from a file, its built graph, and an endpoint."""
    if request.param == "endpoint":
        return EndpointFacts(StoreKg(triples()), world_schema())
    (tmp_path / "kg.nt").write_text(triples())
    if request.param == "memory":
        return KgFacts.load(tmp_path / "kg.nt", world_schema())
    build_kg([tmp_path / "kg.nt"], tmp_path / "kg")
    return KgFacts.load(tmp_path / "kg", world_schema())


def test_former_values_are_those_that_ended_and_do_not_hold_now(moved: Facts) -> None:
    companies, cities = ("Q1", "Q2", "Q3"), ("Q11", "Q12")
    now = {"Q1": ("Q11",), "Q2": ("Q12",)}
    assert moved.related("company_home", False, companies) == now
    before = {"Q1": ("Q12",), "Q2": ("Q11",)}
    assert moved.related("formerly company_home", False, companies) == before
    assert moved.related("formerly company_home", True, cities) == {"Q11": ("Q2",), "Q12": ("Q1",)}


def test_a_plan_about_former_values_is_read_back_and_executed(moved: Facts) -> None:
    steps = [
        {"op": "atomic", "relation": "formerly company_home", "inverse": True, "entity": "Q11"},
        {"op": "join", "relation": "company_home", "of": 0},
    ]
    assert execute(Plan.from_json(steps), moved).sets == ({"Q2"}, {"Q12"})


def test_a_schema_knows_former_values_where_the_graph_has_them(moved: Facts) -> None:
    former = {name for name, relation in moved.schema.relations.items() if relation.ended}
    assert {"formerly company_home", "formerly studio_home"} <= former
    assert "formerly owner" not in former
    assert moved.schema.relations["band_label"].said.subject == ("are signed to {}",)


def test_a_graph_without_former_values_leaves_the_schema_as_it_is(facts: KgFacts) -> None:
    assert facts.schema is world_schema()


def test_dates_and_numbers_are_plain_texts(little: Facts) -> None:
    films = ("Q101", "Q102", "Q103")
    assert little.related("released", False, films) == {
        "Q101": ("1995-12-15",),
        "Q102": ("1999",),
        "Q103": ("2003-01-01",),
    }
    assert little.related("runtime", False, films) == {"Q101": ("170",), "Q102": ("95.5",)}
    assert little.related("born", False, ("Q111",)) == {"Q111": ("-0044-03-15",)}
    assert little.related("released", True, ("1999",)) == {}


def test_the_first_type_of_an_entity_with_two_occupations(little: Facts) -> None:
    types = {entity: little.type_of(entity) for entity in ("Q111", "Q112", "Q104", "Q124", "Q9")}

    assert types == {"Q111": "actor", "Q112": "director", "Q104": "song", "Q124": None, "Q9": None}


def test_names_are_in_the_language_best_understood(little: Facts) -> None:
    """English, then none; another language for a label, not for an alias; else the number."""
    entities = ("Q101", "Q131", "Q102", "Q103")
    assert [little.label(entity) for entity in entities] == ["Heat", "Prize", "Nuit", "Q103"]
    assert [little.aliases(entity) for entity in entities] == [("Warmth",), (), (), ()]


def test_degrees_are_how_many_values_there_are(little: Facts) -> None:
    assert little.degrees("cast", True, ("Q123", "Q999", "Q121")).tolist() == [2, 0, 3]
    assert little.degrees("released", True, ("1999",)).tolist() == [0]


def test_a_relation_that_the_schema_lacks_is_a_key_error(little: Facts) -> None:
    with pytest.raises(KeyError, match="sung_by"):
        little.related("sung_by", False, ("Q101",))
    with pytest.raises(KeyError, match="opera"):
        little.members("opera")


def _many(count: int) -> str:
    """Many films with one actor."""
    lines = (f"<http://x/{n}> d:P31 e:Q11424 ; d:P161 e:Q121 ." for n in range(count))
    return TRIPLES + "\n".join(lines)


def test_more_rows_than_a_graph_gives_are_asked_for_again() -> None:
    facts = EndpointFacts(StoreKg(_many(2_500)), little_schema())

    assert len(facts.members("film")) == 2_504
    found = facts.related("cast", True, ("Q121", "Q123"))
    assert (len(found["Q121"]), found["Q123"]) == (2_503, (OTHER, "Q102"))


def test_pages_that_a_graph_cuts_short_are_gone_on_from() -> None:
    facts = EndpointFacts(StoreKg(_many(30), most=7), little_schema())

    assert len(facts.members("film")) == 34


def test_what_was_answered_is_not_asked_again() -> None:
    kg = StoreKg(TRIPLES)
    facts = EndpointFacts(kg, little_schema())
    for _ in range(2):
        facts.related("cast", False, ("Q101", "Q999"))
        facts.label("Q101")
        facts.type_of("Q101")
    asked = len(kg.queries)

    facts.related("cast", False, ("Q999",))
    assert len(kg.queries) == asked


def test_an_entity_that_the_graph_lacks_has_no_facts() -> None:
    """The embedded graph refuses a query that only names what it does not have."""

    class Refusing(StoreKg):
        def query(self, sparql: str, seconds: float = 10.0) -> QueryResult:
            raise KgError("unknown", "The graph has no entity Q7.")

    facts = EndpointFacts(Refusing(TRIPLES), little_schema())
    assert (facts.related("cast", False, ("Q7",)), facts.label("Q7")) == ({}, "Q7")


def test_a_graph_that_fails_is_an_error() -> None:
    class Failing(StoreKg):
        def query(self, sparql: str, seconds: float = 10.0) -> QueryResult:
            raise KgError("timeout", "The query took too long.")

    with pytest.raises(KgError, match="too long"):
        EndpointFacts(Failing(TRIPLES), little_schema()).related("cast", False, ("Q101",))


def test_a_batch_of_any_size_fits_into_a_query() -> None:
    kg = StoreKg(TRIPLES)
    members = [f"<http://example.org/{'long' * 50}/{number}>" for number in range(700)]

    EndpointFacts(kg, little_schema()).related("honour", True, members)
    assert max(len(query) for query in kg.queries) < 16 * 1024


def test_files_and_folders_have_the_same_facts(world_2000: Path, facts: KgFacts) -> None:
    """The graph as it was built, and the file that it was built from."""
    read = KgFacts.load(world_2000 / "kg.nt.gz", facts.schema)

    films = tuple(facts.members("film"))
    assert tuple(read.members("film")) == films
    for name in ("cast", "film_genre", "released", "runtime"):
        assert read.related(name, False, films) == facts.related(name, False, films)
    assert [read.label(film) for film in films] == [facts.label(film) for film in films]


def test_both_sources_agree_on_a_world(facts: KgFacts, asked_facts: EndpointFacts) -> None:
    for name in facts.schema.types:
        assert tuple(asked_facts.members(name)) == tuple(facts.members(name))
    some = (*facts.members("film")[:5], *facts.members("person")[:5], "Q33999", "Q7")
    for entity in some:
        for ask in ("label", "aliases", "type_of"):
            assert getattr(asked_facts, ask)(entity) == getattr(facts, ask)(entity)


def test_what_is_not_a_graph_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n")
    (tmp_path / "broken.nt").write_text("<http://a> <http://b> <http://c> .\n<http://a> nothing\n")
    (tmp_path / "no.nt.gz").write_bytes(gzip.compress(b"text")[:-3])
    for name, problem in (
        ("table.csv", "does not have the name of a file of triples"),
        ("broken.nt", "broken.nt:2"),
        ("no.nt.gz", "no.nt.gz"),
        ("nothing.nt", "no such file"),
        ("", "no graph here"),
    ):
        with pytest.raises(InputError, match=problem):
            KgFacts.load(tmp_path / name, little_schema())


@pytest.mark.parametrize(
    "line",
    [
        '{"contents": "T\\nt", "statements": [["Q1", "P1", "Q2"]]}',
        '{"id": "a", "statements": [["Q1"]]}',
    ],
)
def test_a_corpus_that_is_broken_is_refused_with_its_line(tmp_path, line):
    path = tmp_path / "corpus.jsonl"
    path.write_text(f'{{"id": "a", "contents": "T\\nt"}}\n{line}\n')

    with pytest.raises(InputError, match=r"corpus\.jsonl:2"):
        Support.load(path)
