"""`branchwise kg`: what it prints, what it refuses, and what a kill leaves behind."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("process")

WD = "http://www.wikidata.org/entity/"
FILM_QUERY = """SELECT ?film ?filmLabel (MIN(?d) AS ?director)
WHERE { ?film wdt:P31 wd:Q11424 ; wdt:P57 ?d } GROUP BY ?film ?filmLabel ORDER BY ?film"""


@pytest.fixture
def triples(tmp_path):
    """A file with a name that would steer a terminal."""
    path = tmp_path / "g.nt"
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    path.write_text(
        f'<{WD}Q1> <{label}> "King \\u001B[31mKong\\u202E"@en .\n'
        f'<{WD}Q1> <http://example.org/by> "Cooper" .\n'
    )
    return path


def test_a_world_gets_its_graph_where_it_is_looked_for(type_in, world_300):
    folder = world_300 / "kg"
    sizes = json.loads((world_300 / "world.json").read_text())["sizes"]
    code, out, err = type_in("kg", "build", world_300)
    assert code == 0
    assert out.startswith(f"{folder}: {sizes['triples']:,} triples, ")
    assert f"{sizes['triples']}/{sizes['triples']} triples" in err
    assert type_in("kg", "info", world_300) == type_in("kg", "info", folder)
    assert type_in("kg", "search", world_300, "film")[0] == 0


def test_info_counts_what_the_file_holds(type_in, built_kg, world_300):
    code, out, _ = type_in("kg", "info", built_kg, "--json")
    assert code == 0
    found = json.loads(out)
    said = json.loads((world_300 / "world.json").read_text())["sizes"]
    assert found["graph"]["triples"] == said["triples"]
    assert found["graph"]["shared_names"] == said["shared_names"]
    assert len(found["properties"]) == 20
    assert found["properties"][0] == {"id": "P31", "label": "instance of", "uses": 300}
    code, out, _ = type_in("kg", "info", built_kg)
    assert f"{said['triples']:,} triples" in out
    assert "300\tP31\tinstance of\n" in out


def test_search_lists_all_who_share_a_name(type_in, built_kg, world_300):
    shared = json.loads((world_300 / "names.jsonl").read_text().splitlines()[0])
    code, out, _ = type_in("kg", "search", built_kg, shared["name"], "--json")
    assert code == 0
    found = json.loads(out)
    bearers = {entity["id"]: entity["description"] for entity in shared["entities"]}
    assert {it["id"]: it["description"] for it in found[: len(bearers)]} == bearers
    code, out, _ = type_in("kg", "search", built_kg, shared["name"])
    assert all(f"{number}\t{shared['name']}\t" in out for number in bearers)


def test_search_finds_a_property_and_says_when_there_is_nothing(type_in, built_kg):
    code, out, _ = type_in("kg", "search", built_kg, "starred in", "--kind", "property")
    assert (code, out.splitlines()[1][:27]) == (0, "P161\tcast member (starred i")
    code, out, err = type_in("kg", "search", built_kg, "zzzzqq")
    assert (code, out) == (0, "")
    assert err == 'nothing is called "zzzzqq"; try another spelling or fewer words\n'
    assert type_in("kg", "search", built_kg, "zzzzqq", "--json")[:2] == (0, "[]\n")


def test_search_says_which_names_are_guesses(type_in, built_kg):
    code, out, err = type_in("kg", "search", built_kg, "horor film")
    assert (code, out.splitlines()[1:]) == (0, ["Q200092\thorror film\t\t0"])
    assert err == 'nothing is called "horor film"; the nearest names are:\n'
    _, out, _ = type_in("kg", "search", built_kg, "horor film", "--json")
    assert [it["near"] for it in json.loads(out)] == [True]
    _, out, err = type_in("kg", "search", built_kg, "horror film")
    assert (out.splitlines()[1:], err) == (["Q200092\thorror film\t\t0"], "")
    _, _, err = type_in("kg", "search", built_kg, "birthPlace", "--kind", "property")
    assert re.fullmatch(r"the last (one is|\d+ are) only near what was asked for\n", err)


def test_query_gives_rows_and_labels(type_in, built_kg, world_300):
    code, out, _ = type_in("kg", "query", built_kg, FILM_QUERY, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["variables"] == ["film", "filmLabel", "director"]
    sizes = json.loads((world_300 / "world.json").read_text())["sizes"]
    assert len(found["rows"]) == sizes["entities"]["film"]
    film, label, director = (term["value"] for term in found["rows"][0])
    assert found["labels"][film] == label
    # Labels stand beside the numbers, where no column of their own has them.
    code, out, _ = type_in("kg", "query", built_kg, FILM_QUERY)
    assert out.splitlines()[0] == "film\tfilmLabel\tdirector"
    directed = f"wd:{director.removeprefix(WD)} {found['labels'][director]}"
    assert out.splitlines()[1] == f"wd:{film.removeprefix(WD)}\t{label}\t{directed}"


def test_ask_and_no_rows_are_words(type_in, built_kg):
    ask = "ASK { wd:Q2000000001 wdt:P31 [] }"
    assert type_in("kg", "query", built_kg, ask)[:2] == (0, "yes\n")
    code, out, err = type_in("kg", "query", built_kg, "SELECT ?x { ?x wdt:P31 wd:Q5, wd:Q11424 }")
    assert (code, out, err.splitlines()[0]) == (0, "x\n", "no rows")
    assert len(err.splitlines()) == 2


def test_what_there_is_to_know_goes_beside_the_rows(type_in, built_kg):
    code, out, err = type_in("kg", "query", built_kg, "SELECT ?s { ?s ?p ?o }")
    assert (code, out.count("\n")) == (0, 1_001)
    assert err == "there are more than these 1,000 rows\n"


def test_a_person_is_told_of_commands(type_in, built_kg):
    code, _, err = type_in("kg", "query", built_kg, "SELECT ?x { ?x wdt:P999 ?y }")
    assert code == 2
    assert f'`branchwise kg search {built_kg} "..." --kind property`' in err
    assert "wikidata_search" not in err


def test_on_a_narrow_terminal_no_number_is_broken(built_kg):
    query = (
        "SELECT ?film ?director ?born ?day { ?film wdt:P57 ?director ; wdt:P577 ?day ."
        " ?director wdt:P19 ?born } LIMIT 2"
    )
    arguments = ("-m", "branchwise", "kg", "query", built_kg, query)
    terminal = {"TTY_COMPATIBLE": "1", "COLUMNS": "50", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, *arguments], env=os.environ | terminal, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    first, second = (row.splitlines() for row in done.stdout.strip().split("\n\n"))
    for row in (first, second):
        starts = [line.split()[0] for line in row if not line.startswith(" ")]
        assert starts == ["film", "director", "born", "day"]
        numbers = [word for line in row for word in line.split() if word.startswith("wd:")]
        assert len(numbers) == 3
        assert all(re.fullmatch(r"wd:Q\d{5,}", number) for number in numbers)


def test_a_query_that_does_not_parse_is_shown_with_its_place(type_in, built_kg):
    code, out, err = type_in("kg", "query", built_kg, "SELECT ?x WHERE { ?x wdt:P31 }")
    assert (code, out) == (2, "")
    assert err.startswith("branchwise: ")
    assert "SELECT ?x WHERE { ?x wdt:P31 }\n" in err
    assert "^" in err.splitlines()[-1]


def test_a_query_past_its_time_fails(type_in, built_kg):
    every = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
    code, out, err = type_in("kg", "query", built_kg, every, "--seconds", 0.3)
    assert (code, out) == (1, "")
    assert err.startswith("branchwise: ")


def test_names_cannot_steer_a_terminal(type_in, triples, tmp_path):
    assert type_in("kg", "build", triples, "--out", tmp_path / "G")[0] == 0
    everything = "SELECT * { ?s ?p ?o }"
    for command in (
        ("search", tmp_path / "G", "king"),
        ("search", tmp_path / "G", "king", "--json"),
        ("query", tmp_path / "G", everything, "--json"),
        ("info", tmp_path / "G"),
    ):
        code, out, _ = type_in("kg", *command)
        assert code == 0
        assert out.replace("\n", "").replace("\t", "").isprintable()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("build", "{here}/g.nt"), "no folder is named for the graph; name one with --out"),
        (("build", "{here}/no.nt", "--out", "{here}/G"), "no.nt: no such file"),
        (("build", "{here}/nope"), "nope: no such file or folder; name files of triples, or a"),
        (("build", "{here}/empty.nt", "--out", "{here}/G"), "empty.nt: there are no triples"),
        (("build", "{here}", "--out", "{here}/G"), "no world here (there is no kg.nt.gz)"),
        (("build", "{here}/g.nt", "--out", "{here}"), "this is not a graph, and is not replaced"),
        (("info", "{here}"), "no graph here; build one with `branchwise kg build FILE --out KG`"),
        (("info", "{here}/nope"), "nope: no such folder; name a graph or world folder"),
        (("search", "{here}/nope", "x"), "nope: no such folder"),
        (("query", "{here}/nope", "ASK {}"), "nope: no such folder"),
        (("search", "{here}", "x"), "no graph here"),
        (("search", "{here}", " "), "the text is empty"),
        (("query", "{here}", "ASK { ?a ?b ?c }"), "no graph here"),
        (("search", "{here}", "x", "--limit", "0"), "Invalid value for '--limit'"),
        (("search", "{here}", "x", "--kind", "film"), "Invalid value for '--kind'"),
    ],
)
def test_bad_input_is_one_line(type_in, triples, tmp_path, arguments, says):
    (tmp_path / "empty.nt").touch()
    code, out, err = type_in("kg", *(text.replace("{here}", str(tmp_path)) for text in arguments))
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_the_remedy_for_a_world_is_to_build_it(type_in, tmp_path):
    (tmp_path / "kg.nt.gz").touch()
    _, _, err = type_in("kg", "info", tmp_path)
    assert err.endswith(f"no graph here; build one with `branchwise kg build {tmp_path}`\n")
    (tmp_path / "g.nt").touch()
    _, _, err = type_in("kg", "info", tmp_path / "g.nt")
    assert err.endswith(f"build one with `branchwise kg build {tmp_path / 'g.nt'} --out KG`\n")


def test_info_says_what_names_were_read_from(type_in, triples, tmp_path):
    assert type_in("kg", "build", triples, "--out", tmp_path / "G")[0] == 0
    lines = type_in("kg", "info", tmp_path / "G")[1].splitlines()
    assert f"from g.nt, {triples.stat().st_size} bytes of triples" in lines
    unlabelled = "1 of those in use without a label (found by the end of their IRI only)"
    assert f"1 name of entities; 2 properties, {unlabelled}" in lines
    assert lines[4:8] == [
        "read as labels: rdfs:label",
        "read as aliases: none",
        "read as descriptions: none",
        "read as types: none",
    ]


def test_a_killed_build_leaves_nothing_that_opens(type_in, triples, tmp_path):
    source, folder = tmp_path / "endless.nt", tmp_path / "home"
    os.mkfifo(source)
    command = [sys.executable, "-m", "branchwise", "kg", "build", source, "--out", folder / "G"]
    with (
        subprocess.Popen(command, stderr=subprocess.DEVNULL) as building,
        source.open("wb") as pipe,  # opens when the source is read: the store is there
    ):
        pipe.write(triples.read_bytes())
        pipe.flush()
        building.send_signal(signal.SIGKILL)
        building.wait()
    [left] = folder.glob(".G.*/new")
    assert type_in("kg", "info", left)[0] == type_in("kg", "info", folder / "G")[0] == 2
    assert type_in("kg", "build", triples, "--out", folder / "G")[0] == 0
