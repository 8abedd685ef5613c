"""What `branchwise report` calls systems, compares them with, breaks them down by and writes."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TypeIn = Callable[..., tuple[int, str, str]]
KINDS = ("film", "person", "film")


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("q") / "q.jsonl"
    rows = (
        {
            "id": f"q{n}",
            "question": f"Who directed film {n}?",
            "answers": {"default": [f"Person {n}"]},
            "meta": {"kind": kind, "year": 1990 + n},
        }
        for n, kind in enumerate(KINDS * 2)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def runs(questions: Path, tmp_path: Path, type_in: TypeIn) -> list[Path]:
    made = [tmp_path / "one", tmp_path / "two"]
    for path, turns in zip(made, (3, 4), strict=True):
        options = ("--questions", questions, "--model", "offline", "--max-turns", turns)
        code, _, error = type_in("run", *options, "--out", path)
        assert code == 0, error
    return made


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_another_run_is_the_base(runs: list[Path], tmp_path: Path, type_in: TypeIn) -> None:
    for base in ("two", str(runs[1]), "Two"):
        options = ("--base", base, "--systems", "one=One,two=Two", "--csv", tmp_path / "C")
        code, _, error = type_in("report", *runs, *options)
        assert code == 0, error
        assert [row["system"] for row in rows_of(tmp_path / "C", "systems")] == ["Two", "One"]
        assert {row["system"] for row in rows_of(tmp_path / "C", "changes")} == {"One"}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--base", "tow"), "--base: unknown system 'tow'; did you mean 'two'?"),
        (("--systems", "ones=A"), "--systems: unknown system 'ones'; did you mean 'one'?"),
        (("--systems", "one=A,twos=B"), "--systems: unknown system 'twos'; did you mean 'two'?"),
        (("--systems", "three=A"), "unknown system 'three'; known are 'one', 'two'"),
        (("--systems", "one="), "--systems: 'one=' names no system"),
        (("--systems", "one"), "--systems: 'one' names no system; write base=Baseline"),
        (("--systems", "one=two"), "--systems: two systems would be called 'two'"),
        (("--by", "meta.kinds"), "--by: no question has 'meta.kinds'; did you mean meta.kind?"),
        (("--by", "kind"), "unknown breakdown 'kind'"),
        (("--tables", "results"), "--tables chooses of the tables of files"),
        (("--metrics", "strict_em"), "--metrics chooses of the tables of files"),
        (("--tables", "result", "--csv", "C"), "unknown table 'result'; did you mean results?"),
        (("--subset", "hard", "--csv", "C"), "--subset: unknown subset 'hard'; known"),
        (("--metrics", "strict_rc", "--csv", "C"), "unknown metric 'strict_rc'; did you mean"),
        (("--latex", "t.tex", "--width", "8"), "--width: '8' is not a width of a table"),
        (("--latex", "C", "--latex", "D"), "--latex: is given twice; keep one"),
        (("--subset", "all", "--figures", "C"), "--subset chooses of the tables of files"),
        (
            ("--tables", "results", "--figures", "C"),
            "--figures: the chosen tables and metrics have no figure",
        ),
        (
            ("--tables", "results", "--metrics", "precision_answered", "--csv", "C"),
            "--tables: results holds nothing of the chosen metrics and questions; leave it out",
        ),
    ],
)
def test_what_there_is_not_is_refused_in_one_line(
    runs, type_in, monkeypatch, tmp_path, options, why
):
    monkeypatch.chdir(tmp_path)
    code, out, error = type_in("report", *runs, *options)
    assert (code, out) == (2, "")
    assert why in error
    assert not (tmp_path / "C").exists()


def test_scores_are_broken_down_by_any_key_with_tests(runs, tmp_path, type_in):
    code, out, error = type_in("report", *runs, "--by", "meta.kind,meta.year", "--csv", tmp_path)
    assert (code, out) == (0, ""), error
    by_kind = rows_of(tmp_path, "by-meta-kind")
    sizes = [("film", "4"), ("person", "2")]
    shown = [(row["system"], row["meta.kind"], row["questions"]) for row in by_kind]
    assert shown == [(system, *size) for system in ("one", "two") for size in sizes]
    changes = rows_of(tmp_path, "by-meta-kind-changes")
    assert [(row["system"], row["meta.kind"], row["n"]) for row in changes] == [
        ("two", "film", "4"),
        ("two", "person", "2"),
    ]
    assert all(row["strict_recall"] == "0.0" for row in changes)
    years = [row["meta.year"] for row in rows_of(tmp_path, "by-meta-year")]
    assert years[:6] == [str(1990 + n) for n in range(6)]
    code, out, _ = type_in("report", *runs, "--by", "meta.kind")
    assert code == 0
    assert "by kind" in out.lower()
    assert "changes against one, by kind" in out.lower()


def test_only_the_tables_that_are_named_are_written(runs, tmp_path, type_in):
    latex = tmp_path / "latex"
    code, _, error = type_in("report", *runs, "--latex", latex, "--tables", "changes,results")
    assert code == 0
    assert {path.name for path in latex.iterdir()} == {"changes.tex", "results.tex"}
    assert "changes.tex" in error


def test_tables_have_the_rows_and_columns_of_what_is_named(runs, tmp_path, type_in):
    code, _, error = type_in(
        "report", *runs, "--csv", tmp_path, "--subset", "unambiguous", "--metrics", "strict_em"
    )
    assert code == 0, error
    for name in ("results", "changes", "differences", "errors"):
        rows = rows_of(tmp_path, name)
        assert {row["subset"] for row in rows} == {"unambiguous"}, name
    assert {row["metric"] for row in rows_of(tmp_path, "differences")} == {"strict_em"}
    assert [*rows_of(tmp_path, "results")[0]] == [
        "system", "scored_by", "subset", "n",
        "strict_em", "strict_em_low", "strict_em_high", "strict_em_n",
    ]  # fmt: skip
    assert [key for key in rows_of(tmp_path, "changes")[0] if key.endswith("p_holm")] == [
        "strict_em_p_holm"
    ]
    assert not [*tmp_path.glob("results-*.csv")]


def test_plug_ins_and_files_go_by_their_names(questions, tmp_path, type_in):
    own = tmp_path / "own.py"
    own.write_text(
        "import branchwise\n\n\n@branchwise.tool\ndef lookup(name: str) -> str:\n"
        '    """Look a name up."""\n    return name\n'
    )
    study = tmp_path / "s.yaml"
    study.write_text(
        f"name: s\nquestions: {questions}\nbase: {{model: offline}}\n"
        f"factors: {{tools: [[], [{own}:lookup]]}}\n"
    )
    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    for option, name in (("--latex", "t.tex"), ("--markdown", "t.md"), ("--html", "t.html")):
        code, _, error = type_in("report", tmp_path / "S", option, tmp_path / name)
        assert code == 0, error
        text = (tmp_path / name).read_text()
        assert "lookup" in text
        assert str(tmp_path) not in text.replace("\\", ""), name


def test_runs_of_a_study_have_its_systems_names(questions, tmp_path, type_in):
    study = tmp_path / "s.yaml"
    study.write_text(
        f"name: s\nquestions: {questions}\nbase: {{model: offline}}\n"
        "factors: {max_turns: [3, 4]}\n"
    )
    code, _, error = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 0, error
    made = sorted((tmp_path / "S" / "runs").iterdir())
    code, out, _ = type_in("report", *made, "--json")
    known = {one["name"] for one in json.loads((tmp_path / "S/study.json").read_text())["systems"]}
    assert {one["name"] for one in json.loads(out)} == known
    assert known != {path.name for path in made}


def test_systems_are_renamed_by_names_with_commas_and_signs(questions, tmp_path, type_in):
    study = tmp_path / "s.yaml"
    study.write_text(
        f"name: s\nquestions: {questions}\nbase: {{model: offline}}\ndesign: factorial\n"
        "factors: {max_turns: [3, 4], expansion: [false, true]}\n"
    )
    code, _, error = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 0, error
    names = "max_turns=4, +expansion=Both, really, max_turns=4=Four,base=k=3"
    options = ("--systems", names, "--csv", tmp_path / "C")
    code, _, error = type_in("report", tmp_path / "S", *options)
    assert code == 0, error
    systems = [row["system"] for row in rows_of(tmp_path / "C", "systems")]
    assert systems == ["k=3", "Four", "'+expansion", "Both, really"]
    # A level goes by the name of the system that changes nothing else.
    effects = {row["effect"] for row in rows_of(tmp_path / "C", "effects")}
    assert effects == {"Four", "'+expansion", "Four × +expansion"}
