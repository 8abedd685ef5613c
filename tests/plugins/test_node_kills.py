"""A run that is killed behind a node goes on without calling the node again."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from branchwise.runs.store import open_run
from support.chat_server import ChatServer
from support.plugins.node_cases import SEARCH, answer, turns, write_nodes, write_questions

pytestmark = pytest.mark.usefixtures("process")

CODE = '''
import os

@node("after_tools")
async def once(state: AgentState):
    """Keep the first passage, and say that it was called."""
    with open(os.environ["NODE_CALLS"], "a") as log:
        log.write("x")
    return {"pending": [with_passages(m, passages_of(m)[:1]) for m in state["pending"]]}
'''


@pytest.mark.long
def test_a_killed_run_does_not_call_a_node_again(
    chat_server: ChatServer, tmp_path: Path, five: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    calls = tmp_path / "calls"
    monkeypatch.setenv("NODE_CALLS", str(calls))
    nodes, out = write_nodes(tmp_path, CODE), tmp_path / "run"
    questions = write_questions(tmp_path, "Michael Mann")
    command = [sys.executable, "-m", "branchwise"]
    told = ["--model", f"openai:scripted@{chat_server.url}", "--node", f"{nodes}:once"]
    process: list[subprocess.Popen[str]] = []
    reply = turns(SEARCH, answer("Michael Mann"))

    def killing(body: dict[str, Any]) -> Any:
        if body["messages"][-1]["role"] == "tool" and process[0].poll() is None:
            process[0].kill()
        return reply(body)

    chat_server.play(killing)
    asks = [
        *command,
        "run",
        "--questions",
        questions,
        "--corpus",
        five,
        "--budget-shown",
        "off",
        *told,
        "--out",
        out,
    ]
    process.append(subprocess.Popen([*map(str, asks)], stderr=subprocess.PIPE, text=True))
    with process[0] as killed:
        assert killed.wait() == -signal.SIGKILL, killed.stderr and killed.stderr.read()
    assert calls.read_text() == "x"

    resumed = subprocess.run(
        [*command, "resume", str(out)], capture_output=True, text=True, check=False
    )
    assert resumed.returncode == 0, resumed.stderr
    assert calls.read_text() == "x"
    reader = open_run(out)
    (row,) = reader.items()
    (event,) = [e.data for e in reader.events(row.item) if e.kind == "node"]
    reader.close()
    assert event["replayed"]
    shown = [m["content"] for m in chat_server.requests[-1]["messages"] if m["role"] == "tool"]
    assert shown == [event["update"]["pending"][0]["content"]]
    assert row.status == "done"
