"""The commands as a person types them."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from typer.main import get_command

import branchwise
from branchwise.cli import app
from branchwise.eval.tasks import TASKS
from support.chat_server import call, fail, say

GOOD = json.dumps({"reasoning": "r", "answers": {"Heat (1995 film)": ["Michael Mann"]}})
QUESTION = {
    "id": "q1",
    "question": "Who directed Heat?",
    "answers": {"Heat (1995 film)": ["Michael Mann"]},
}
PASSAGES = [
    {"id": "p1", "contents": "Heat (1995 film)\nMichael Mann directed Heat in 1995."},
    {"id": "p2", "contents": "[bold]Kong[/bold]\nA \u001b[31mred\u001b[0m ape, [link=x]climbing."},
]


@pytest.fixture
def corpus(tmp_path, type_in):
    source = tmp_path / "passages.jsonl"
    source.write_text("\n".join(map(json.dumps, PASSAGES)))
    assert type_in("corpus", "build", "--from", source, "--out", tmp_path / "C")[0] == 0
    assert type_in("corpus", "index", tmp_path / "C", "--kind", "bm25")[0] == 0
    return tmp_path / "C"


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(QUESTION))
    return path


@pytest.fixture
def model(chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return f"openai:scripted@{chat_server.url}"


@pytest.mark.slow
def test_every_command_has_help_with_an_example(type_in):
    groups = {"corpus": ("build", "index", "search", "info"), "tools": ("list",)}
    commands = [("demo",), ("ask",), ("run",), ("resume",), ("ablate",), ("score",), ("report",)]
    commands += [("errors",), ("trace",), ("export",)]
    commands += [(group, name) for group, names in groups.items() for name in names]
    for command in commands:
        code, out, _ = type_in(*command, "--help")
        assert code == 0
        assert "Example: branchwise" in " ".join(out.split()), command


@pytest.mark.parametrize("command", ["run", "ask"])
def test_help_is_a_screen_and_all_help_has_every_option(command, type_in, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, short, _ = type_in(command, "--help")
    assert code == 0
    assert len(short.splitlines()) <= 70
    assert max(map(len, short.splitlines())) <= 80
    code, whole, _ = type_in(command, "--help-all")
    assert code == 0
    assert "--reasoning-back" in whole
    assert "--reasoning-back" not in short
    assert set(re.findall(r"--[a-z-]+", short)) <= set(re.findall(r"--[a-z-]+", whole))


def test_help_fills_the_terminal_whatever_its_width(type_in, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = type_in("ask", "--help-all")[1]
    assert "the model failed, said what cannot be" in said
    assert " read, or answered with nothing." in said


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("run", "--structured"), ["auto", "off"]),
        (("run", "--task"), list(TASKS)),
        (("errors", "--lost-at"), ["agent", "extraction", "node", "repair", "dropped", "merge"]),
    ],
)
def test_shells_complete_the_words_of_a_choice(typed, words):
    completed = ShellComplete(get_command(app), {}, "branchwise", "_BRANCHWISE_COMPLETE")
    assert [one.value for one in completed.get_completions([*typed], "")] == words
    first = words[0]
    assert [one.value for one in completed.get_completions([*typed], first)] == [first]


@pytest.mark.slow
def test_a_run_is_scored_reported_exported_and_scored_again(
    type_in, corpus, questions, model, chat_server, tmp_path
):
    chat_server.play([call("local_retriever", query="Heat"), say(GOOD)])
    arguments = ("--questions", questions, "--corpus", corpus, "--model", model)
    code, out, _ = type_in("run", *arguments, "--out", tmp_path / "R")
    assert code == 0
    assert "1.00" in out
    scored = json.loads(type_in("score", tmp_path / "R", "--json")[1])
    em = scored["aggregates"]["all"]["strict_em"]
    assert (em["mean"], em["n"]) == (1.0, 1)
    assert type_in("report", tmp_path / "R")[0] == 0

    lines = tmp_path / "items.jsonl"
    assert type_in("export", tmp_path / "R", "--events", "--out", lines)[0] == 0
    (item,) = map(json.loads, lines.read_text().splitlines())
    assert item["answers"] == {"Heat (1995 film)": ["Michael Mann"]}
    assert item["evidence"][0] == "p1"
    assert [event["kind"] for event in item["events"]] == [
        "start", "model", "tool", "model", "answer",
    ]  # fmt: skip
    again = type_in("score", "--questions", questions, "--predictions", lines, "--json")[1]
    assert json.loads(again)["aggregates"]["all"]["strict_em"]["mean"] == 1.0


def test_ask_streams_its_steps_and_prints_the_answer(type_in, corpus, model, chat_server):
    chat_server.play([call("local_retriever", query="Heat"), say(GOOD)])
    code, out, err = type_in("ask", "Who directed Heat?", "--corpus", corpus, "--model", model)
    assert code == 0
    assert out == "Heat (1995 film): Michael Mann\n"
    assert "calls local_retriever(query='Heat')" in err
    assert "[p1] Heat (1995 film)" in err


def test_ask_says_that_there_is_no_answer_and_why(type_in, model, chat_server):
    chat_server.play([say(json.dumps({"reasoning": "Nobody knows.", "answers": {}}))])
    code, out, err = type_in("ask", "Who directed Heat?", "--model", model)
    assert (code, out) == (1, "")
    assert err.endswith("no answer: Nobody knows.\n")
    assert err.count("Nobody knows.") == 1


def test_ask_prints_json_whatever_the_answer_holds(type_in, model, chat_server):
    answers = {"a " + "long name " * 30: ["\x9b31m", "\u202e", "\U000e0001", "é"]}
    chat_server.play([say(json.dumps({"reasoning": "r", "answers": answers}))])
    code, out, err = type_in("ask", "Who?", "--model", model, "--json")
    assert (code, err) == (0, "")
    assert all(line.isprintable() for line in out.splitlines())
    (entities,) = json.loads(out)["answers"].values()
    assert entities[-1] == "é"


def test_a_question_that_is_no_text_is_asked_with_replacements(type_in, corpus):
    code, _, err = type_in("ask", "Who directed Heat\udcff?", "--corpus", corpus)
    assert code == 0, err
    assert "question  Who directed Heat\ufffd?" in err


@pytest.mark.slow
def test_a_resumed_run_counts_what_had_ended_before(type_in, tmp_path, model, chat_server):
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(json.dumps(QUESTION | {"id": f"q{n}"}) for n in range(3)))
    script = iter([say(GOOD), fail(400, "no"), say(GOOD), say(GOOD)])
    chat_server.play(lambda body: next(script))
    arguments = ("--questions", path, "--model", model, "--concurrency", "1")
    reasons = "1 of 3 items failed and counts 0:\n  1 x bad_request: "
    for command in (("run", *arguments, "--out", tmp_path / "R"), ("resume", tmp_path / "R")):
        code, _, err = type_in(*command)
        assert code == 1
        assert reasons in err
        assert err.endswith(f"again with:\n  branchwise resume {tmp_path / 'R'} --retry-failed\n")
    code, _, err = type_in("resume", tmp_path / "R", "--retry-failed")
    assert code == 0
    assert "3/3 ended" in err


@pytest.mark.slow
def test_runs_of_different_questions_are_not_compared_in_silence(type_in, tmp_path):
    for name in ("a", "b"):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(json.dumps(QUESTION | {"id": name}))
        assert type_in("run", "--questions", path, "--out", tmp_path / name)[0] == 0
    code, _, err = type_in("report", tmp_path / "a", tmp_path / "b")
    assert code == 0
    assert "do not hold the same questions" in " ".join(err.split())
    assert type_in("report", tmp_path / "a", tmp_path / "a")[2] == ""


def test_the_version_is_printed(type_in):
    assert type_in("--version") == (0, f"{branchwise.__version__}\n", "")


@pytest.mark.long
@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("command", ["export", "score", "report"])
def test_what_goes_to_a_closed_pipe_ends_quietly(type_in, questions, tmp_path, command):
    """In a process of its own: what captures output here would take it from the pipe."""
    assert type_in("run", "--questions", questions, "--out", tmp_path / "R")[0] == 0
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as nobody:
        ended = subprocess.run(
            [sys.executable, "-m", "branchwise", command, str(tmp_path / "R")],
            stdout=nobody,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_the_demo_runs_twice_into_one_folder(type_in, tmp_path):
    code, out, err = type_in("demo", "--out", tmp_path / "demo", "--questions", "3")
    assert code == 0, err
    assert out.startswith("1. A baseline")
    assert "answer sets · run" in out
    assert "changes against base" in out
    assert "Where base lost the answers of one question:" in out
    assert "branchwise ask" in out
    assert (tmp_path / "demo" / "recorded.html").is_file()
    assert (tmp_path / "demo" / "world" / "study" / "report.html").is_file()
    assert type_in("demo", "--out", tmp_path / "demo", "--questions", "3")[0] == 0
    assert (tmp_path / "demo" / "run-2").is_dir()


@pytest.mark.slow
def test_no_json_on_a_screen_can_steer_it(type_in, tmp_path):
    hostile = "T\x9b31m\u202e\x7f"
    source, path = tmp_path / "passages.jsonl", tmp_path / "q.jsonl"
    source.write_text(json.dumps({"id": "p1", "contents": f"{hostile}\nAn ape."}))
    path.write_text(json.dumps(QUESTION | {"id": hostile, "question": f"Which ape {hostile}?"}))
    corpus, run = tmp_path / "C", tmp_path / "R"
    assert type_in("corpus", "build", "--from", source, "--out", corpus)[0] == 0
    assert type_in("corpus", "index", corpus, "--kind", "bm25")[0] == 0
    assert type_in("run", "--questions", path, "--corpus", corpus, "--out", run)[0] == 0
    (hit,) = shown_json(type_in("corpus", "search", corpus, "ape", "--json"))
    assert hit["title"] == hostile
    (item,) = shown_json(type_in("score", run, "--json"))["items"]
    assert item["id"] == hostile
    assert shown_json(type_in("export", run, "--events"))["id"] == hostile


def shown_json(said):
    code, out, _ = said
    assert code == 0
    assert all(line.isprintable() for line in out.splitlines())
    return json.loads(out)


@pytest.mark.usefixtures("process")
def test_an_interrupt_before_the_command_line_is_there_is_one_line():
    """Ctrl-C in the first tenths of a second, while modules are loaded."""
    program = (
        "import sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'branchwise.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "from branchwise.__main__ import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (1, "branchwise: interrupted\n")


@pytest.mark.slow
def test_results_are_printed_apart_from_what_plug_ins_print():
    """`echo` and `console` keep standard output, which is standard error for everything else."""
    root = Path(__file__).parents[2]
    files = [*root.glob("branchwise/commands/*.py"), *root.glob("ui/**/*.py")]
    assert len(files) > 50
    for file in files:
        for one in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = ast.unparse(one.func) if isinstance(one, ast.Call) else ""
            if called in ("typer.echo", "click.echo") and file.name != "console.py":
                assert "err" in [word.arg for word in one.keywords], f"{file}:{one.lineno}"
            if isinstance(one, ast.Attribute) and ast.unparse(one) == "sys.stdout":
                assert file.name == "console.py", f"{file}:{one.lineno}"
