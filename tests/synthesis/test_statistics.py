"""Table 2 and Figures 5 to 9: by hand, recomputed from the file, and of what is generated."""

import csv
import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.__main__ import main
from branchwise.corpora.loaders import load_questions
from branchwise.worlds.questions.statistics import describe_questions
from support.synthesis.plain_table import counts_of, table_of

KINDS = {"one reading": False, "ambiguous": True}


@pytest.fixture
def info(type_in):
    def call(*arguments):
        code, printed, err = type_in("questions", "info", *arguments)
        assert code == 0, err
        return printed

    return call


def branch(name, *answers):
    return {"name": name, "answers": [{"text": answer} for answer in answers]}


def made(id, text, branches, plan=(), **meta):
    steps = [{"op": op} for op in plan]
    ambiguous = len(branches) > 1
    meta = {"predicates": [], **meta}
    question = {"id": id, "question": text, "ambiguous": ambiguous, "branches": branches}
    return question | {"plan": steps, "meta": meta}


BY_HAND = [
    # 4 + 1 answers, of which A is in both branches: 2.5 a branch.
    made(
        *("a", "Who directed King Kong?"),
        [branch("1933", "A", "B", "C", "D"), branch("1976", "A")],
        ("atomic", "filter"),
        entities=10,
        predicates=["date"],
    ),
    # Three branches of one answer.
    made(
        *("b", "Who sang the song Heat so well?"),
        [branch("x", "A"), branch("y", "B"), branch("z", "C")],
        ("atomic", "join", "join", "filter"),
        entities=21,
        predicates=["award"],
    ),
    # A file made before entities were counted.
    made("c", "Who is it then?", [branch("default", "E", "F")], ("atomic", "join", "join")),
    made("d", "Who?", [branch("default", *map(str, range(30)))]),
]


@pytest.fixture
def by_hand(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(map(json.dumps, BY_HAND)))
    return path


def test_published_means_stand_beside_them_as_printed_there(info, by_hand):
    rows = [line.split() for line in info(by_hand).splitlines()]
    table = {" ".join(row[:-4]): row[-4:] for row in rows if len(row) > 4}
    assert table["answers, all branches"] == ["16.0", "8.8", "4.0", "10.3"]
    assert table["answers of a branch"] == ["16.0", "-", "1.8", "2.7"]
    assert table["steps"] == ["3.0", "4.3", "3.0", "3.7"]
    assert table["different entities"] == ["-", "463.1", "15.5", "247.4"]
    assert table["words"] == ["2.5", "13.9", "5.5", "12.4"]
    assert table["branches"] == ["1.0", "-", "2.5", "3.3"]
    assert table["most branches"] == ["1", "-", "3", "14"]
    assert "published: DeepAmbigQA (Ji et al. 2025, arXiv:2511.01323), Table 2" in info(by_hand)


SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=5)
OPERATIONS = st.lists(st.sampled_from(["atomic", "join", "filter", "union"]), max_size=6)
META = st.fixed_dictionaries({}, optional={"entities": st.integers(1, 900)})


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(st.tuples(SIZES, OPERATIONS, META), min_size=1, max_size=8))
def test_any_file_is_recomputed(tmp_path_factory, drawn):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    questions = [
        made(
            *(f"q{n}", "who " * (1 + n)),
            [branch(f"b{m}", *map(str, range(size))) for m, size in enumerate(sizes)],
            plan,
            **meta,
        )
        for n, (sizes, plan, meta) in enumerate(drawn)
    ]
    path.write_text("\n".join(map(json.dumps, questions)))
    found = describe_questions(load_questions(str(path)).questions)
    for place, ambiguous in enumerate(KINDS.values()):
        assert asdict(found.means[ambiguous]) == pytest.approx(table_of(path, ambiguous=ambiguous))
        for heading, counts in counts_of(path, ambiguous=ambiguous).items():
            shown = found.histograms[heading]
            assert {value: n[place] for value, n in shown.items() if n[place]} == counts


@pytest.fixture(scope="module")
def generated(world_2000, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("generated") / "q.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        command = ["questions", "generate", "--kg", world_2000, "--n", 120, "--out", out]
        patch.setattr(sys, "argv", ["branchwise", *map(str, command)])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 0
    return out


@pytest.mark.long
def test_figures_come_with_their_data(info, generated, tmp_path):
    folder = tmp_path / "figures"
    info(generated, "--figures", folder)
    names = ("steps", "answers", "branches", "operations", "predicates")
    kinds = ("svg", "pdf", "png", "csv")
    assert {path.name for path in folder.iterdir()} == {
        *(f"{name}.{kind}" for name in names for kind in kinds), "captions.txt", "columns.csv",
    }  # fmt: skip
    counted = {kind: counts_of(generated, ambiguous=ambiguous) for kind, ambiguous in KINDS.items()}
    for number, name in enumerate(names, start=5):
        with (folder / f"{name}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        for column, kind in (("one_reading", "one reading"), ("ambiguous", "ambiguous")):
            given = Counter({row["value"]: int(row[column]) for row in rows})
            assert +given == Counter(counted[kind][name])
        root = ElementTree.fromstring((folder / f"{name}.svg").read_bytes())
        texts = {"".join(element.itertext()) for element in root.iter()}
        assert {row["value"] for row in rows} <= texts
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert f"Figure {number} of DeepAmbigQA" in (folder / "captions.txt").read_text()


@pytest.mark.long
@pytest.mark.slow
def test_figures_are_the_same_bytes_again(info, generated, tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        info(generated, "--figures", folder)
    for path in folders[0].iterdir():
        assert path.read_bytes() == (folders[1] / path.name).read_bytes(), path.name


@pytest.mark.slow
def test_a_figure_has_room_for_thirty_values_and_the_file_all(info, tmp_path):
    path, folder = tmp_path / "q.jsonl", tmp_path / "figures"
    plan = [f"op{n:02}" for n in range(40)]
    path.write_text(json.dumps(made("a", "Who?", [branch("default", "A")], plan)))
    info(path, "--figures", folder)
    shown = (folder / "operations.svg").read_text()
    assert "op28" in shown
    assert "op29" not in shown
    assert "all others" in shown
    assert len((folder / "operations.csv").read_text().splitlines()) == 41


@pytest.mark.slow
def test_a_world_stands_for_what_is_made_of_it(info, world_2000, monkeypatch):
    from branchwise.commands import questions

    monkeypatch.setattr(questions, "OF_A_WORLD", 24)
    printed = info(world_2000)
    assert printed.startswith("24 of ")
    found = json.loads(info(world_2000, "--json"))
    assert [found["means"][kind]["questions"] for kind in KINDS] == [12, 12]
    assert found["means"]["ambiguous"]["entities"] > found["means"]["ambiguous"]["answers"] - 12


@pytest.mark.parametrize("plan", [["filter"], [{"op": "filter", "condition": "1990"}], [3]])
def test_plans_of_other_origin_are_measured_as_far_as_they_go(info, tmp_path, plan):
    path = tmp_path / "q.jsonl"
    question = made("a", "Who?", [branch("default", "A")], ())
    path.write_text(json.dumps(question | {"plan": plan, "meta": {"predicates": "date"}}))
    found = json.loads(info(path, "--json"))
    assert found["means"]["one reading"]["steps"] == 1
    assert found["histograms"]["predicates"] == {}


@pytest.mark.slow
def test_a_folder_that_is_a_file_is_said_in_one_line(by_hand, type_in):
    code, _, err = type_in("questions", "info", by_hand, "--figures", by_hand)
    assert (code, err) == (2, f"branchwise: {by_hand}: is a file; name a folder\n")


def test_questions_without_plans_stand_alone_with_their_keys(info, tmp_path):
    path = tmp_path / "own.jsonl"
    meta = {"decade": 1990, "tags": ["a"], "notes": {"by": "me"}}
    one = {"id": "q", "question": "Who?", "answers": {"x": "A", "y": "B"}, "meta": meta}
    path.write_text(json.dumps(one))
    said = info(path)
    assert "ublished" not in said
    assert "steps" not in said
    assert said.endswith("for `report --by meta.KEY`: decade (1), tags (1)\n")
    assert json.loads(info(path, "--json"))["meta"] == {"decade": 1, "tags": 1}
