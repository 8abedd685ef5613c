"""docs/format.md and docs/data.md: every command, table and example in them."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml

from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.format_fields import json_schema
from branchwise.corpora.questions import Question
from support import ROOT
from support.corpora.doc_tables import TABLES, tables_in
from support.corpora.hub_server import hub
from support.corpora.published_sets import SAMPLES
from support.needs import FLASHRAG, needs_datasets

FORMAT, DATA_PAGE = ROOT / "docs" / "format.md", ROOT / "docs" / "data.md"


def blocks(page: Path, language: str = "") -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    return [text for name, text in found if name == language]


def commands(page: Path) -> list[str]:
    lines = "\n".join(blocks(page)).splitlines()
    return [line.partition("#")[0].strip() for line in lines if line.startswith("branchwise ")]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages name, published ones with made-up contents."""
    gold, predictions = blocks(FORMAT, "jsonl")
    files = {
        "q.jsonl": gold,
        "mine.jsonl": predictions,
        "half.json": json.dumps(SAMPLES["qampari"]),
        "musique_ans_v1.0_dev.jsonl": json.dumps(SAMPLES["musique"][0]),
        "train_light.json": json.dumps(SAMPLES["ambignq"]),
        "fanout-final-dev.json": json.dumps(SAMPLES["fanoutqa"]),
        "hotpot_dev_distractor_v1.json": json.dumps(SAMPLES["hotpotqa"]),
        "sheet.csv": "\ufeffQ,Gold,Hops\nWho?,Mann; Scott,2\nWhat?,Heat,1\n",
        "rows.jsonl": '{"prompt": [{"content": "Who?"}], "info": {"answer": ["Mann"]}}',
    }
    for name, text in (files | _collections()).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "runs").mkdir()
    _write_shards(tmp_path / "shards")
    _write_parquet(tmp_path / "test.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _collections() -> dict[str, str]:
    """The passages and documents that the page names."""
    etna = {"title": "Etna", "text": "Etna is a volcano on Sicily."}
    header = "query-id\tcorpus-id\tscore\n"
    queries = {"_id": "q1", "text": "volcano"}, {"_id": "q2", "text": "Sicily"}
    return {
        "passages.jsonl": '{"id": "p1", "contents": "Etna\\nA volcano."}\n',
        "2wikimultihopqa_corpus.json": json.dumps([etna]),
        "scifact/corpus.jsonl": json.dumps({"_id": "1", **etna}),
        "scifact/queries.jsonl": "\n".join(map(json.dumps, queries)),
        "scifact/qrels/test.tsv": f"{header}q1\t1\t1\n",
        "scifact/qrels/train.tsv": f"{header}q2\t1\t1\n",
        "sheets.csv": "name,body\nEtna,A volcano.\n",
        "docs/etna.md": "# Etna\n\nA volcano.\n\n## Names\n\nMongibello\n",
        "docs/rhine.html": "<title>Rhine</title><p>A river.</p>",
    }


def _write_shards(folder: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    folder.mkdir()
    for shard in (1, 2):
        row = {"docid": shard, "doc": {"text": f"Text {shard}."}}
        parquet.write_table(arrow.Table.from_pylist([row]), folder / f"{shard}.parquet")


def _write_parquet(path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    row = {"extra_info": {"index": 0, "question": "Who?", "answer": "Mann"}, "ability": "QA"}
    parquet.write_table(arrow.Table.from_pylist([row]), path)


@pytest.fixture
def typed(type_in: Callable[..., tuple[int, str, str]]) -> Callable[[str], int]:
    return lambda line: type_in(*shlex.split(line)[1:])[0]


@pytest.mark.parametrize("page", TABLES, ids=lambda page: page.stem)
def test_a_table_says_what_the_product_states(page: Path) -> None:
    made = [table() for table in TABLES[page]]
    assert tables_in(page) == made, "make them again: python -m support.corpora.doc_tables"


@pytest.mark.slow
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("page", [FORMAT, DATA_PAGE], ids=lambda page: page.stem)
def test_every_command_of_a_page_runs(page: Path, typed: Callable[[str], int]) -> None:
    found = [line for line in commands(page) if " hf:" not in line and ":hf:" not in line]
    assert len(found) > 2
    assert {line: code for line in found if (code := typed(line))} == {}


@pytest.mark.long
@pytest.mark.slow
@needs_datasets
@pytest.mark.usefixtures("process")
def test_commands_on_sets_of_a_hub_run(here: Path) -> None:
    found = [line for line in commands(DATA_PAGE) if "hf:" in line]
    files = {
        "README.md": b"---\nconfigs:\n- config_name: default\n  data_files: "
        b"[{split: test, path: data/test.jsonl}]\n---\n",
        "data/test.jsonl": b'{"question": "Who?", "golden_answers": ["Mann"], "text": "Etna"}\n',
    }
    assert len(found) == 3
    for line in found:
        name = re.findall(r"hf:([\w/]+)", line)[0]
        with hub(name, files) as address:
            environment = {**os.environ, "HF_HOME": str(here / "home"), "HF_ENDPOINT": address}
            environment["PYTHONPATH"] = os.pathsep.join(map(str, FLASHRAG))
            environment.pop("HF_HUB_OFFLINE", None)
            command = [sys.executable, "-m", *shlex.split(line)]
            ended = subprocess.run(command, env=environment, capture_output=True, text=True)
            assert ended.returncode == 0, ended.stderr


def test_the_examples_are_what_the_page_says(here: Path) -> None:
    with pytest.warns(UserWarning, match=r"kept in meta: domain \(1\)$"):
        one, two = load_questions("q.jsonl").questions
    assert (one.id, one.branches[0].name, one.ambiguous) == ("q1", "default", False)
    assert (two.id, two.ambiguous, two.meta) == ("2", True, {"domain": "film"})
    assert two.branches[1].answers[0].forms == ("Peter Jackson", "Sir Peter Jackson")


def test_the_schema_takes_what_is_read_and_refuses_what_is_refused() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    gold, _ = blocks(FORMAT, "jsonl")
    good = [json.loads(line) for line in gold.splitlines()]
    good += [
        {"id": 1, "question": "?", "answers": {"x": {"text": "A", "aliases": "B"}, "y": 3}},
        {"id": 1, "question": "?", "branches": [{"name": "x", "answers": [["A", 3]]}]},
        {"id": 1, "question": "?", "ambiguous": True, "meta": None, "colour": "red"},
        {"id": 1, "question": "?", "answers": "A", "passages": ["x", {"id": 3, "text": "y"}]},
    ]
    for record in good:
        validator.validate(record)
    for record in (
        {"question": "?", "answers": "A"},
        {"id": " ", "question": "?"},
        {"id": True, "question": "?"},
        {"id": 1, "question": ""},
        {"id": 1, "question": "?", "answers": [None]},
        {"id": 1, "question": "?", "answers": {"x": []}},
        {"id": 1, "question": "?", "answers": [{"name": "A"}]},
        {"id": 1, "question": "?", "answers": ["A"], "branches": []},
        {"id": 1, "question": "?", "branches": [{"name": "x"}]},
        {"id": 1, "question": "?", "ambiguous": "perhaps"},
        {"id": 1, "question": "?", "passages": [{"title": "T"}]},
    ):
        assert not validator.is_valid(record), record


def _read(question: Question) -> tuple[bool, list[dict[str, list[set[str]]]]]:
    """Readings and forms of answers in each gold set, the same one once; white space collapsed."""
    found: list[dict[str, list[set[str]]]] = []
    for gold in question.gold_sets:
        readings = {
            " ".join(branch.name.split()): [
                {" ".join(form.split()) for form in answer.forms} for answer in branch.answers
            ]
            for branch in gold
        }
        if readings not in found:
            found.append(readings)
    return question.ambiguous, found


def _converted(folder: Path) -> tuple[Question, ...]:
    """What the page's own script makes of a file of AmbigNQ."""
    [script, *_] = blocks(FORMAT, "python")
    assert len(script.splitlines()) <= 20
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)
    return load_questions(str(folder / "q.jsonl")).questions


@pytest.mark.slow
@pytest.mark.usefixtures("process")
def test_ambignq_takes_less_than_twenty_lines(here: Path) -> None:
    by_hand, read = _converted(here), load_questions("ambignq:train_light.json").questions
    assert [*map(_read, by_hand)] == [*map(_read, read)]


@pytest.mark.slow
def test_the_python_example_runs(here: Path) -> None:
    [code] = blocks(DATA_PAGE, "python")
    names: dict[str, object] = {}
    with pytest.warns(UserWarning, match=r"kept in meta: Hops \(2\)$"):
        exec(code, names)
    assert (here / "runs" / "sheet" / "run.sqlite").is_file()


@pytest.mark.slow
def test_the_study_example_runs(here: Path, typed: Callable[[str], int]) -> None:
    [questions] = blocks(DATA_PAGE, "yaml")
    study = {
        "name": "sheet",
        **yaml.safe_load(questions),
        "base": {"model": "offline"},
        "factors": {"expansion": [False, True]},
    }
    (here / "study.yaml").write_text(yaml.safe_dump(study))
    assert typed("branchwise ablate study.yaml --out S") == 0
    found = sorted(path.name for path in (here / "S" / "runs").iterdir())
    assert len(found) == 2
