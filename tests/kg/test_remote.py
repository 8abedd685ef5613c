"""A graph behind a SPARQL server that someone else wrote, over a world's triples.

What must come out is worked out in plain Python over the same N-Triples.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.kg.answers import KgError, Term
from branchwise.kg.open import RemoteKg, RemoteSettings
from branchwise.kg.sparql.prepare import Prepared
from support.kg.plain.kg import FILM, Literal, Node, PlainKg, read_kg
from support.kg.sparql_server import serve_kg

ENTITY = "http://www.wikidata.org/entity/"


@pytest.fixture(scope="module")
def plain(world_300: Path) -> PlainKg:
    return read_kg(world_300 / "kg.nt.gz")


@pytest.fixture(scope="module")
def remote(world_300: Path) -> Iterator[RemoteKg]:
    with serve_kg(world_300 / "kg.nt.gz") as url:
        kg = RemoteKg(url)
        yield kg
        kg.close()


def short(term: Term | None) -> Node | None:
    """The term as `plain_graph` writes it; rdflib writes Z as +00:00."""
    if term is None:
        return None
    if term.kind == "iri":
        return term.value.replace(ENTITY, "wd:")
    datatype = term.datatype.replace("http://www.w3.org/2001/XMLSchema#", "xsd:")
    return Literal(term.value.replace("+00:00", "Z"), datatype, term.language)


def test_rows_beyond_the_limit_are_cut_and_said(remote: RemoteKg) -> None:
    answer = remote.query("SELECT * { ?s ?p ?o }")
    assert len(answer.rows) == 1_000
    assert not answer.complete


def test_iris_get_labels_where_no_column_has_them(remote: RemoteKg, plain: PlainKg) -> None:
    answer = remote.query("SELECT ?film ?d ?dLabel { ?film wdt:P57 ?d } ORDER BY ?film LIMIT 5")
    films = {film.value for film, _, _ in answer.rows if film}
    assert answer.labels == {film: plain.label(film.replace(ENTITY, "wd:")).text for film in films}
    assert {(short(d), name.value) for _, d, name in answer.rows if name} <= {
        (d, plain.label(d).text) for _, d in plain.pairs("wdt:P57")
    }


def test_a_predicate_has_its_propertys_label(remote: RemoteKg) -> None:
    answer = remote.query("SELECT DISTINCT ?p { ?film wdt:P57 ?d ; ?p ?d }")
    assert answer.labels["http://www.wikidata.org/prop/direct/P57"] == "director"


def test_a_query_that_is_too_long_for_an_address_is_posted(remote, plain):
    films = sorted(plain.all(FILM))
    values = " ".join(films * 5)
    assert len(values) > 2_000
    answer = remote.query(
        f"SELECT DISTINCT ?film {{ VALUES ?film {{ {values} }} ?film wdt:P57 ?d }}"
    )
    assert {short(film) for (film,) in answer.rows} == {
        film for film in films if plain.values(film, "wdt:P57")
    }


def test_characters_beyond_ascii_arrive(remote: RemoteKg) -> None:
    answer = remote.query('SELECT ?x { BIND("Žižek & 100% + 東京 \\"q\\" \\n" AS ?x) }')
    assert answer.rows == ((Term('Žižek & 100% + 東京 "q" \n', "literal"),),)


def test_an_empty_result_says_which_pattern_matches_nothing(remote: RemoteKg) -> None:
    answer = remote.query("SELECT ?f { ?f wdt:P31 wd:Q11424 . ?f wdt:P9999 ?capital }")
    assert answer.rows == ()
    assert "`?f wdt:P9999 ?capital` matches nothing." in answer.notes[0]
    assert "Q11424 is film" in answer.notes[1]
    assert "P9999 has no name here" in answer.notes[1]


def test_an_empty_join_says_where_it_becomes_empty(remote: RemoteKg) -> None:
    answer = remote.query("SELECT ?x { ?x wdt:P57 ?d . ?x wdt:P569 ?born }")
    assert "`?x wdt:P569 ?born` matches nothing that the pattern before it" in answer.notes[0]


def test_what_is_refused_never_reaches_the_server(remote: RemoteKg) -> None:
    with pytest.raises(KgError) as refused:
        remote.query("DELETE WHERE { ?s ?p ?o }")
    assert refused.value.kind == "refused"


def test_the_servers_own_objection_is_passed_on(world_300: Path) -> None:
    def careless(text: str, _: float) -> Prepared:
        return Prepared(text, "SELECT", (), (), ())

    with serve_kg(world_300 / "kg.nt.gz") as url, pytest.raises(KgError) as refused:
        RemoteKg(url, prepare=careless).query("SELECT ?x { ?x ")
    assert refused.value.kind == "syntax"
    assert "Expected" in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/sparql", "/a/folder", "http://", "https://me:secret@host/", "http://h/a b",
        "http://h:x/",
    ],
)  # fmt: skip
def test_addresses_that_are_none_are_refused(url: str) -> None:
    with pytest.raises(InputError) as refused:
        RemoteKg(url)
    assert "secret" not in str(refused.value)


def test_an_identity_tells_endpoints_apart_without_their_address() -> None:
    one, two = (RemoteKg(f"https://{host}.example/sparql") for host in ("one", "two"))
    assert one.identity() != two.identity()
    assert one.identity() == RemoteKg("https://one.example/sparql").identity()
    assert "example" not in str(one.identity())
    searched = RemoteSettings(search_api="https://one.example/api.php")
    assert RemoteKg("https://one.example/sparql", searched).identity() != one.identity()
