"""Studies whose parts do nothing say so beside every result: a scripted model, the command line."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from branchwise import compare
from support.by_role import role_of, says_of_each, turn_of, user_of
from support.chat_server import Answer, Body, call, say
from support.ui.page_reading import words

pytestmark = pytest.mark.slow

QUESTIONS = 24
PLUGINS = """
from branchwise import node, tool

@tool
def lookup(name: str) -> str:
    "Look a name up."
    return name

@node("before_answer")
def watch(state):
    "Change nothing."
"""
NEVER = "the tool lookup did nothing: it was never called"


def tools(*more: str) -> list[str]:
    return ["local_retriever", *(f"plugins.py:{name}" for name in more)]


@pytest.fixture
def study(chat_server, corpus, question_file, tmp_path, monkeypatch):
    """Writes a study of these settings; the model is told to search once, and then answers right
    where the schema of `lookup`, which it never calls, is before it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    def script(body: Body) -> Answer:
        if (role := role_of(body)) != "agent":
            nonsense = says_of_each(body, lambda *_: "Purple bananas.") if "ext" in role else ""
            return say(nonsense or "Who directed Heat?")
        if not turn_of(body):
            return call("local_retriever", query="Heat film")
        offered = {one["function"]["name"] for one in body.get("tools", ())}
        gold = user_of(body)[:20] if "lookup" in offered else "nobody"
        return say(json.dumps({"reasoning": "r", "answers": {"default": [gold]}}))

    def write(factors: dict[str, Any], **base: Any) -> Path:
        chat_server.play(script)
        question_file(QUESTIONS)
        (tmp_path / "plugins.py").write_text(PLUGINS)
        fixed = {
            "model": f"openai:scripted@{chat_server.url}",
            "corpus": str(corpus),
            "k": 2,
            "tools": tools(),
        }
        path = tmp_path / "study.yaml"
        named: dict[str, Any] = {"name": "inert", "questions": "questions.jsonl"}
        named |= {"nodes": {"watch": "plugins.py:watch"}} if "watch" in factors else {}
        path.write_text(json.dumps(named | {"base": fixed | base, "factors": factors}))
        return path

    return write


def test_a_tool_that_wins_without_a_call_is_named_beside_the_result(study, type_in, tmp_path):
    path, folder = study({"tools": [tools(), tools("lookup")]}), tmp_path / "S"
    code, said, _ = type_in("ablate", path, "--out", folder)
    assert code == 0
    system = "tools: +lookup"
    for command in ((), ("--full",)):
        said = said if not command else type_in("report", folder, *command)[1]
        before, changes = said.split("changes against")
        assert f"{system} {NEVER} caution: {NEVER} ({system})" in words(before)
        assert "+1.00 <.001" in words(changes)
    page = tmp_path / "page.html"
    type_in(
        "report", folder, "--html", page, "--csv", tmp_path / "csv", "--markdown", tmp_path / "m.md"
    )
    text = page.read_text("utf-8")
    finding = text.split('<ul class="findings">')[1]
    verdict, behind = finding.split("better, by more than chance", 1)
    assert system in verdict
    assert NEVER in behind.split("</ul>")[0]
    assert "<bdi>lookup</bdi></th><td><bdi>0</bdi>" in words(text)
    rows = {name: read_csv(tmp_path / "csv" / f"{name}.csv") for name in ("changes", "differences")}
    for of_table in rows.values():
        assert {row["cautions"] for row in of_table} == {NEVER}
    base, other = read_csv(tmp_path / "csv" / "systems.csv")
    assert (base["did_nothing"], other["did_nothing"]) == (
        "",
        "the tool lookup: it was never called",
    )
    calls = {
        (row["system"].lstrip("'"), row["tool"]): row["calls"]
        for row in read_csv(tmp_path / "csv" / "tools.csv")
    }
    assert calls[system, "lookup"] == "0"
    assert calls[system, "local_retriever"] == str(QUESTIONS)
    assert f"- {system}: {NEVER}." in (tmp_path / "m.md").read_text("utf-8").replace("\\", "")
    one, two = json.loads(type_in("report", folder, "--json")[1])
    assert (one["did_nothing"], two["did_nothing"]) == ([], [NEVER])
    assert two["comparison"]["cautions"] == [NEVER]
    base_run, other_run = sorted((folder / "runs").iterdir(), key=lambda run: run.name != "base")
    assert NEVER in repr(compare(base_run, other_run))
    assert NEVER in compare(base_run, other_run)._repr_html_()


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        ("expansion", "expansion did nothing: it wrote readings for none of 24 items"),
        (
            "extraction",
            "extraction did nothing: it kept nothing of 48 passages, and dropped 96 spans",
        ),
        ("watch", "the node watch did nothing: it changed nothing in 24 calls"),
    ],
)
def test_modules_and_nodes_without_effect_are_named(factor, said, study, type_in, tmp_path):
    path = study({factor: [False, True]})
    code, shown, err = type_in("ablate", path, "--out", tmp_path / "S")
    assert code == 0, err
    assert f"caution: {said}" in " ".join(shown.split())
    type_in("report", tmp_path / "S", "--html", tmp_path / "page.html", "--csv", tmp_path / "csv")
    assert said in (tmp_path / "page.html").read_text("utf-8")
    assert {row["cautions"] for row in read_csv(tmp_path / "csv" / "changes.csv")} == {said}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
