"""`branchwise world`: what it prints, what it refuses, and what a fault leaves behind."""

import json
import resource
import shutil
import signal
import subprocess
import sys

import pytest

from branchwise.__main__ import main
from branchwise.worlds.survey import measure
from support.needs import DATA, needs_data

pytestmark = pytest.mark.slow

FILES = {"kg.nt.gz", "corpus.jsonl", "names.jsonl", "world.json"}


@pytest.fixture
def type_in(monkeypatch, capfd):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["branchwise", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capfd.readouterr()

    return call


def make(out, *options, entities=300):
    return ("world", "make", "--entities", entities, "--seed", 5, "--out", out, *options)


@pytest.mark.parametrize(
    ("options", "entities", "says"),
    [
        ((), 0, "a world cannot have 0 entities; ask for 1 to 5,000,000"),
        ((), -3, "a world cannot have -3 entities; ask for 1 to 5,000,000"),
        ((), 10**12, "a world cannot have 1,000,000,000,000 entities; ask for 1 to 5,000,000"),
        ((), 10, "10 entities are too few for"),
        (("--domains", "movie,films"), 300, "there is no domain 'films'; choose among movie, "),
        (("--domains", " , "), 300, "no domain is given; choose among movie, "),
        (("--ambiguity", "0.9"), 300, "the ambiguity 0.9 is out of range; give the share"),
        (("--ambiguity", "-1"), 300, "the ambiguity -1 is out of range; give the share"),
        (("--ambiguity", "nan"), 300, "nan is not a finite number"),
        (
            ("--ambiguity", "0", "--dial", "bare_titles=9"),
            300,
            "bare_titles needs shared names, and",
        ),
        (("--dial", "bare=9"), 300, "unknown dial 'bare'; give hubs, namesakes, bare_titles, "),
        (("--dial", "astray=101"), 300, "the dial astray cannot be '101'; give astray=0 to "),
        (
            ("--ambiguity", 0, "--dial", "namesakes=50"),
            300,
            "namesakes needs shared names, and there are none; give a larger ambiguity",
        ),
        (("--dial", "hubs=60"), 299, "hubs have some 300 links each, and the world 299 entities;"),
        (("--difficulty", "extreme"), 300, "unknown difficulty 'extreme'; give easy, standard, "),
        (("--seed", -1), 300, "the seed -1 is out of range; give 0 to 9223372036854775807"),
        (("--seed", 2**63), 300, "Invalid value for '--seed': is a number of more than 64 bits"),
    ],
)
def test_bad_input_is_one_line(type_in, tmp_path, options, entities, says):
    code, out, err = type_in(*make(tmp_path / "W", *options, entities=entities))
    assert (code, out) == (2, "")
    assert err.startswith("branchwise: ")
    assert says.lower() in err.lower()
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_world_that_is_there_may_be_made_again(type_in, tmp_path):
    folder = tmp_path / "W"
    first = type_in(*make(folder))
    before = {(file, file.stat().st_mtime_ns) for file in folder.iterdir()}
    (tmp_path / ".W.abcdefgh.partial").mkdir()
    assert type_in(*make(folder))[:2] == first[:2]
    assert list(tmp_path.iterdir()) == [folder]
    assert {(file, file.stat().st_mtime_ns) for file in folder.iterdir()} == before
    assert type_in(*make(folder, "--ambiguity", "0.2"))[0] == 2
    (folder / "names.jsonl").write_text("")
    code, _, err = type_in(*make(folder))
    assert (code, err) == (2, f"branchwise: {folder}: already exists; choose another --out\n")


@needs_data
def test_a_world_of_an_earlier_version_is_read_and_not_taken_for_a_new_one(type_in, tmp_path):
    folder = tmp_path / "W"
    shutil.copytree(DATA / "recorded2" / "world", folder, copy_function=shutil.copyfile)
    size = ("--seed", "1031")
    assert type_in("world", "make", "--entities", 3000, *size, "--out", folder) == (
        2,
        "",
        f"branchwise: {folder}: holds this world as an earlier version made it, with other texts; "
        "choose another --out\n",
    )
    assert type_in("world", "info", folder)[0] == 0
    asked = ("questions", "generate", "--kg", folder, "--n", 6, "--ambiguous", 1.0)
    assert type_in(*asked, "--out", tmp_path / "q.jsonl")[0] == 0
    with (tmp_path / "p.jsonl").open("w") as predictions:
        for line in (tmp_path / "q.jsonl").read_text().splitlines():
            question = json.loads(line)
            right = {
                branch["name"]: [answer["text"] for answer in branch["answers"]]
                for branch in question["branches"]
            }
            predictions.write(json.dumps({"id": question["id"], "answers": right}) + "\n")
    given = ("--questions", tmp_path / "q.jsonl", "--predictions", tmp_path / "p.jsonl")
    code, out, _ = type_in("score", *given, "--json")
    assert code == 0
    assert json.loads(out)["aggregates"]["all"]["strict_em"]["mean"] == 1.0


def test_a_full_disk_leaves_nothing(tmp_path):
    command = [sys.executable, "-m", "branchwise", *map(str, make(tmp_path / "W"))]
    full = subprocess.run(
        command,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert full.returncode == 2
    assert full.stderr.count("\n") == 1
    assert "cannot be written (File too large); make room on the disk" in full.stderr
    assert not list(tmp_path.iterdir())


def test_a_killed_process_leaves_nothing_that_loads(tmp_path, type_in):
    command = [
        sys.executable,
        "-m",
        "branchwise",
        *map(str, make(tmp_path / "W", entities=200_000)),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as making:
        while not list(tmp_path.glob(".W.*/new/kg.nt.gz.unfinished")):
            assert making.poll() is None
        making.send_signal(signal.SIGKILL)
    assert not (tmp_path / "W").exists()
    [left] = tmp_path.glob(".W.*/new")
    assert not FILES & {file.name for file in left.iterdir()}
    for command in (("world", "info", left), ("corpus", "info", left)):
        code, _, err = type_in(*command)
        assert code == 2
        assert err.count("\n") == 1


def test_info_says_what_the_files_hold(type_in, tmp_path):
    assert type_in(*make(tmp_path / "W"))[0] == 0
    code, out, _ = type_in("world", "info", tmp_path / "W")
    assert code == 0
    for word in ("300 entities, seed 5", "links of an entity", "ambiguity", "type-token ratio"):
        assert word in out
    code, out, _ = type_in("world", "info", tmp_path / "W", "--json")
    found = json.loads(out)
    names = [json.loads(line) for line in (tmp_path / "W/names.jsonl").open()]
    passages = [json.loads(line) for line in (tmp_path / "W/corpus.jsonl").open()]
    assert found["survey"]["shared_names"] == found["world"]["sizes"]["shared_names"] == len(names)
    assert found["world"]["sizes"]["passages"] == len(passages)
    mean = len(passages) / 300
    assert found["survey"]["passages_per_entity"][0] == pytest.approx(mean)


@pytest.mark.parametrize("damage", ["missing", "not JSON", "cut graph"])
def test_info_on_a_damaged_world_is_one_line(type_in, tmp_path, damage):
    folder = tmp_path / "W"
    type_in(*make(folder))
    if damage == "missing":
        (folder / "world.json").unlink()
    elif damage == "not JSON":
        (folder / "world.json").write_text("{")
    else:
        kg = folder / "kg.nt.gz"
        kg.write_bytes(kg.read_bytes()[:5000])
    code, out, err = type_in("world", "info", folder)
    assert (code, out) == (2, "")
    assert err.count("\n") <= 2  # one of them is progress
    assert str(folder) in err


def test_sentences_are_counted_with_names_masked():
    texts = ["Ana Voss directed it. It ran.", "St. Ives's Mill directed it. It ran."] * 60
    found = measure(texts, {"Ana Voss", "St. Ives's Mill", "Ana"})
    assert found.commonest[:2] == [("• directed it.", 120), ("It ran.", 120)]
    assert found.sentences == 240
    assert found.distinct_sentences == 2
    assert found.repeated == 1
    assert found.vocabulary == 8
    assert found.words == 60 * (6 + 7)


def test_a_place_that_cannot_be_a_folder_is_one_line(type_in, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place, says in (
        (tmp_path / ("x" * 300), "File name too long"),
        (tmp_path / "file" / "W", "cannot create a folder here"),
        (".", "is the current folder"),
    ):
        code, _, err = type_in(*make(place))
        assert code == 2
        assert says.lower() in err.lower()
        assert err.count("\n") <= 2  # one of them is progress
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "here"]
    assert not list((tmp_path / "here").iterdir())


def test_a_world_goes_where_a_link_leads(type_in, tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert type_in(*make(tmp_path / "link"))[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert {file.name for file in (tmp_path / "target").iterdir()} >= FILES


@pytest.mark.parametrize("name", ["names.jsonl", "corpus.jsonl"])
def test_files_of_another_world_are_refused(type_in, tmp_path, name):
    type_in(*make(tmp_path / "W"))
    (tmp_path / "W" / name).write_text("")
    code, out, err = type_in("world", "info", tmp_path / "W")
    assert (code, out) == (2, "")
    assert f"{name}: is not the file that this world was made with" in err


@pytest.mark.parametrize("entities", [-5, 0, 10**12])
def test_a_forged_number_of_entities_is_refused(type_in, tmp_path, entities):
    type_in(*make(tmp_path / "W"))
    description = json.loads((tmp_path / "W/world.json").read_text())
    (tmp_path / "W/world.json").write_text(json.dumps(description | {"entities": entities}))
    code, _, err = type_in("world", "info", tmp_path / "W")
    assert code == 2
    assert "is not the description of a world (entities: " in err
