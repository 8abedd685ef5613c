"""What a server refuses is seen in a run as a whole, and in the trace of each of its items."""

import json

import pytest

from branchwise import score
from support.chat_server import fail, say

ANSWER = json.dumps({"reasoning": "r", "answers": {"default": ["Question number 0000"]}})
CALL = '```tool\n{"name": "local_retriever", "arguments": {"query": "Heat"}}\n```'


def takes_neither_tools_nor_schemas(body):
    for field in ("tools", "response_format"):
        if field in body:
            return fail(500, f"Unsupported param: {field}")
    searches = any("Result of local_retriever" in str(m["content"]) for m in body["messages"])
    return say(ANSWER if searches else CALL)


@pytest.mark.slow
def test_a_run_says_what_its_requests_lacked(chat_server, tmp_path, type_in, run_some):
    chat_server.play(takes_neither_tools_nor_schemas)
    made = run_some(3, concurrency=1, budget={"turns": 3})
    assert score(made).counts.failed == 0
    reader = made.open()
    traces = [list(reader.events(row.item)) for row in reader.items()]
    reader.close()
    told = [[event.data["field"] for event in t if event.kind == "left_out"] for t in traces]
    assert told == [["tools"]] * 3
    # Refused once: two requests an item, and the first one of all.
    assert len(chat_server.requests) == 7
    (document,) = json.loads(type_in("report", made.path, "--json")[1])
    assert document["left_out"] == [{"role": "agent", "field": "tools", "items": 3}]
    shown = " ".join(type_in("report", made.path)[1].split())
    assert "agent: asked without tools in 3 items (they are described in the text" in shown
    page, tables = tmp_path / "page.html", tmp_path / "tables.md"
    assert type_in("report", made.path, "--html", page, "--markdown", tables)[0] == 0
    assert all("asked without tools in 3 items" in file.read_text() for file in (page, tables))
    printed = type_in("trace", made.path, "--question", "q1", "--print")[1]
    assert "asked without tools" in printed
    assert "500 Unsupported param: tools" in printed


@pytest.mark.slow
def test_what_a_judge_cannot_be_asked_with_is_told(chat_server, type_in, run_some):
    chat_server.play(lambda body: say(ANSWER))
    made = run_some(2, concurrency=1)

    def script(body):
        is_refused = "response_format" in body
        return fail(422, "response_format") if is_refused else say('{"a1": "g1"}')

    chat_server.play(script)
    code, shown, _ = type_in("score", made.path, "--judge-entities")
    assert code == 0
    words = "judge: asked without response_format (answers follow the prompt alone"
    assert words in " ".join(shown.split())
    # It is kept with the replies: a report, which asks nobody, says it, too.
    shown = type_in("report", made.path, "--judge-entities")[1]
    assert words in " ".join(shown.split())
