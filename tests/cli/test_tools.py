"""`branchwise tools`: looking at a tool, trying it, beginning one."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import TESTS
from support.chat_server import say

PLUGIN = '''
from pydantic import BaseModel
from branchwise import Corpus, Graph, RunContext, ToolError, ToolResult, tool


class Settings(BaseModel):
    limit: int
    unit: str | None = "years"


@tool(section="Use it well.", seconds=7, settings=Settings, render=lambda call, *_: [call['name']])
def ages(name: str, settings: Settings, corpus: Corpus | None, graph: Graph | None) -> ToolResult:
    """Ages of people.

    Args:
        name: whose.
    """
    print("looked", name)
    if name == "nobody":
        raise ToolError("nobody has no age;\\ngive another name")
    if name == "wrong":
        raise ValueError("no such thing")
    text = f"{name} is {settings.limit} {settings.unit} {corpus is None}"
    return ToolResult(text, {"name": name})


@tool
async def asking(run: RunContext) -> str:
    """Ask the model."""
    return run.question + " " + await run.ask("You know.", "What?")


@tool
async def hostile() -> str:
    """Says what would steer a terminal. \x1b[31m"""
    return "a\\x1b[31mb\\nc\\u202e"
'''


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    file = tmp_path / "ages.py"
    file.write_text(PLUGIN)
    return file


def shown(type_in: Any, *words: object) -> Any:
    code, out, err = type_in("tools", *words, "--json")
    assert code in (0, 1), err
    return json.loads(out)


def test_what_a_model_is_told_is_shown_and_what_it_is_not(type_in: Any, plugin: Path):
    [card] = shown(type_in, "show", f"{plugin}:ages")
    assert card["schema"] == {
        "name": "ages",
        "description": "Ages of people.",
        "parameters": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "whose."}},
            "required": ["name"],
        },
    }
    assert card["injected"] == {"settings": "settings", "corpus": "corpus", "graph": "graph"}
    assert (card["section"], card["seconds"], card["renders"]) == ("Use it well.", 7, True)
    assert card["runs"] == "on its own thread"
    assert card["settings"]["required"] == ["limit"]
    assert card["source"]["source"] == str(plugin)

    _, text, _ = type_in("tools", "show", f"{plugin}:ages")
    assert "a call    runs on its own thread, for at most 7 seconds" in text
    assert "setting   ages.limit: integer, must be given" in text
    assert "setting   ages.unit: string or null, default 'years'" in text
    assert "injected  graph: the graph of --kg" in text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("local_retriever", "a collection of passages"),
        ("wikidata_search", "Find numbers by name"),
        ("wikisparql", "Numbers are found by label"),
    ],
)
def test_built_in_tools_are_shown_without_a_corpus_or_graph(type_in: Any, name: str, said: str):
    [card] = shown(type_in, "show", name)
    assert card["schema"]["name"] == name
    assert card["source"] == {"source": "built in"}
    assert said in card["section"]


def test_a_call_shows_what_the_model_reads_and_what_only_the_trace_keeps(type_in, plugin):
    said = shown(
        type_in, "try", f"{plugin}:ages", "--args", '{"name": "Ada"}', "--set", "ages.limit=36"
    )
    assert said["content"] == "Ada is 36 years True"
    assert said["artifact"] == {"name": "Ada", "rendered": ["Ada"]}
    assert said["error"] is None
    words = ("try", f"{plugin}:ages", "--args", '{"name": "Ada"}', "--set", "ages.limit=36")
    code, out, err = type_in("tools", *words)
    assert (code, err) == (0, "looked Ada\n")
    lines = out.splitlines()
    assert lines[0].startswith("the model reads (")
    assert lines[1:] == [
        "  Ada is 36 years True",
        *("shown in the trace", "  Ada", "artifact", "  {", '    "name": "Ada"', "  }"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ({"name": "nobody"}, "Error: nobody has no age;\ngive another name"),
        ({"name": "wrong"}, "Error: ages: ValueError: no such thing"),
        ({"nam": 1}, "Error: bad arguments: name: Field required"),
    ],
)
def test_a_failed_call_ends_with_1(type_in: Any, plugin: Path, given: object, content: str):
    words = ("--args", json.dumps(given), "--set", "ages.limit=1")
    code, out, _ = type_in("tools", "try", f"{plugin}:ages", *words, "--json")
    assert code == 1
    assert json.loads(out)["content"] == content


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("show", "wikisparq"), "did you mean wikisparql or wikidata_search?"),
        (("show", "FILE:age"), "it does not define 'age'; it has ages"),
        (("try", "FILE:ages", "--args", "[1]"), "--args: is a list, not an object"),
        (("try", "FILE:ages", "--args", "{"), "--args: is not JSON"),
        (("try", "FILE:ages"), "ages.limit: Field required; give it: --set ages.limit=VALUE"),
        (("try", "wikisparql"), "wikisparql has no graph to query; add --kg DIR or URL"),
        (("try", "local_retriever"), "has no corpus to search; add --corpus DIR"),
        (("new", "class"), "'class' is not a valid function name"),
        (("new", "json"), "'json' is an installed module"),
        (("new", "wikisparql"), "'wikisparql' is a built-in tool"),
        (("new", "../evil"), "'../evil' is not a valid function name"),
        (("new", "x" * 65), "is not a valid tool name"),
    ],
)
def test_bad_input_is_one_line(type_in: Any, plugin: Path, words: tuple[str, ...], line: str):
    code, out, err = type_in("tools", *[w.replace("FILE", str(plugin)) for w in words])
    assert (code, out) == (2, "")
    assert line in err
    assert len(err.splitlines()) == 1


def test_a_tool_may_ask_the_model_that_is_named(type_in, plugin, chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    chat_server.play([say("This.")])
    model = f"openai:scripted@{chat_server.url}"
    words = ("try", f"{plugin}:asking", "--model", model, "--question", "Who?")
    assert shown(type_in, *words)["content"] == "Who? This."
    without = shown(type_in, *words[:2])
    assert without["error"] == "asking: RuntimeError: no model to ask here"


@pytest.mark.usefixtures("process")
def test_a_new_tool_passes_its_own_test_and_is_not_overwritten(type_in: Any, tmp_path: Path):
    folder = tmp_path / "new" / "tools"
    code, said, _ = type_in("tools", "new", "word_count", "--out", folder)
    assert code == 0
    assert f"branchwise tools show {folder / 'word_count.py'}:word_count" in said
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_word_count.py"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert tested.returncode == 0, tested.stdout
    assert "3 passed" in tested.stdout
    file = folder / "word_count.py"
    words = ("try", f"{file}:word_count", "--args", '{"text": "two words"}')
    assert shown(type_in, *words)["content"] == "2 words"

    file.unlink()
    before = (folder / "test_word_count.py").read_text()
    code, _, err = type_in("tools", "new", "word_count", "--out", folder)
    assert code == 2
    assert "test_word_count.py: already exists" in err
    assert not file.exists()
    assert (folder / "test_word_count.py").read_text() == before


def test_a_folder_that_cannot_be_made_is_one_line(type_in: Any, plugin: Path):
    code, _, err = type_in("tools", "new", "word_count", "--out", plugin)
    assert code == 2
    assert str(plugin) in err


@pytest.mark.usefixtures("process")
def test_tools_of_a_server_are_shown_and_one_of_several_must_be_named(type_in: Any, tmp_path: Path):
    pytest.importorskip("mcp")
    server = tmp_path / "server.py"
    server.write_text(
        "from mcp.server.fastmcp import FastMCP\n"
        "served = FastMCP('two', log_level='ERROR')\n"
        "@served.tool()\ndef one(text: str) -> str:\n    'First.'\n    return text.upper()\n"
        "@served.tool()\ndef two() -> str:\n    'Second.'\n    return ''\n"
        "served.run()\n"
    )
    spec = f"mcp:{sys.executable} {server}"
    assert [card["name"] for card in shown(type_in, "show", spec)] == ["one", "two"]
    code, _, err = type_in("tools", "try", spec)
    assert code == 2
    assert "the server has several tools: one, two; name one: SPEC#NAME" in err
    assert shown(type_in, "try", f"{spec}#one", "--args", '{"text": "a"}')["content"] == "A"


@pytest.mark.usefixtures("process")
def test_a_tool_of_a_server_is_shown_with_the_servers_name_and_version(type_in: Any):
    films = TESTS / "support" / "plugins" / "mcp_films.py"
    spec = f"mcp:{shlex.quote(sys.executable)} {shlex.quote(str(films))}#film_year"
    code, out, said = type_in("tools", "show", spec)
    assert code == 0, said
    assert "server    films 1.2.3" in out.splitlines()
    assert not any(line.startswith("package") for line in out.splitlines())
    code, out, _ = type_in("tools", "show", spec, "--json")
    assert json.loads(out)[0]["source"]["server"] == "films 1.2.3"
