"""A trace in a real terminal: what leaves the app for the clipboard, a pager, and comes back."""

import base64
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.needs import needs_program
from support.ui.trace_app.lost_run import lost_run
from support.ui.trace_app.terminal import Terminal
from support.ui.trace_app.waiting import PATIENCE

COPIED = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)\x07")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return lost_run(tmp_path / "lost")


def test_a_copied_step_reaches_the_terminals_clipboard(run: Path) -> None:
    with Terminal("trace", run, "--question", "heat", "--step", 6) as terminal:
        terminal.wait_for("Ashley Judd")
        terminal.type("y")
        terminal.wait_until(lambda: COPIED.search(terminal._read) is not None)
        found = COPIED.search(terminal._read)
        assert found is not None
        text = base64.b64decode(found[1]).decode()
        assert "SELECT ?actor ?name WHERE" in text
        assert "Ashley Judd" in text
        terminal.type("qq")
        assert terminal.ended() == 0


def test_the_app_goes_on_where_no_pager_starts(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "/nowhere/pager")
    with Terminal("trace", run, "--question", "heat") as terminal:
        terminal.wait_for(": answer")
        terminal.type("o")
        terminal.wait_for("the pager '/nowhere/pager'")
        terminal.type("g")
        terminal.wait_for("step 0")
        terminal.type("qq")
        assert terminal.ended() == 0


def test_the_app_is_seen_where_standard_error_is_a_file(run: Path, tmp_path: Path) -> None:
    errors = tmp_path / "errors.txt"
    with Terminal("trace", run, "--question", "heat", errors=errors) as terminal:
        terminal.wait_for(": answer")
        terminal.type("qq")
        assert terminal.ended() == 0
    assert errors.read_bytes() == b""


def test_what_a_terminals_encoding_lacks_takes_one_cell(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii:backslashreplace")
    with Terminal("trace", run, "--question", "heat") as terminal:
        terminal.wait_for(": answer ? answer")
        terminal.type("qq")
        assert terminal.ended() == 0
        assert "\\u" not in terminal.output


@needs_program("less")
def test_a_part_is_read_in_less_and_the_app_comes_back(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", "less -r")
    with Terminal("trace", run, "--question", "heat") as terminal:
        terminal.wait_for(": answer")
        terminal.type("o")
        terminal.wait_for("(END)")
        terminal.type("\x03q")
        terminal.type("g")
        terminal.wait_for("step 0")
        terminal.type("qq")
        assert terminal.ended() == 0


def test_the_app_ends_where_its_terminal_is_closed_without_a_signal(run: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "branchwise", "trace", str(run)]
    environment = {**os.environ, "TERM": "xterm-256color"}
    # A session of its own that the terminal does not control: nobody is told that it is closed.
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    drawn = b""
    while b"Keys" not in drawn:
        drawn += os.read(ours, 65_536)
    os.close(ours)
    try:
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
