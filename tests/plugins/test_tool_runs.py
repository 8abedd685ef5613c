"""What a tool may return, is given and may ask; anything else is a tool error."""

import asyncio
import dataclasses
import json
import threading

import pytest
from pydantic import BaseModel

from branchwise import ToolError, ToolResult, resume, tool
from branchwise.base.errors import InputError
from branchwise.tools.plugin_tools import FunctionTool, PluginResult
from support.chat_server import say
from support.plugins.tool_cases import calls_once, read_run, run_tools, write_tools
from support.stores import execute

HANGS = threading.Event().wait


def called(gives) -> PluginResult:
    """A call of a tool that returns `gives()`."""

    @tool
    def it():
        """Gives."""
        return gives()

    made = FunctionTool.of(it)
    return asyncio.run(made.call({}, 0.5 if gives is HANGS else 60))


class Film(BaseModel):
    title: str
    years: tuple[int, ...]


@dataclasses.dataclass
class Pair:
    a: int
    b: str


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain é", "plain é"),
        ("é".encode(), "é"),
        ({"é": [1, None]}, '{"é": [1, null]}'),
        ([1, "a"], '[1, "a"]'),
        (10**30, "1" + "0" * 30),
        (0.5, "0.5"),
        (Film(title="x", years=(1, 2)), '{"title": "x", "years": [1, 2]}'),
        (Pair(1, "b"), '{"a": 1, "b": "b"}'),
        ("a\ud800b", "a\ufffdb"),
        ("x" * 10_000_000, "x" * 200_000 + "\n[cut: 10000000 characters]"),
        (ToolResult({"a": 1}), '{"a": 1}'),
    ],
)
def test_what_a_tool_may_return_is_text_to_the_model(value, text):
    assert called(lambda: value) == PluginResult(text)


def nested():
    value = []
    for _ in range(100_000):
        value = [value]
    return value


def raises(error):
    def raising():
        raise error

    return raising


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gives", "line"),
    [
        (raises(ValueError("no such\nfilm")), "it: ValueError: no such film"),
        (HANGS, "it: no result within 0.5 seconds (abandoned)"),
        (lambda: None, "it: it returned None; return a str"),
        (object, "it: it returned a value of type object that JSON cannot hold"),
        (nested, "it: it returned a value of type list that JSON cannot hold"),
        (lambda: "é".encode("latin-1"), "it: it returned a value of type bytes that JSON cannot"),
        (
            lambda: ToolResult("text", {"passages": [{"id": "p1"}]}),
            "it: its artifact is wrong at passages.0.title: Field required",
        ),
        (lambda: ToolResult("t", {"x": "y" * 10_000_000}), "it: its artifact is too large"),
    ],
)
def test_what_cannot_be_shown_is_a_tool_error(gives, line):
    result = called(gives)
    assert result.error is not None
    assert result.error.startswith(line)
    assert "\n" not in result.error
    assert (result.content, result.failure) == (f"Error: {result.error}", "failed")


def test_a_tool_errors_words_reach_the_model_as_they_stand():
    result = called(raises(ToolError("ask for\na title")))
    assert (result.content, result.error) == ("Error: ask for\na title", "ask for a title")


ECHO = '''
@tool
def echo(word: str) -> ToolResult:
    """Says it again."""
    if word == "tells":
        raise ToolError(f"told {KEY}")
    passage = {"id": "p", "title": "T", "text": "a\\udfff", "score": 1}
    return ToolResult(f"{word} {KEY}", {"passages": [passage], "kept": [KEY]})
'''


def test_an_artifact_is_kept_its_passages_are_evidence_and_a_key_goes_nowhere(
    chat_server, tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-somebody")
    path = write_tools(tmp_path, f'import os\nKEY = os.environ["OPENAI_API_KEY"]\n{ECHO}')
    chat_server.play(calls_once("echo", {"word": "tells"}, {"word": "said"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:echo")
    assert ran.shown("Question 1") == "Error: told ***"
    assert ran.shown("Question 0") == "said ***"
    passage = {"id": "p", "title": "T", "text": "a\ufffd", "score": 1.0}
    assert ran.tools["q0"].data["artifact"] == {"passages": [passage], "kept": ["***"]}
    for file in ran.made.path.iterdir():
        assert b"key-of-somebody" not in file.read_bytes()
    reader = ran.made.open()
    evidence = {row.question.id: row.outcome["evidence"] for row in reader.items()}
    reader.close()
    assert evidence == {"q0": ["p"], "q1": [], "q2": ["p"]}


def test_run_context_and_settings_are_filled_and_hidden(chat_server, tmp_path):
    path = write_tools(
        tmp_path,
        '''
class Limits(BaseModel):
    limit: int = 3

@tool(settings=Limits, section="Call `where` first.")
async def where(word: str, run: RunContext, limits: Limits) -> dict[str, Any]:
    """Where it is."""
    return {"question": run.question, "item": run.item, "epoch": run.epoch,
            "limit": limits.limit, "left": 0 < run.seconds_left <= 600}
''',
    )
    chat_server.play(calls_once("where", {"word": "a"}, {"word": "a"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:where", settings={"where": {"limit": 7}})
    assert json.loads(ran.shown("Question 1")) == {
        "question": "Question 1?", "item": "q1", "epoch": 0, "limit": 7, "left": True,
    }  # fmt: skip
    (shown,) = ran.requests[0]["tools"]
    assert list(shown["function"]["parameters"]["properties"]) == ["word"]
    assert ran.requests[0]["messages"][0]["content"].endswith("\n\nCall `where` first.")


ASKS = '''
@tool
{a}def asks(word: str, run: RunContext) -> str:
    """Asks the model."""
    return "it said " + {w}(system="Be brief.", message=word)
'''


@pytest.mark.parametrize("words", [("async ", "await run.ask"), ("", "run.ask_blocking")])
def test_a_tool_may_ask_the_agents_model_which_is_recorded_and_counted(
    words, chat_server, tmp_path
):
    path = write_tools(tmp_path, ASKS.format(a=words[0], w=words[1]))
    script = calls_once("asks", {"word": "hm?"}, {"word": "hm?"})

    def answers(body):
        return say("yes") if body["messages"][0]["content"] == "Be brief." else script(body)

    chat_server.play(answers)
    ran = run_tools(chat_server, tmp_path, f"{path}:asks")
    assert ran.shown("Question 1") == "it said yes"
    (asked,) = ran.tools["q1"].data["asked"]
    assert (asked["system"], asked["message"], asked["content"]) == ("Be brief.", "hm?", "yes")
    reader = ran.made.open()
    usage = [row.outcome["usage"] for row in reader.items()]
    reader.close()
    assert [of_item["asks"]["calls"] for of_item in usage] == [1, 1, 1]
    assert "expander" not in usage[0]


NOTES = '''
import beside

@tool
def notes(word: str) -> str:
    """Notes."""
    with open(beside.LOG, "a") as file:
        file.write(word)
    return "noted"
'''


@pytest.mark.slow
def test_a_resumed_run_finds_its_tools_from_any_folder_calls_none_again_and_refuses_other_code(
    chat_server, tmp_path, monkeypatch
):
    log, beside = tmp_path / "log", tmp_path / "beside.py"
    beside.write_text(f"LOG = {str(log)!r}\n")
    path = write_tools(tmp_path, NOTES)
    monkeypatch.chdir(tmp_path)
    chat_server.play(calls_once("notes", {"word": "x"}, {"word": "x"}))
    ran = run_tools(chat_server, tmp_path, f"{path.name}:notes")
    assert log.read_text() == "xxx"
    execute(ran.made.path, "UPDATE items SET status = 'running', outcome = NULL")
    monkeypatch.chdir("/")
    again = resume(ran.made.path)
    assert again.state.done == 3
    assert log.read_text() == "xxx"
    assert all(event.data["replayed"] for event in read_run(again, chat_server).tools.values())

    for file, another in ((beside, "# another\n"), (path, "beside.LOG = 'another'\n")):
        before = file.read_text()
        file.write_text(f"{before}{another}")
        with pytest.raises(InputError, match=r"^[^\n]*\(changed: tools\)[^\n]*$"):
            resume(ran.made.path)
        file.write_text(before)
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        resume(ran.made.path)
