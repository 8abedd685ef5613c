"""A question set that is converted stays the same set: its questions, its task, its scores."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from branchwise import System, run, score
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.forms import FORMS
from branchwise.corpora.questions import Question
from support import ROOT
from support.corpora.published_sets import SAMPLES, sample
from support.needs import DATA, needs_data

PASSAGE = {"id": "p1", "title": "Heat", "text": "A film by Mann."}
OWN: dict[str, Any] = {
    "id": "q1",
    "question": "Who made Heat?",
    "branches": [
        {
            "name": "1986",
            "qid": "Q1",
            "citations": ["p1"],
            "answers": [{"text": "Richards", "aliases": ["R."], "qid": "Q2", "support": ["p1"]}],
        },
        {"name": "1995", "answers": ["Mann"]},
    ],
    "alternatives": [{"only": "Mann", "other": ["Scott", "Hill"]}],
    "passages": [PASSAGE],
    "plan": [{"step": 1}],
    "meta": {"domain": "film", "deep": [1, 2.5, None, {"a": True}]},
}


@pytest.fixture
def convert(tmp_path: Path, type_in: Any) -> Any:
    """The converted file of a source; the refusal where there is one."""

    def _convert(source: str, *options: str) -> str:
        out = tmp_path / "converted.jsonl"
        code, _, err = type_in("questions", "convert", source, *options, "--out", out)
        assert code == 0 or not out.exists()
        return err if code else str(out)

    return _convert


def whole(source: str, **options: Any) -> tuple[str, tuple[Question, ...], str]:
    read = load_questions(source, require_gold=False, **options)
    return read.task, read.questions, read.digest


@pytest.mark.parametrize("form", [*SAMPLES, ""])
def test_every_form_is_read_back_as_it_is(tmp_path: Path, convert: Any, form: str) -> None:
    source = f"{form}:{sample(tmp_path, form)}".removeprefix(":")
    converted = convert(source)
    assert whole(converted) == whole(source)
    if form:
        assert whole(converted)[0] == FORMS[form].task


def test_all_that_our_own_format_holds_stays(tmp_path: Path, convert: Any) -> None:
    path = tmp_path / "own.jsonl"
    unambiguous = {"id": "q2", "question": "Who made Ronin?", "task": "branches"}
    path.write_text(f"{json.dumps(OWN)}\n{json.dumps(unambiguous)}\n")
    assert whole(convert(str(path))) == whole(str(path))


def test_judged_queries_and_tables_stay(tmp_path: Path, convert: Any) -> None:
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    (tmp_path / "beir" / "queries.jsonl").write_text('{"_id": "q1", "text": "volcano"}\n')
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("q\tc\ts\nq1\tp1\t2\n")
    source = f"beir:{tmp_path / 'beir'}"
    assert whole(convert(source)) == whole(source)
    (tmp_path / "converted.jsonl").unlink()
    (tmp_path / "t.csv").write_text("Q,Gold,task\nWho?,Mann; Scott,qa\n")
    source, fields = f"csv:{tmp_path / 't.csv'}", {"question": "Q", "answers": "Gold"}
    named = [word for field in fields.items() for word in ("--field", "=".join(field))]
    converted = whole(convert(source, *named, "--separator", ";"))
    assert converted == whole(source, fields=fields, separator=";")
    assert converted[1][0].meta == {"task": "qa"}


def test_what_the_format_cannot_hold_is_refused_in_one_line(tmp_path: Path, convert: Any) -> None:
    # "default" means the only reading: beside another it would not be read back.
    entry = json.loads(json.dumps(SAMPLES["asqa"][0]))
    entry["qa_pairs"][0]["question"] = "default"
    (tmp_path / "asqa.json").write_text(json.dumps([entry]))
    assert convert(f"asqa:{tmp_path / 'asqa.json'}") == (
        f"branchwise: {tmp_path}/asqa.json:entry 1: cannot be written in our own format: "
        "'Who made Heat (1995)?' stands beside \"default\", which means the only reading; "
        "use the set as it is\n"
    )


_SCORED = {
    "ambignq": "ambignq/train_light.json",
    "condambigqa": "condambigqa/dev.json",
    "fanoutqa": "fanoutqa/dev.json",
    "2wiki": "2wiki/questions.json",
    "qampari": "qampari/half.json",
}


def _published(form: str, folder: Path) -> Path:
    """The published set where it is, else a sample; few of its questions."""
    if form == "mdcr":
        return ROOT / "examples" / "benchmarks" / "mdcr-worked.json"
    published = DATA / _SCORED.get(form, "none")
    return published if published.is_file() else sample(folder, form)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.filterwarnings("ignore:.*kept in meta")
@pytest.mark.parametrize("form", SAMPLES)
def test_a_run_of_the_converted_set_gives_the_same_scores(
    tmp_path: Path, convert: Any, form: str
) -> None:
    source = f"{form}:{_published(form, tmp_path)}"
    results = []
    for name, questions in (("direct", source), ("converted", convert(source))):
        made = run(questions, System(model="offline"), limit=3, out=tmp_path / name)
        scores = score(made)
        means = {key: value.mean for key, value in scores.aggregates["all"].items()}
        seen = [re.sub(r"\d+\.\d+ s", "", str(made.trace(row["id"]))) for row in scores.rows()]
        results.append((scores.scorer, means, scores.rows(), seen))
    assert results[0] == results[1]


@needs_data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("form", _SCORED)
def test_published_sets_are_read_back_as_they_are(convert: Any, form: str) -> None:
    source = f"{form}:{DATA / _SCORED[form]}"
    assert whole(convert(source)) == whole(source)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (("fanoutqa", None), "2: is of the task 'branches', the first of 'fanoutqa'; divide"),
        (("mdrc",), "1: unknown task 'mdrc'; known tasks: branches, ambigqa"),
        ((3,), '1: "task" is a number; write a text'),
    ],
)
def test_a_task_that_is_none_or_not_everyones_is_one_line(
    tmp_path: Path, type_in: Any, tasks: Any, message: str
) -> None:
    path = tmp_path / "q.jsonl"
    rows = [
        {"id": n, "question": "Who?", "answers": "Mann"} | ({"task": task} if task else {})
        for n, task in enumerate(tasks)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    run = type_in("run", "--questions", path, "--out", tmp_path / "R")
    check = type_in("questions", "check", path)
    assert (run[0], check[0]) == (2, 1)
    assert f"{path}:{message}" in run[2]
    assert f"{path}:{message}" in check[1] + check[2]
