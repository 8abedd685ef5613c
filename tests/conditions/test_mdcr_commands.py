"""`branchwise mdcr`: what people and programs are told, and a writer that is interrupted."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from branchwise.cli import app
from support.chat_server import fail, say
from support.runs.killing import Killer

WORKED = Path(__file__).parents[2] / "examples" / "benchmarks" / "mdcr-worked.json"
SMALL = ("--documents", "6", "--groups", "2", "--scenarios", "6")


def typed(*words):
    result = CliRunner().invoke(app, ["mdcr", *map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def complain(type_in):
    def call(*words):
        code, _, said = type_in("mdcr", *words)
        assert (code, said.count("\n")) == (2, 1)
        assert said.startswith("branchwise: ")
        return said

    return call


def test_answers_are_listed_with_their_alternatives():
    assert typed("solve", WORKED).output.splitlines()[1:] == [
        "  q1, at least one: yes",
        "    A-c1",
        "    or A-c2",
        "    or B-c3 and B-c4",
        "    or C-c5 and C-c6",
        "  q2, all together: no",
        "  q3, maximum number: 2",
        "    C-c5 and C-c6",
    ]


def test_an_explanation_names_expressions_values_and_relations():
    lines = typed("solve", WORKED, "--explain").output.splitlines()
    assert lines[1:4] == ["  A needs c1 OR c2", "  B needs c3 AND c4", "  C needs c5 AND c6"]
    assert lines[-8:] == [
        "    not possible: A needs c1 OR c2, B needs c3 AND c4; but A-c1 conflicts with B-c3 and "
        "A-c2 conflicts with B-c3",
        "  q3, maximum number: 2",
        "    C-c5 and C-c6",
        '      C-c5 says "They are residents of Tolmarsh."',
        '      C-c6 says "Their grade average is at least 3.6."',
        "      gives B by B-c3 and B-c4; C by C-c5 and C-c6",
        "        B-c3 is left out, for C-c5 stands for it: B-c3 is equivalent to C-c5",
        "        B-c4 is left out, for C-c6 stands for it: C-c6 is narrower than B-c4",
    ]


def test_values_are_explained(tmp_path):
    record = json.loads(WORKED.read_text())
    record["scenarios"][0]["values"] = {"C-c6": True, "B-c3": True}
    (tmp_path / "f.json").write_text(json.dumps(record))
    lines = typed("solve", tmp_path / "f.json", "--explain").output.splitlines()
    assert "    B-c4 is true: by the scenario C-c6 is true, and C-c6 is narrower than B-c4" in lines
    assert "    B-c3 is true: the scenario says so" in lines
    assert "    nothing more is needed" in lines
    assert "      gives B and C by the scenario alone" in lines


def test_many_groups_are_cut_for_people_only(tmp_path):
    names = [f"c{n}" for n in range(50)]
    record = {
        "mdcr": 1,
        "documents": [
            {
                "id": "A",
                "title": "A",
                "domain": "things",
                "sentences": dict.fromkeys(names, "x"),
                "conditions": {name: name for name in names},
                "expression": " OR ".join(names),
            }
        ],
        "relations": [],
        "scenarios": [{"id": "s", "documents": ["A"], "text": "", "values": {}, "kinds": ["q1"]}],
    }
    (tmp_path / "f.json").write_text(json.dumps(record))
    lines = typed("solve", tmp_path / "f.json").output.splitlines()
    assert lines[-1] == "    or one of 30 further groups (--json has all of them)"
    lines = typed("solve", tmp_path / "f.json", "--explain").output.splitlines()
    assert lines[-1] == "    30 further groups (--json has all of them)"
    assert len(json.loads(typed("solve", tmp_path / "f.json", "--json").output)[0]["groups"]) == 50


def test_bad_input_is_one_line(complain, tmp_path):
    assert "unknown scenario 'work'; did you mean worked?" in complain(
        "solve", WORKED, "--scenario", "work"
    )
    assert "no such file" in complain("solve", tmp_path / "none.json")
    (tmp_path / "f.json").write_text('{"mdcr": 1,\n "documents": ]')
    assert "f.json:2: not valid JSON" in complain("solve", tmp_path / "f.json")
    assert "3 documents cannot be made" in complain(
        "generate", "--documents", "3", "--out", tmp_path / "o.json"
    )
    assert "there is no such folder" in complain("generate", "--out", tmp_path / "no" / "o.json")
    assert "is a folder" in complain("control", WORKED, "--out", tmp_path)
    record = json.loads(WORKED.read_text())
    del record["scenarios"][0]["values"]
    gold = {"short": "no", "groups": []}
    record["scenarios"][0] |= {"gold": {"q1": gold}, "kinds": ["q1"]}
    (tmp_path / "f.json").write_text(json.dumps(record))
    for words in (("solve",), ("control", "--out", str(tmp_path / "o.json"))):
        line = complain(words[0], tmp_path / "f.json", *words[1:])
        assert "f.json:scenario worked: its values are not known" in line
    assert not (tmp_path / "o.json").exists()


def test_text_from_a_file_cannot_steer_a_terminal(tmp_path):
    record = json.loads(WORKED.read_text())
    record["scenarios"][0]["text"] = "I \x1b[2Jam"
    record["documents"][2]["sentences"]["c5"] = "<li>\x1b]0;x\x07</li>"
    (tmp_path / "f.json").write_text(json.dumps(record))
    for words in ((), ("--explain",), ("--json", "--explain")):
        output = typed("solve", tmp_path / "f.json", *words).output
        assert all(line.isprintable() for line in output.splitlines())


def test_a_set_is_made_counted_and_restricted(tmp_path):
    out, single = tmp_path / "m.json", tmp_path / "s.json"
    made = typed("generate", *SMALL, "--seed", "2", "--out", out).output
    assert re.search(r"^  that need relations +\S+% +28.1%$", made, re.MULTILINE)
    assert re.search(r"^scenarios +6 +1,138$", made, re.MULTILINE)
    assert re.search(r"^  on internships +\d +620$", made, re.MULTILINE)
    counted = typed("info", out).output
    assert counted in made
    numbers = json.loads(typed("info", out, "--json").output)
    assert numbers["this set"]["questions"] == 18
    assert numbers["published"]["groups"] == {"2": 55, "3": 68, "4": 31, "5": 10}
    assert re.search(r"^  best constant answers +0\.\d{3} +0\.871$", made, re.MULTILINE)
    assert sum(numbers["this set"]["balance"]["relations"].values()) > 0
    assert json.loads(out.read_text())["about"]["generator"] == 3
    again = tmp_path / "again.json"
    typed("generate", *SMALL, "--seed", "2", "--out", again)
    assert again.read_bytes() == out.read_bytes()
    restricted = typed("control", out, "--out", single).output
    assert re.search(r"^  of 1 ", restricted, re.MULTILINE)
    assert json.loads(typed("info", single, "--json").output)["this set"]["questions"] == 18


def reworded(body):
    prompt = body["messages"][-1]["content"]
    lines = re.findall(r"^(\d+)\. (I .+)$", prompt, re.MULTILINE)
    return say("\n".join(f"{number}. Today {text}" for number, text in lines))


@pytest.fixture
def writer(chat_server):
    return "--writer", f"openai:m@{chat_server.url}"


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_writer_words_a_set_and_is_not_asked_again(chat_server, writer, tmp_path, api):
    chat_server.play(reworded)
    out, writer = tmp_path / "m.json", (*writer, "--api", api)
    first = typed("generate", *SMALL, "--out", out, *writer).output
    assert "replies of the writer: 12 new, 0 kept" in first
    assert re.search(r"^ +\d+  no such line$", first, re.MULTILINE)  # documents' sentences
    record = json.loads(out.read_text())
    parts = [part["text"] for scenario in record["scenarios"] for part in scenario["parts"][1:]]
    assert all(text.startswith("Today I ") for text in parts)
    assert record["about"]["wording"] == "openai:m"
    written = out.read_bytes()
    second = typed("generate", *SMALL, "--out", out, *writer).output
    assert "replies of the writer: 0 new, 12 kept" in second
    assert out.read_bytes() == written
    assert len(chat_server.requests) == 12
    path = "/v1/responses" if api == "responses" else "/v1/chat/completions"
    assert {*chat_server.paths} == {path}


def test_a_writer_that_refuses_every_request_ends_the_command(chat_server, writer, tmp_path):
    chat_server.play([*[say("1. Nothing.")] * 5, *[fail(401, "no key")] * 20])
    out = tmp_path / "m.json"
    result = typed("generate", *SMALL, "--out", out, "--concurrency", "1", *writer)
    assert result.exit_code == 1
    assert "the writer failed: " in result.output
    assert not out.exists()
    chat_server.play(reworded)
    again = typed("generate", *SMALL, "--out", out, *writer).output
    assert "replies of the writer: 7 new, 5 kept" in again


def test_a_reply_that_did_not_come_leaves_the_grammars_words(chat_server, writer, tmp_path):
    chat_server.play(lambda _: fail(400, "I do not like this one"))
    result = typed("generate", *SMALL, "--out", tmp_path / "m.json", *writer)
    assert result.exit_code == 0
    assert re.search(r"^ +\d+  no reply$", result.output, re.MULTILINE)
    typed("generate", *SMALL, "--out", tmp_path / "grammar.json")
    by_writer, by_grammar = (
        json.loads((tmp_path / name).read_text()) for name in ("m.json", "grammar.json")
    )
    assert by_writer | {"about": None} == by_grammar | {"about": None}


@pytest.mark.slow
@pytest.mark.usefixtures("process")
def test_a_killed_command_goes_on_and_asks_nothing_twice(chat_server, writer, tmp_path):
    killer = Killer(lambda body, _: reworded(body))
    chat_server.play(killer)
    out = tmp_path / "m.json"
    words = ["mdcr", "generate", *SMALL, "--out", str(out), "--concurrency", "1", *writer]
    process = subprocess.Popen(
        [sys.executable, "-m", "branchwise", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    killer.aim(process, 6)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not out.exists()
    asked = [body["messages"][-1]["content"] for body in killer.requests[:5]]
    again = typed(*words[1:]).output
    assert "replies of the writer: 7 new, 5 kept" in again
    later = [body["messages"][-1]["content"] for body in killer.requests[6:]]
    assert not set(asked) & set(later)
    assert len(json.loads(out.read_text())["scenarios"]) == 6
