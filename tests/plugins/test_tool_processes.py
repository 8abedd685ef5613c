"""Plug-ins in a process of the command line: what they print, how they hang, how they end it."""

import json
import subprocess
import sys

import pytest

from support.chat_server import call, say
from support.plugins.tool_cases import ANSWER, calls_once, write_questions, write_tools

pytestmark = pytest.mark.usefixtures("process")


@pytest.fixture
def command(monkeypatch):
    """Runs the command line in a process of its own; ends it after ten minutes, which fails."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    def run(*arguments):
        words = [sys.executable, "-m", "branchwise", *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)

    return run


PRINTS = '''
print("at import")

@tool
def loud(word: str) -> str:
    """Prints."""
    print("to stdout")
    sys.stdout.buffer.write(b"bytes\\n")
    sys.stdout.flush()
    thread = threading.Thread(target=print, args=("from a thread",))
    thread.start()
    thread.join()
    return word
'''


@pytest.mark.long
def test_json_output_stays_json_whatever_is_printed(command, chat_server, tmp_path):
    chat_server.play([call("loud", word="x"), say(ANSWER)])
    path = write_tools(tmp_path, PRINTS)
    model = f"openai:scripted@{chat_server.url}"
    ended = command("ask", "Who?", "--model", model, "--tool", f"{path}:loud", "--json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["answers"] == {"default": ["Ann"]}
    for line in ("at import", "to stdout", "bytes", "from a thread"):
        assert line in ended.stderr


HANGS = '''
@tool(seconds=0.1)
def hangs(word: str) -> str:
    """Hangs."""
    if word == "hang":
        threading.Event().wait()
    return word
'''


@pytest.mark.long
def test_a_hang_does_not_hold_the_end_of_the_process(command, chat_server, tmp_path):
    chat_server.play(calls_once("hangs", {"word": "hang"}, {"word": "a"}))
    path = write_tools(tmp_path, HANGS)
    # A process that waits for what hangs would never end: the fixture ends it, and fails.
    ended = command(
        *("run", "--questions", write_questions(tmp_path), "--tool", f"{path}:hangs"),
        *("--model", f"openai:scripted@{chat_server.url}", "--out", tmp_path / "run"),
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import sys\nsys.exit(0)\n", ":7: the plug-in cannot be imported: SystemExit: 0"),
        ("def f(:\n", ":6: the plug-in cannot be imported: SyntaxError"),
        ("@tool\ndef t(x: int) -> str:\n    return ''\n", "t has no docstring"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_one_line_before_any_work(
    code, line, type_in, chat_server, tmp_path
):
    path, questions = write_tools(tmp_path, code), write_questions(tmp_path)
    model = f"openai:scripted@{chat_server.url}"
    ended, out, error = type_in(
        *("run", "--questions", questions, "--model", model, "--tool", f"{path}:t"),
        *("--out", tmp_path / "run"),
    )
    assert (ended, out) == (2, "")
    assert line in error
    assert str(path) in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()
    assert chat_server.requests == []
