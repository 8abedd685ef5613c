"""What a tool may return, is given and may ask, in runs; anything else is a tool error."""

import json

import pytest

from branchwise import score
from support.plugins.tool_cases import calls_once, read_run, run_tools, write_tools
from support.stores import execute

CODE = '''

@tool
async def awry(how: str) -> Any:
    """Goes wrong. `how`: in which way."""
    match how:
        case "well":
            return "well done"
        case "raises":
            raise ValueError("no such\\nfilm")
        case "tells":
            raise ToolError("ask for\\na title")
        case "none":
            return None
        case "object":
            return object()
        case "set":
            return {"a": {1, 2}}
        case "nested":
            value = []
            for _ in range(100_000):
                value = [value]
            return value
        case "loop":
            value = {}
            value["self"] = value
            return value
        case "latin":
            return "é".encode("latin-1")
        case "artifact":
            return ToolResult("text", {"passages": [{"id": "p1"}]})
        case "huge artifact":
            return ToolResult("text", {"x": "y" * 10_000_000})
'''
# A function that is not async goes the same ways on its thread.
BLOCKING = CODE.replace("async def", "def")
WRONG = [
    ("raises", "awry: ValueError: no such film"),
    ("tells", "ask for a title"),
    ("none", "awry: it returned None; return a str"),
    ("object", "awry: it returned a value of type object; return a str"),
    ("nested", "awry: it returned a value of type list that JSON cannot hold"),
    ("loop", "awry: it returned a value of type dict that JSON cannot hold"),
    ("latin", "awry: it returned bytes that are not UTF-8"),
    ("artifact", "awry: its artifact is wrong at passages.0.title: Field required"),
    ("huge artifact", "awry: its artifact is too large"),
]


@pytest.mark.slow
@pytest.mark.parametrize("code", [CODE, BLOCKING], ids=["async", "blocking"])
@pytest.mark.parametrize(("how", "line"), WRONG)
def test_what_cannot_be_shown_is_a_tool_error_and_nothing_else(
    code, how, line, chat_server, tmp_path
):
    path = write_tools(tmp_path, code)
    chat_server.play(calls_once("awry", {"how": how}, {"how": "well"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:awry")
    wrong = ran.tools["q1"].data
    assert wrong["error"].startswith(line)
    assert wrong["failure"] == "failed"
    assert ran.shown("Question 1").startswith("Error: ")
    for other in ("q0", "q2"):
        assert ran.tools[other].data["error"] is None
        assert ran.tools[other].data["content"] == "well done"
    assert (ran.made.state.done, ran.made.state.failed) == (3, 0)
    assert {row.metrics["strict_em"] for row in score(ran.made).items} == {1.0}


def test_a_tool_errors_words_reach_the_model_as_they_stand(chat_server, tmp_path):
    path = write_tools(tmp_path, CODE)
    chat_server.play(calls_once("awry", {"how": "tells"}, {"how": "well"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:awry")
    assert ran.shown("Question 1") == "Error: ask for\na title"


RETURNS = '''
import dataclasses

class Film(BaseModel):
    title: str
    years: tuple[int, ...]

@dataclasses.dataclass
class Pair:
    a: int
    b: str

@tool
def gives(what: str) -> Any:
    """Gives. `what`: one of many."""
    return {
        "text": "plain é", "bytes": "é".encode(), "dict": {"é": [1, None]}, "list": [1, "a"],
        "true": True, "int": 10**30, "float": 0.5, "model": Film(title="x", years=(1, 2)),
        "pair": Pair(1, "b"), "half": "a\\ud800b", "split": "\\ud83d\\ude00", "long": "x" * 10_000_000,
        "long list": ["y" * 100] * 100_000, "empty": "",
        "result": ToolResult("t", {"passages": [{"id": "p", "title": "T", "text": "a\\udfff", "score": 1}], "more": [1]}),
        "result of data": ToolResult({"a": 1}),
    }[what]
'''  # noqa: E501


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("text", "plain é"),
        ("bytes", "é"),
        ("dict", '{"é": [1, null]}'),
        ("list", '[1, "a"]'),
        ("true", "true"),
        ("int", "1" + "0" * 30),
        ("float", "0.5"),
        ("model", '{"title": "x", "years": [1, 2]}'),
        ("pair", '{"a": 1, "b": "b"}'),
        ("half", "a\ufffdb"),
        ("split", "😀"),
        ("long", "x" * 200_000 + "\n[cut: 10000000 characters]"),
        ("empty", ""),
        ("result", "t"),
        ("result of data", '{"a": 1}'),
    ],
)
def test_what_a_tool_may_return_is_text_to_the_model(what, text, chat_server, tmp_path):
    path = write_tools(tmp_path, RETURNS)
    chat_server.play(calls_once("gives", {"what": what}, {"what": "text"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:gives")
    assert ran.tools["q1"].data["error"] is None
    assert ran.shown("Question 1") == text
    assert ran.made.state.failed == 0


def test_ten_megabytes_of_json_are_cut(chat_server, tmp_path):
    path = write_tools(tmp_path, RETURNS)
    chat_server.play(calls_once("gives", {"what": "long list"}, {"what": "text"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:gives")
    assert ran.shown("Question 1").endswith("[cut: 10400000 characters]")
    assert len(ran.shown("Question 1")) < 200_100
    assert ran.made.state.failed == 0


def test_an_artifact_is_kept_in_the_trace_and_its_passages_are_evidence(chat_server, tmp_path):
    path = write_tools(tmp_path, RETURNS)
    chat_server.play(calls_once("gives", {"what": "result"}, {"what": "text"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:gives")
    kept = ran.tools["q1"].data["artifact"]
    assert kept["more"] == [1]
    assert kept["passages"] == [{"id": "p", "title": "T", "text": "a\ufffd", "score": 1.0}]
    reader = ran.made.open()
    rows = {row.question.id: row.outcome for row in reader.items()}
    reader.close()
    assert rows["q1"]["evidence"] == ["p"]
    assert rows["q0"]["evidence"] == []


def test_a_tool_that_changes_its_arguments_changes_no_record(chat_server, tmp_path):
    path = write_tools(
        tmp_path,
        '''
@tool
def takes(names: list[str], film: dict[str, Any]) -> str:
    """Takes."""
    names.clear()
    film["title"] = "changed"
    return "taken"
''',
    )
    given = {"names": ["a", "b"], "film": {"title": "Heat"}}
    chat_server.play(calls_once("takes", given, given))
    ran = run_tools(chat_server, tmp_path, f"{path}:takes")
    for event in ran.tools.values():
        assert event.data["call"]["args"] == given
    spoken = ran.requests[-1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(spoken) == given


def test_bad_arguments_are_the_models_and_say_where(chat_server, tmp_path):
    path = write_tools(tmp_path, CODE)
    chat_server.play(calls_once("awry", {"who": 1}, {"how": "well"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:awry")
    assert ran.tools["q1"].data["failure"] == "arguments"
    assert ran.shown("Question 1") == "Error: bad arguments: how: Field required"


@pytest.mark.slow
def test_sixty_four_items_call_at_once(chat_server, tmp_path):
    path = write_tools(tmp_path, BLOCKING)
    chat_server.play(calls_once("awry", {"how": "raises"}, {"how": "well"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:awry", count=64)
    wrong = [question for question, event in ran.tools.items() if event.data["error"]]
    assert wrong == ["q1"]
    assert len(ran.tools) == 64


def test_the_models_key_goes_nowhere_with_what_a_tool_says(chat_server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-somebody")
    code = """
import os

@tool
def leak(how: str) -> Any:
    \"\"\"Says too much. `how`: in which way.\"\"\"
    key = os.environ["OPENAI_API_KEY"]
    if how == "tells":
        raise ToolError(f"told {key}")
    return ToolResult(f"returned {key}", {"kept": [key]})
"""
    path = write_tools(tmp_path, code)
    chat_server.play(calls_once("leak", {"how": "tells"}, {"how": "returns"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:leak")
    assert ran.shown("Question 1") == "Error: told ***"
    assert ran.shown("Question 0") == "returned ***"
    assert ran.tools["q0"].data["artifact"] == {"kept": ["***"]}
    for file in ran.made.path.iterdir():
        assert b"key-of-somebody" not in file.read_bytes()


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
    from support.chat_server import say

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


def test_a_resumed_run_finds_its_tools_from_any_folder_and_calls_none_again(
    chat_server, tmp_path, monkeypatch
):
    from branchwise import resume

    log = tmp_path / "log"
    path = write_tools(
        tmp_path,
        f'''
@tool
def notes(word: str) -> str:
    """Notes."""
    with open({str(log)!r}, "a") as file:
        file.write(word)
    return "noted"
''',
    )
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


@pytest.mark.parametrize("change", ["edited", "neighbour", "gone"])
def test_a_run_whose_plugin_changed_is_not_resumed(change, chat_server, tmp_path):
    from branchwise import resume
    from branchwise.corpora.errors import InputError

    (tmp_path / "beside.py").write_text("WORD = 'a'\n")
    path = write_tools(tmp_path, "import beside\n" + CODE)
    chat_server.play(calls_once("awry", {"how": "raises"}, {"how": "well"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:awry")
    if change == "edited":
        path.write_text(path.read_text() + "# another\n")
    elif change == "neighbour":
        (tmp_path / "beside.py").write_text("WORD = 'bc'\n")
    else:
        path.unlink()
    with pytest.raises(InputError) as refused:
        resume(ran.made.path)
    expected = "there is no file" if change == "gone" else "(changed: tools)"
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)
