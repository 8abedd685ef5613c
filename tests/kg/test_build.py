"""Building a graph: what is read, what is refused, and what a fault leaves behind."""

import gzip
import hashlib
import json
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import zstandard

from branchwise.base.errors import InputError
from branchwise.kg.build import build_kg
from branchwise.kg.names.index import NameIndex, NameReadings
from branchwise.kg.store import open_store, read_description

WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
NT = f"""<{WD}Q11424> <{LABEL}> "film"@en .
<{WD}Q1> <{LABEL}> "King Kong"@en .
<{WD}Q1> <{WDT}P31> <{WD}Q11424> .
<{WD}Q1> <{WDT}P57> _:someone .
"""
TTL = f"""@prefix wd: <{WD}> . @prefix wdt: <{WDT}> .
wd:Q2 <{LABEL}> "King Kong"@en ; wdt:P31 wd:Q11424 ; wdt:P57 _:someone .
"""


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path: Path, text: str) -> Path:
    packers = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}
    path.write_bytes(packers.get(path.suffix, bytes)(text.encode()))
    return path


@pytest.mark.parametrize("name", ["g.nt", "g.nt.gz", "g.nt.zst", "g.ttl", "g.ttl.gz", "g.ttl.zst"])
def test_every_format_gives_the_same_graph(tmp_path, name):
    # N-Triples are Turtle.
    out = tmp_path / "G"
    description = build_kg([write(tmp_path / name, NT)], out)
    assert (description.triples, description.entities, description.properties) == (4, 2, 2)
    assert description.sha256 == hashlib.sha256(NT.encode()).hexdigest()
    assert description.sources[0].name == name
    assert description.sources[0].bytes == len(NT.encode())
    assert read_description(out) == description
    assert entries(out) == ["files.json", "graph.json", "names.sqlite", "store"]
    assert len(open_store(out)) == 4
    assert [match.id for match in NameIndex.open(out).search("king kong")] == ["Q1"]


def test_files_are_merged_and_their_blank_nodes_stay_apart(tmp_path):
    nt, ttl = write(tmp_path / "a.nt", NT), write(tmp_path / "b.ttl.gz", TTL)
    description = build_kg([nt, ttl], tmp_path / "G")
    assert (description.triples, description.entities, description.shared_names) == (7, 3, 1)
    directors = open_store(tmp_path / "G").query(f"SELECT DISTINCT ?d WHERE {{ ?f <{WDT}P57> ?d }}")
    assert len(list(directors)) == 2
    assert build_kg([ttl, nt], tmp_path / "H").sha256 == description.sha256


def test_a_triple_that_comes_twice_is_one(tmp_path):
    assert build_kg([write(tmp_path / "a.nt", NT * 2 + NT)], tmp_path / "G").triples == 4


def test_a_world_folder_stands_for_its_graph_with_the_digest_that_the_world_says(
    world_300, built_kg, tmp_path
):
    said = json.loads((world_300 / "world.json").read_text())
    description = read_description(built_kg)
    assert description.sha256 == said["files"]["kg.nt.gz"]["sha256"]
    assert description.shared_names == said["sizes"]["shared_names"]
    assert build_kg([world_300], tmp_path / "G") == description
    names = [(folder / "names.sqlite").read_bytes() for folder in (built_kg, tmp_path / "G")]
    assert names[0] == names[1]


def test_progress_counts_lines_and_then_triples(world_300, tmp_path):
    seen = []
    built = build_kg([world_300], tmp_path / "G", lambda *done: seen.append(done))
    assert seen[-1] == (built.triples, built.triples)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("g.nt", NT + "<http://a> <http://b> .\n", ":5: is not N-Triples ("),
        ("g.nt.gz", NT + f'<{WD}Q1> <{LABEL}> "King\n', ":5: is not N-Triples ("),
        ("g.ttl", "@prefix wd: <http://w/> .\nwd:Q1 wdt:P1 1 .\n", ":2: is not Turtle ("),
        ("g.nt", NT.replace(" .\n", " <http://graph> .\n"), ":1: is not N-Triples ("),
        ("g.nq", NT, "is not named like a file of triples; give N-Triples (.nt) or Turtle"),
        ("g.rdf.gz", NT, "is not named like a file of triples; give N-Triples (.nt) or Turtle"),
        ("g.gz", NT, "is not named like a file of triples; give N-Triples (.nt) or Turtle"),
    ],
)
def test_what_is_no_graph_is_refused_with_file_and_line(tmp_path, name, text, says):
    source = write(tmp_path / name, text)
    with pytest.raises(InputError) as refused:
        build_kg([source], tmp_path / "G")
    assert str(refused.value).startswith(str(source))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert entries(tmp_path) == [name]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("g.nt", b'<http://a> <http://b> "\xff" .\n', ":1: is not N-Triples ("),
        ("g.nt.gz", gzip.compress(NT.encode() * 999)[:-40], "the compressed file ends too early"),
        ("g.nt.gz", NT.encode(), "cannot be read (Not a gzipped file"),
        ("g.nt.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xff" * 99, "cannot be read (damaged: "),
        ("g.nt.zst", NT.encode(), "cannot be read (not zstandard data"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, data, says):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as refused:
        build_kg([tmp_path / name], tmp_path / "G")
    assert says in str(refused.value)
    assert entries(tmp_path) == [name]


def test_an_earlier_graph_stays_until_a_new_one_is_whole(tmp_path):
    good, bad = write(tmp_path / "a.nt", NT), write(tmp_path / "b.nt", NT + "<\n")
    out = tmp_path / "G"
    first = build_kg([good], out)
    with pytest.raises(InputError):
        build_kg([good, bad], out)
    assert read_description(out) == first
    assert build_kg([good, write(tmp_path / "c.ttl", TTL)], out, force=True).triples == 7
    assert len(open_store(out)) == 7
    assert entries(tmp_path) == ["G", "a.nt", "b.nt", "c.ttl"]


def test_a_graph_of_other_files_is_replaced_by_force_only(tmp_path):
    out = tmp_path / "G"
    first = build_kg([write(tmp_path / "a.nt", NT)], out)
    other = write(tmp_path / "b.ttl", TTL)
    with pytest.raises(InputError, match=r"a graph of a\.nt here already; .* --force"):
        build_kg([other], out)
    assert read_description(out) == first
    assert build_kg([other], out, force=True).triples == 3
    # The same file after it has changed; and whatever there was, where it cannot be read.
    assert build_kg([write(tmp_path / "b.ttl", TTL + "wd:Q1 wdt:P1 1 .")], out).triples == 4
    (out / "graph.json").write_text("{}")
    assert build_kg([tmp_path / "a.nt"], out).triples == 4


def test_nothing_but_a_graph_is_replaced(tmp_path):
    source = write(tmp_path / "a.nt", NT)
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("dear")
    inside = build_kg([source], tmp_path / "G") and write(tmp_path / "G" / "b.nt", NT)
    for sources, out in (([source], home), ([source], source), ([inside], tmp_path / "G")):
        with pytest.raises(
            InputError, match="this is not a graph, and is not replaced; name a new folder"
        ):
            build_kg(sources, out, force=True)
    assert (home / "letter.txt").read_text() == "dear"
    assert inside.exists()


def test_no_source_or_no_world_is_refused(tmp_path):
    with pytest.raises(InputError, match="no file of triples is given"):
        build_kg([], tmp_path / "G")
    with pytest.raises(InputError, match=r"no world here \(there is no kg.nt.gz\)"):
        build_kg([tmp_path], tmp_path / "G")
    with pytest.raises(InputError, match="no such file"):
        build_kg([tmp_path / "a.nt"], tmp_path / "G")


def test_a_folder_may_have_any_name(tmp_path):
    out = tmp_path / "a b?c=d#e%41'é"
    build_kg([write(tmp_path / "a.nt", NT)], out)
    assert [match.id for match in NameIndex.open(out).search("king kong")] == ["Q1"]
    assert len(open_store(out)) == 4


@pytest.mark.parametrize("text", ["", "# nothing yet\n"])
def test_a_source_without_a_triple_is_refused(tmp_path, text):
    with pytest.raises(InputError, match=r"a\.nt: there are no triples; give N-Triples or Turtle"):
        build_kg([write(tmp_path / "a.nt", text)], tmp_path / "G")
    assert entries(tmp_path) == ["a.nt"]


def test_what_names_were_read_from(tmp_path, built_kg):
    own = """@prefix x: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
x:Bird rdfs:label "bird" . x:wren a x:Bird ; rdfs:label "Wren" ; x:eats x:worm ; x:weight 9 .
x:eats rdfs:label "eats" .
"""
    build_kg([write(tmp_path / "a.ttl", own)], tmp_path / "G")
    rdf, rdfs = (
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "http://www.w3.org/2000/01/rdf-schema#",
    )
    assert NameIndex.open(tmp_path / "G").readings() == NameReadings(
        names_alone=1,  # the class
        unlabelled=1,  # weight
        labels=(f"{rdfs}label",),
        aliases=(),
        descriptions=(),
        types=(f"{rdf}type",),
    )
    # A world's predicates are Wikidata's, each with a name.
    assert NameIndex.open(built_kg).readings()[1:] == (0, (), (), (), ())


def test_interrupted_it_leaves_nothing(tmp_path, world_300):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_kg([world_300], tmp_path / "G", stop)
    assert entries(tmp_path) == []


def test_the_store_that_was_built_can_be_opened_by_several_at_once(built_kg):
    counts = []
    readers = [
        threading.Thread(target=lambda: counts.append(len(open_store(built_kg)))) for _ in range(3)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert counts == [read_description(built_kg).triples] * 3


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("largest_file", [20_000, 300_000])
def test_a_full_disk_is_one_line_and_leaves_nothing(world_300, tmp_path, largest_file):
    """Files that may not grow stand for a full disk, for the store and for the names."""
    done = subprocess.run(
        [sys.executable, "-m", "branchwise", "kg", "build", world_300, "--out", tmp_path / "G"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file,) * 2),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("reading")]
    assert len(complaints) == 1
    assert complaints[0].startswith(f"branchwise: {tmp_path / 'G'}: cannot be written (")
    assert "make room on the disk" in complaints[0]
    assert entries(tmp_path) == []


@pytest.mark.parametrize(
    ("file", "data", "says"),
    [
        ("graph.json", b"{}", "is not the description of a graph (triples: Field required)"),
        ("graph.json", b'{"format": 2}', "is not the description of a graph (format: "),
        ("names.sqlite", b"no database" * 99, "the names are missing or damaged"),
        ("names.sqlite", b"", "the names are missing or damaged"),
    ],
)
def test_a_damaged_graph_is_refused(tmp_path, file, data, says):
    build_kg([write(tmp_path / "a.nt", NT)], tmp_path / "G")
    (tmp_path / "G" / file).write_bytes(data)
    with pytest.raises(InputError) as refused:
        NameIndex.open(tmp_path / "G")
    assert says in str(refused.value)
    assert "build the graph again" in str(refused.value)


def test_a_damaged_store_is_refused(tmp_path):
    build_kg([write(tmp_path / "a.nt", NT)], tmp_path / "G")
    (tmp_path / "G" / "store" / "CURRENT").write_text("MANIFEST-999999\n")
    with pytest.raises(InputError, match="the store cannot be opened"):
        open_store(tmp_path / "G")


@pytest.mark.usefixtures("process")
def test_too_few_open_files_are_no_damage(built_kg):
    program = "import sys; from branchwise.kg.store import open_store; open_store(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", program, built_kg],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "allow more open files (ulimit -n 1024)" in done.stderr
    assert "build the graph again" not in done.stderr
