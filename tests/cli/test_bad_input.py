"""Bad input is one clear line, with where, what and what to do, and exit code 2."""

import json
import sys

import pytest

from branchwise import System, run
from branchwise.__main__ import main
from branchwise.corpora.build import build_corpus, build_index
from branchwise.runs.store.connection import DATABASE
from support.needs import needs_local

QUESTION = {"id": "q1", "question": "Who directed Heat?", "answers": {"default": ["Mann"]}}
PASSAGE = {"id": "p1", "contents": "Heat\nMichael Mann directed Heat."}


@pytest.fixture
def complain(monkeypatch, capfd):
    """Run the command line on bad input and return its one line."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["branchwise", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        line = capfd.readouterr().err
        assert ended.value.code == 2
        assert line.startswith("branchwise: ")
        assert line.count("\n") == 1
        return line

    return call


@pytest.fixture
def lines(tmp_path):
    """Write a JSONL file of records (texts are written as they are)."""

    def write(name, *records):
        path = tmp_path / name
        path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in records))
        return path

    return write


@pytest.fixture
def questions(lines):
    return lines("questions.jsonl", QUESTION)


@pytest.fixture
def corpus(lines, tmp_path):
    build_corpus(str(lines("passages.jsonl", PASSAGE)), tmp_path / "C")
    build_index(tmp_path / "C", "bm25")
    return tmp_path / "C"


def test_missing_corpus(complain, questions, tmp_path):
    line = complain("run", "--questions", questions, "--corpus", tmp_path / "nowhere")
    assert "nowhere" in line
    assert "branchwise corpus build" in line


def test_corpus_without_an_index_names_the_command(complain, lines, questions, tmp_path):
    build_corpus(str(lines("p.jsonl", PASSAGE)), tmp_path / "C")
    line = complain("run", "--questions", questions, "--corpus", tmp_path / "C")
    assert f"branchwise corpus index {tmp_path / 'C'}" in line


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ('{"id": "p2", "contents"', "JSON"),
        ({"id": "p2"}, "contents"),
        ({"id": "p1", "contents": "Other\ntext"}, "p1"),
        ("[1, 2]", "object"),
    ],
    ids=["not JSON", "no contents", "duplicate id", "not an object"],
)
def test_bad_corpus_lines_are_named(complain, lines, tmp_path, bad, what):
    path = lines("passages.jsonl", PASSAGE, bad)
    line = complain("corpus", "build", "--from", path, "--out", tmp_path / "C")
    assert f"{path}:2" in line
    assert what in line
    assert not (tmp_path / "C" / "corpus.jsonl").exists()


@pytest.mark.parametrize(
    ("records", "what"),
    [
        ([], "no questions"),
        ([QUESTION, {"id": "q2", "question": "Who?"}], ":2"),
        ([QUESTION, QUESTION | {"question": "Again?"}], "q1"),
        ([QUESTION, "{"], ":2"),
        ([QUESTION, {"question": "Who?", "answers": {"default": ["x"]}}], ":2"),
    ],
    ids=["empty", "no gold", "duplicate id", "not JSON", "no id"],
)
def test_bad_question_sets_are_named(complain, lines, records, what):
    path = lines("questions.jsonl", *records)
    line = complain("run", "--questions", path)
    assert str(path) in line
    assert what in line


def test_missing_question_file_and_unknown_format(complain, tmp_path):
    assert "nowhere.jsonl" in complain("run", "--questions", tmp_path / "nowhere.jsonl")
    assert "condambigqa" in complain("run", "--questions", "condamb:x.json")


@pytest.mark.slow
def test_an_index_of_another_corpus_is_refused(complain, lines, questions, corpus, tmp_path):
    other = lines("other.jsonl", {"id": "p9", "contents": "Other\nA different text."})
    build_corpus(str(other), tmp_path / "D")
    (corpus / "corpus.jsonl").write_bytes((tmp_path / "D" / "corpus.jsonl").read_bytes())
    line = complain("run", "--questions", questions, "--corpus", corpus)
    assert "another corpus" in line
    assert "branchwise corpus index" in line


def test_an_index_that_is_not_there_is_named(complain, questions, corpus):
    line = complain("run", "--questions", questions, "--corpus", corpus, "--retriever", "flat")
    assert "flat" in line
    assert "bm25" in line


@pytest.mark.parametrize("spec", ["gpt-6.2-sol", "anthropics:", "openai:", "openai:m@notaurl"])
def test_unknown_model_specs_show_the_right_form(complain, questions, spec):
    line = complain("run", "--questions", questions, "--model", spec)
    assert spec in line
    assert "openai:" in line


def test_a_missing_key_names_the_variable(complain, questions, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    line = complain("run", "--questions", questions, "--model", "openai:gpt-6-luna")
    assert "OPENAI_API_KEY" in line


def test_a_dead_endpoint_is_named_before_any_work(complain, questions, tmp_path):
    arguments = ("--model", "openai:m@http://127.0.0.1:9/v1", "--out", tmp_path / "R")
    line = complain("run", "--questions", questions, *arguments)
    assert "http://127.0.0.1:9/v1" in line
    assert not (tmp_path / "R").exists()


def test_an_unknown_tool_shows_the_nearest(complain, questions, corpus):
    arguments = ("--corpus", corpus, "--tool", "local_retreiver")
    line = complain("run", "--questions", questions, *arguments)
    assert "local_retriever" in line


def test_a_tool_without_its_corpus_says_so(complain, questions):
    line = complain("run", "--questions", questions, "--tool", "local_retriever")
    assert "--corpus" in line


def test_options_out_of_their_values_say_what_fits(complain, questions):
    line = complain("run", "--questions", questions, "--tool-protocol", "smoke")
    assert "--tool-protocol" in line
    assert "native" in line


def test_a_prompt_file_with_an_unknown_name_shows_the_nearest(complain, questions, tmp_path):
    (tmp_path / "P").mkdir()
    (tmp_path / "P" / "answer_with_tool.md").write_text("x")
    line = complain("run", "--questions", questions, "--prompts", tmp_path / "P")
    assert "answer_with_tools" in line


def test_folders_that_are_no_run(complain, tmp_path):
    for command in ("resume", "score", "report", "export"):
        line = complain(command, tmp_path)
        assert "is not a run folder" in line
        assert str(tmp_path) in line


def test_a_damaged_run_is_one_line(complain, tmp_path):
    (tmp_path / DATABASE).write_bytes(b"SQLite format 3\0" + b"\7" * 5000)
    assert "is damaged (it is not a database)" in complain("score", tmp_path)


def test_a_run_of_another_system_is_not_continued(complain, questions, tmp_path):
    prompts = tmp_path / "P"
    prompts.mkdir()
    (prompts / "answer_directly.md").write_text("Answer as JSON.")
    run(str(questions), System(prompts=str(prompts)), out=tmp_path / "R")
    (prompts / "answer_directly.md").write_text("Answer.")
    line = complain("resume", tmp_path / "R")
    assert "prompts" in line
    assert "branchwise run" in line


def test_an_occupied_run_folder_is_left_alone(complain, questions, tmp_path):
    (tmp_path / "R").mkdir()
    (tmp_path / "R" / "thesis.tex").write_text("years of work")
    line = complain("run", "--questions", questions, "--out", tmp_path / "R")
    assert "not empty" in line
    assert (tmp_path / "R" / "thesis.tex").read_text() == "years of work"


def test_unknown_ids_are_named(complain, questions, tmp_path):
    (tmp_path / "ids").write_text("q1\nq7\n")
    line = complain("run", "--questions", questions, "--ids", tmp_path / "ids")
    assert "'q7'" in line


@pytest.mark.parametrize(
    "arguments",
    [("run",), ("nope",), ("run", "--limit", "0", "--questions", "x"), ("tools", "lst")],
)
def test_a_wrong_command_line_is_one_line_too(complain, arguments):
    assert "--help" in complain(*arguments)


@pytest.mark.parametrize("option", [("--retriever", "flat"), ("--k", "3")])
def test_search_options_without_a_corpus_say_so(complain, questions, option):
    line = complain("run", "--questions", questions, *option)
    assert option[0] in line
    assert "--corpus" in line


def test_empty_texts_are_not_asked(complain, corpus):
    assert "empty" in complain("ask", " ")
    assert "empty" in complain("corpus", "search", corpus, "")


@needs_local
def test_places_where_no_folder_can_be_made(complain, lines):
    path = lines("passages.jsonl", PASSAGE)
    assert str(path) in complain("corpus", "build", "--from", path, "--out", path / "C")
    assert str(path) in complain("demo", "--out", path)


@needs_local
def test_a_demo_into_a_corpus_folder_is_refused(complain, corpus):
    assert "is a corpus" in complain("demo", "--out", corpus)


@pytest.mark.usefixtures("encoder")
def test_a_folder_that_is_no_encoder(complain, corpus, tmp_path):
    (tmp_path / "E").mkdir()
    line = complain("corpus", "index", corpus, "--encoder", tmp_path / "E", "--backend", "torch")
    assert str(tmp_path / "E") in line
    assert "--encoder" in line


def test_an_address_without_its_scheme(complain, questions):
    line = complain("run", "--questions", questions, "--model", "openai:m@localhost:8000")
    assert "http://" in line


def test_bad_predictions_are_named(complain, lines, questions):
    path = lines("predictions.jsonl", {"id": "q9", "answers": {}})
    line = complain("score", "--questions", questions, "--predictions", path)
    assert f"{path}:1" in line


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--seed", "1e23"), "'1e23' is not a valid integer;"),
        (("--temperature", "warm"), "'warm' is not a valid float;"),
    ],
)
def test_a_number_that_is_none_is_not_called_a_range(complain, options, says):
    assert says in complain("run", "--questions", "q.jsonl", *options)
