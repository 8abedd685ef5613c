"""Plug-ins in a process of the command line: what they print, how they hang, how they end it."""

import json
import subprocess
import sys
import threading

import pytest

from support.chat_server import call, say
from support.plugins.tool_cases import ANSWER, calls_once, write_questions, write_tools

pytestmark = pytest.mark.usefixtures("process")


@pytest.fixture
def command(monkeypatch, chat_server):
    """Runs the command line in a process of its own; ends it after ten minutes, which fails."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "branchwise", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return run


PRINTS = '''
print("at import")

@tool
def loud(word: str) -> str:
    """Prints."""
    print("to stdout")
    sys.stdout.write("written\\n")
    sys.stdout.buffer.write(b"bytes\\n")
    thread = threading.Thread(target=print, args=("from a thread",))
    thread.start()
    thread.join()
    return word
'''


def test_json_output_stays_json_whatever_is_printed(command, chat_server, tmp_path):
    chat_server.play([call("loud", word="x"), say(ANSWER)])
    path = write_tools(tmp_path, PRINTS)
    model = f"openai:scripted@{chat_server.url}"
    ended = command("ask", "Who?", "--model", model, "--tool", f"{path}:loud", "--json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["answers"] == {"default": ["Ann"]}
    assert "at import" in ended.stderr
    assert "from a thread" in ended.stderr


HANGS = '''
@tool(seconds=0.1)
def hangs(word: str) -> str:
    """Hangs."""
    if word == "hang":
        while True:
            with contextlib.suppress(BaseException):
                threading.Event().wait()
    return word

@tool(seconds=0.1)
async def swallows(word: str) -> str:
    """Hangs."""
    while word == "hang":
        with contextlib.suppress(BaseException):
            await asyncio.gather(asyncio.Event().wait())
    return word
'''


@pytest.mark.parametrize("name", ["hangs", "swallows"])
def test_a_hang_does_not_hold_the_end_of_the_process(name, command, chat_server, tmp_path):
    chat_server.play(calls_once(name, {"word": "hang"}, {"word": "a"}))
    path, questions = write_tools(tmp_path, HANGS), write_questions(tmp_path)
    model = f"openai:scripted@{chat_server.url}"
    # A process that waits for what hangs would never end: the fixture ends it, and fails.
    ended = command(
        *("run", "--questions", questions, "--model", model, "--tool", f"{path}:{name}"),
        *("--out", tmp_path / "run"),
    )
    assert ended.returncode == 0, ended.stderr
    assert "3" in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import sys\nsys.exit(0)\n", ":7: the plug-in cannot be imported: SystemExit: 0"),
        (
            "raise ValueError('bad\\nday')\n",
            ":6: the plug-in cannot be imported: ValueError: bad day",
        ),
        ("def f(:\n", ":6: the plug-in cannot be imported: SyntaxError"),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("@tool\ndef t(x) -> str:\n    'T.'\n", "the parameter 'x' of t has no annotation"),
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
    assert ended == 2
    assert out == ""
    assert line in error
    assert str(path) in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()
    assert chat_server.requests == []


HELD = {
    "a thread of the event loop's": '''
@tool(seconds=0.1)
async def held(word: str) -> str:
    """Hangs."""
    await asyncio.to_thread(threading.Event().wait)
''',
    "a pool of threads": '''
@tool(seconds=0.1)
def held(word: str) -> str:
    """Hangs."""
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor() as pool:
        return pool.submit(threading.Event().wait).result()
''',
    "a process": '''
@tool(seconds=0.1)
def held(word: str) -> str:
    """Hangs."""
    import multiprocessing
    child = multiprocessing.get_context("fork").Process(target=threading.Event().wait)
    child.start()
    child.join()
''',
}


@pytest.mark.parametrize("code", HELD.values(), ids=HELD)
def test_what_a_hanging_call_began_does_not_hold_the_end_either(code, command, tmp_path):
    path = write_tools(tmp_path, code)
    ended = command("tools", "try", f"{path}:held", "--args", '{"word": "x"}')
    assert ended.returncode == 1, ended.stderr
    assert "held: no result within 0.1 seconds" in ended.stdout


MOVES = '''
@tool
def moves(word: str) -> str:
    """Goes elsewhere."""
    import os, tempfile
    os.chdir(tempfile.mkdtemp())
    return word
'''


def test_a_tool_that_changes_the_working_directory_does_not_lose_the_run(
    command, chat_server, tmp_path, monkeypatch
):
    chat_server.play(calls_once("moves", {"word": "a"}, {"word": "b"}))
    path, questions = write_tools(tmp_path, MOVES), write_questions(tmp_path)
    monkeypatch.chdir(tmp_path)
    model = f"openai:scripted@{chat_server.url}"
    tool = f"{path}:moves"
    ended = command("run", "--questions", questions, "--model", model, "--tool", tool, "--out", "R")
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "R" / "run.sqlite").exists()


def test_a_process_that_goes_on_after_a_command_is_not_ended(type_in, tmp_path):
    path = write_tools(tmp_path, PRINTS)
    before = set(threading.enumerate())
    code, _, said = type_in("tools", "try", f"{path}:loud", "--args", '{"word": "x"}')
    assert code == 0, said
    begun = set(threading.enumerate()) - before
    assert not [thread for thread in begun if isinstance(thread, threading.Timer)]
