"""Question sets of which the user says which column is which field: CSV, JSON, Parquet, a hub."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Question
from support.corpora.hub_server import hub
from support.needs import FLASHRAG, needs_datasets


def gold(question: Question) -> dict[str, list[tuple[str, ...]]]:
    return {b.name: [answer.forms for answer in b.answers] for b in question.branches}


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, *rows: object, text: str | None = None) -> Path:
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, rows)) if text is None else text)
        return path

    return write


def test_columns_are_named_and_the_others_kept(file: Any) -> None:
    path = file("q.csv", text="Q;Gold;answers;Hops\nWho?;Mann;3;2\nWhat?;Heat;4;1\n")
    with pytest.warns(UserWarning, match=r"kept in meta: answers \(2\), Hops \(2\)$"):
        loaded = load_questions(f"csv:{path}", fields={"question": "Q", "answers": "Gold"})
    one, two = loaded.questions
    assert (one.id, one.question, gold(one)) == ("1", "Who?", {"default": [("Mann",)]})
    assert one.meta == {"answers": "3", "Hops": "2"}
    assert two.id == "2"


@pytest.mark.parametrize(
    ("cell", "separator", "forms"),
    [
        ("Mann; Scott", ";", [("Mann",), ("Scott",)]),
        ("Mann ; ;Scott;", ";", [("Mann",), ("Scott",)]),
        ("Mann; Scott", None, [("Mann; Scott",)]),
        ('["Mann", ["Scott", "Ridley Scott"]]', None, [("Mann",), ("Scott", "Ridley Scott")]),
        ("[Untitled]", None, [("[Untitled]",)]),
        ('"[1]"', None, [('"[1]"',)]),
    ],
)
def test_a_cell_may_hold_several_answers(
    file: Any, cell: str, separator: str | None, forms: list[tuple[str, ...]]
) -> None:
    quoted = cell.replace('"', '""')
    path = file("q.csv", text=f'question,answers\nWho?,"{quoted}"\n')
    [question] = load_questions(f"csv:{path}", separator=separator).questions
    assert gold(question) == {"default": forms}


def test_nested_fields_are_reached_by_dots_and_numbers(file: Any) -> None:
    row = {
        "prompt": [{"content": "Who?", "role": "user"}],
        "info": {"answer": {"value": "Mann", "aliases": ["M. Mann"]}, "n.o": 3, "split": "dev"},
    }
    path = file("rows.jsonl", row)
    fields = [
        "question=prompt.0.content",
        "answers=info.answer.value",
        "aliases=info.answer.aliases",
        "id=info.n.o",
    ]
    with pytest.warns(UserWarning, match="kept in meta"):
        [question] = load_questions(f"jsonl:{path}", fields=fields).questions
    assert (question.id, question.question) == ("3", "Who?")
    assert gold(question) == {"default": [("Mann", "M. Mann")]}
    assert question.meta == {"prompt": row["prompt"], "info": {"split": "dev"}}


def test_readings_come_in_a_field_of_their_own(file: Any) -> None:
    readings = {"1986": ["Richards"], "1995": "Mann"}
    path = file("q.jsonl", {"q": "Who?", "readings": readings, "others": [["Mann"]]})
    fields = {"question": "q", "branches": "readings", "alternatives": "others"}
    [question] = load_questions(f"jsonl:{path}", fields=fields).questions
    assert gold(question) == {"1986": [("Richards",)], "1995": [("Mann",)]}
    [[other]] = question.alternatives
    assert other.answers[0].text == "Mann"


@pytest.mark.parametrize(
    ("row", "fields", "message"),
    [
        ({"a": 1}, {"question": "b"}, "there is no column 'b', which was named as question; known"),
        ({"query": 1}, {"question": "qery"}, "named as question; did you mean query?"),
        ({"q": "?"}, {}, "there is no column 'question'; name it: question=q (columns are q)"),
        ({"question": "?", "answer": "A"}, {},
         "there is no column 'answers'; name it: answers=answer (columns are question, answer)"),
        ({"question": "?", "answers": True}, {}, "the answers are true or false, neither a text"),
        ({"question": "?", "answers": {"text": ["A"], "answer_start": [3]}}, {},
         "the answers are an object, neither a text nor a list; name the column within it"),
        ({"question": "?", "answers": ["A", None]}, {}, "answer 2 is null"),
        ({"question": "?", "answers": [[["A"]]]}, {}, "a form of the answer is an array"),
        ({"question": 3, "answers": "A"}, {}, '"question" is a number'),
        ({"q": None, "answers": "A"}, {"question": "q"}, 'lacks "q"'),
        ({"question": "?", "answers": ["A", "B"], "aliases": ["C"]}, {},
         "has aliases, and not just one answer"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_file_and_place(
    file: Any, row: object, fields: dict[str, str], message: str
) -> None:
    path = file("q.jsonl", row)
    with pytest.raises(InputError) as caught:
        load_questions(f"jsonl:{path}", fields=fields)
    assert str(caught.value).startswith(f"{path}:1: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "fields", "separator", "message"),
    [
        ("musique:q.json", ["question=q"], None, "--field: MuSiQue-Ans has fields of its own"),
        ("musique:q.jsonl", (), ";", "--separator: MuSiQue-Ans has fields of its own"),
        ("jsonl:q.jsonl", ["question"], None, "--field question: is not FIELD=COLUMN"),
        ("jsonl:q.jsonl", ["=q"], None, "is not FIELD=COLUMN"),
        ("jsonl:q.jsonl", ["query=q"], None, "there is no field 'query'; known are"),
        ("jsonl:q.jsonl", ["anwers=q"], None, "did you mean answers?"),
        ("jsonl:q.jsonl", ["id=a", "id=b"], None, "id is given twice; keep one"),
        ("csv:q.jsonl", (), None, "csv:q.jsonl: is a JSON file; write jsonl:q.jsonl"),
        ("q.csv.gz", (), None, "q.csv.gz: is a CSV file; write csv:q.csv.gz"),
        ("jsonl:q.parquet", (), None, "is a Parquet file; write parquet:q.parquet"),
        ("jsonl:q.jsonl", (), None, "q.jsonl: no such file; check the path"),
        ("csv:q.csv", (), None, "q.csv: no such file; check the path"),
        ("parquet:q.parquet", (), None, "q.parquet: no such file; check the path"),
        ("hf:", (), None, "hf:: names no set; write hf:NAME[:CONFIG[:SPLIT]]"),
        ("hf:a:b:c:d", (), None, "names no set"),
    ],
)
def test_what_is_wrong_about_the_name_is_one_line(
    source: str, fields: Any, separator: str | None, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_questions(source, fields=fields, separator=separator)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


CARD = b"""---
configs:
- config_name: films
  data_files: [{split: test, path: films/test.jsonl}, {split: train, path: films/train.jsonl}]
- config_name: songs
  data_files: [{split: test, path: songs/test.jsonl}]
---
"""
FILES = {
    "README.md": CARD,
    "films/test.jsonl": b'{"id": 7, "question": "Who?", "golden_answers": ["Mann", "M. Mann"]}\n',
    "films/train.jsonl": b'{"id": 8, "question": "What?", "golden_answers": ["Heat"]}\n',
    "songs/test.jsonl": b'{"id": 9, "question": "Which?", "golden_answers": ["Song"]}\n',
}


@pytest.mark.long
@pytest.mark.slow
@needs_datasets
@pytest.mark.usefixtures("process")
def test_a_set_of_a_hub_is_loaded_once_and_then_without_it(tmp_path: Path) -> None:
    environment = {**os.environ, "HF_HOME": str(tmp_path / "home")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, FLASHRAG))
    environment.pop("HF_HUB_OFFLINE", None)

    def check(*arguments: str, **more: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "branchwise", "questions", "check", *arguments]
        ended = subprocess.run(
            command, env=environment | more, capture_output=True, text=True, cwd=tmp_path
        )
        said = [line for line in ended.stderr.splitlines() if line.startswith("branchwise: ")]
        return ended.returncode, "\n".join([*said, *ended.stdout.splitlines()])

    with hub("me/films", FILES) as address:
        there = {"HF_ENDPOINT": address}
        read = "flashrag:hf:me/films:films:test: 1 question read, 0 mistakes"
        assert check("flashrag:hf:me/films:films:test", **there) == (0, read)
        several = "has the splits test, train; name one: hf:me/films:films:test"
        assert check("hf:me/films:films", **there) == (
            2,
            f"branchwise: hf:me/films:films: {several}",
        )
        code, said = check("hotpotqa:hf:me/films:films:test", **there)
        assert code == 2
        assert said.endswith("; its fields fit flashrag:hf:me/films:films:test")
    assert check("flashrag:hf:me/films:films:test", **there) == (0, read)
    code, said = check("hf:me/others", **there)
    assert code == 2
    assert said.startswith("branchwise: hf:me/others: is not on this machine, and cannot be loaded")
    assert "\n" not in said


def test_without_the_library_a_hub_set_says_what_to_install(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        InputError, match=r"needs datasets, .*; pip install 'branchwise\[datasets\]'"
    ):
        load_questions("hf:me/films")


def test_without_the_library_parquet_says_what_to_install(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"needs pyarrow, .*; pip install 'branchwise\[parquet\]'"):
        load_questions(f"parquet:{tmp_path}/q.parquet")


def test_a_file_whose_answers_have_another_name_is_led_to_the_option(tmp_path):
    path = tmp_path / "q.json"
    path.write_text('[{"question": "Who made Heat?", "answer": "Mann"}]')
    with pytest.raises(InputError, match=r"name it: jsonl:\S+ --field answers=answer"):
        load_questions(path)
    # Where the first row is of our own format, another one's is a slip.
    rows = ['{"id": "a", "question": "Q?", "answers": ["A"]}', '{"id": "b", "answer": "B"}']
    path.with_suffix(".jsonl").write_text("\n".join(rows))
    with pytest.raises(InputError, match=r"has a field 'answer'; did you mean 'answers'\?"):
        load_questions(path.with_suffix(".jsonl"))
