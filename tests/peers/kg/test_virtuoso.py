"""Virtuoso, as Debian packages it, asked as a graph: what it must answer stands in plain Python.

Where it answers otherwise than SPARQL 1.1 says, the reason is here and in docs/compatibility.md.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from branchwise.kg.answers import KgError, QueryResult
from branchwise.kg.open import RemoteKg, open_kg
from support.kg.plain.kg import PlainKg, read_kg
from support.kg.plain.queries import QUERIES, filled, found_rows, wrong_with
from support.peers.virtuoso import MOST_ROWS, Virtuoso, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

OTHERWISE = {
    "casts_between_types": "true and false come as the integers 1 and 0",
    "exists_in_a_test": "true and false come as the integers 1 and 0",
    "what_kind_of_value": "DATATYPE of text with a language has no value",
    "the_first_that_is_known": "an error within COALESCE ends the query",
    "one_or_more_steps": "a path of one or more steps needs a start",
    "everyone_within_reach": "a path of many ways fills its memory",
    "two_handshakes": "a path of no step does not match its start",
    "minus_that_shares_no_variable": "MINUS takes everything away",
}
"""Queries that it may refuse, or answer in another way than the standard's."""

HEAVY = "{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(STRLEN(CONCAT(STR(?c), STR(?f), STR(?i))) > 9) }"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world") / "w"
    options = ("--entities", "300", "--seed", "7", "--out", str(folder))
    subprocess.run([sys.executable, "-m", "branchwise", "world", "make", *options], check=True)
    return folder


@pytest.fixture(scope="module")
def plain(world: Path) -> PlainKg:
    return read_kg(world / "kg.nt.gz")


@pytest.fixture(scope="module")
def server(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Virtuoso]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        with Virtuoso(tmp_path_factory.mktemp("virtuoso"), world / "kg.nt.gz") as running:
            yield running


@pytest.fixture(scope="module")
def kg(server: Virtuoso) -> Iterator[RemoteKg]:
    opened = open_kg(server.address)
    assert isinstance(opened, RemoteKg)
    yield opened
    opened.close()


def outcome(
    kg: RemoteKg, query: str, seconds: float
) -> tuple[QueryResult, None] | tuple[None, KgError]:
    try:
        return kg.query(query, seconds), None
    except KgError as error:
        return None, error


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - OTHERWISE.keys()))
def test_a_query_is_answered_as_by_the_graph_on_disk(
    name: str, kg: RemoteKg, plain: PlainKg
) -> None:
    answer = kg.query(filled(name, plain), 60.0)
    assert not wrong_with(name, plain, answer, found_rows(answer))


@pytest.mark.parametrize("name", sorted(OTHERWISE))
def test_what_it_does_otherwise_ends_in_rows_or_in_one_clear_error(
    name: str, kg: RemoteKg, plain: PlainKg
) -> None:
    answer, error = outcome(kg, filled(name, plain), 20.0)
    refused = "The endpoint cannot answer this query; write it otherwise: Virtuoso" in str(error)
    late = error is not None and error.kind == "timeout"
    assert answer is not None or refused or late


def test_names_are_found_with_all_who_bear_them(kg: RemoteKg, world: Path) -> None:
    lines = (world / "names.jsonl").read_text().splitlines()
    shared = [json.loads(line) for line in lines[:3]]
    for name in shared:
        found = kg.search(name["name"], limit=50)
        assert {match.id for match in found} == {entity["id"] for entity in name["entities"]}
        described = {entity["id"]: entity["description"] for entity in name["entities"]}
        assert {match.id: match.description for match in found} == described
    assert kg.search("director", "property")[0].id == "P57"
    assert kg.search("zzzzqq") == []


def test_yes_and_no(kg: RemoteKg) -> None:
    assert kg.query("ASK { ?film wdt:P57 ?who }").boolean is True
    assert kg.query("ASK { ?film wdt:P57 wd:Q42 }").boolean is False


def test_an_empty_minus_teaches_nothing_false(kg: RemoteKg) -> None:
    notes = kg.query("SELECT ?f { ?f wdt:P57 ?d MINUS { ?f wdt:P57 ?x } }").notes
    assert notes[0].startswith("The triple patterns match together: a FILTER, VALUES, MINUS")
    notes = kg.query("SELECT ?f { ?f wdt:P57 ?d . ?f wdt:P9999 ?x }").notes
    assert "`?f wdt:P9999 ?x` matches nothing." in notes[0]


def test_rows_beyond_its_own_limit_are_known_to_be_missing(kg: RemoteKg) -> None:
    answer = kg.query("SELECT ?s ?p ?o { ?s ?p ?o }", 60.0)
    assert len(answer.rows) == MOST_ROWS
    assert not answer.complete
    assert kg.query("SELECT ?s { ?s ?p ?o } LIMIT 100", 60.0).complete


def test_what_it_had_when_its_time_ran_out_never_passes_for_all(server: Virtuoso) -> None:
    """It gives what it has counted by then, or, where it has nothing yet, an error."""
    hurried = RemoteKg(f"{server.address}&timeout=1000")
    answer, error = outcome(
        hurried, "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", 60.0
    )
    hurried.close()
    assert answer is None or (not answer.complete and "time ran out" in answer.notes[0])
    assert error is None or error.kind == "timeout"


def test_a_query_that_it_expects_to_take_too_long_is_a_timeout(kg: RemoteKg) -> None:
    with pytest.raises(KgError) as refused:
        kg.query(f"SELECT (COUNT(*) AS ?n) {HEAVY}", 60.0)
    assert refused.value.kind == "timeout"


def test_its_objections_are_passed_on(kg: RemoteKg) -> None:
    with pytest.raises(KgError) as refused:
        kg._ask("SELECT * { ?a bogus:p ?c }", deadline=time.monotonic() + 60.0)
    assert refused.value.kind == "syntax"
    assert "Undefined namespace prefix at 'bogus'" in str(refused.value)
