"""Forking a step from the app, on the scripted server."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from branchwise.base.errors import InputError
from branchwise.runs.store import open_run as open_reader
from branchwise.ui.trace_app import fork_screen, forking
from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.trace_app.compare_screen import CompareScreen
from branchwise.ui.trace_app.fork_screen import ForkScreen, ToolBox
from branchwise.ui.trace_app.forking import ForkPlan, plan_fork
from branchwise.ui.trace_app.pairs import StepPairs
from branchwise.ui.trace_app.terminal import editor_command
from branchwise.ui.trace_app.trace_screen import TraceScreen
from branchwise.ui.traces.runs import RunView
from support.chat_server import ChatServer, fail, hang
from support.ui.trace_app.forked_runs import answering, bytes_of, make_corpus, parent_run
from support.ui.trace_app.screen_text import check_frame, screen_text
from support.ui.trace_app.terminal import Terminal
from support.ui.trace_app.waiting import driven, until

LEAVE = "\x11"
"""ctrl+q: quits from every screen."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def parent(
    tmp_path: Path, chat_server: ChatServer, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RunView]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setattr(forking, "_unended", {})  # which is told when this process ends
    view = RunView.open(parent_run(tmp_path / "parent", chat_server, corpus))
    yield view
    view.close()


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes $EDITOR a program of these lines of Python, which have the file's `path`."""

    def write(lines: str) -> None:
        script = tmp_path / "editor.py"
        script.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[-1])\n{lines}\n")
        monkeypatch.setenv("EDITOR", f"'{sys.executable}' '{script}'")

    monkeypatch.delenv("VISUAL", raising=False)
    return write


async def asked(pilot: Pilot[None], step_key: str = "") -> ForkScreen:
    """The fork dialog of the selected step, with its form."""
    await until(pilot, lambda: isinstance(pilot.app.screen, TraceScreen))
    screen = pilot.app.screen
    assert isinstance(screen, TraceScreen)
    await until(pilot, lambda: screen.step is not None)
    await pilot.press("f")
    await until(pilot, lambda: bool(pilot.app.screen.query("#fork-folder")))
    await until(pilot, lambda: isinstance(pilot.app.focused, Input))
    await until(pilot, lambda: pilot.app.screen.whole)
    assert isinstance(pilot.app.screen, ForkScreen)
    return pilot.app.screen


async def forked(pilot: Pilot[None]) -> RunView:
    """Submit the dialog; the fork when it has ended, beside its parent."""
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, CompareScreen))
    app = pilot.app
    assert isinstance(app, TraceApp)
    fork = app.runs[-1]
    await until(pilot, lambda: fork.line(0).status in ("done", "failed"))
    await until(pilot, lambda: "has ended" in screen_text(app))
    return fork


def at(run: RunView, step: int) -> TraceApp:
    return TraceApp([run], start=OpenQuestion("heat", step=step))


def forks_in(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*fork*")]


def said(screen: ForkScreen) -> str:
    return str(screen.query_one("#fork-note", Static).content)


async def test_the_dialog_says_what_is_run_again_and_with_what(
    parent: RunView, size: tuple[int, int], tmp_path: Path
) -> None:
    async with driven(at(parent, 3), size) as (app, pilot):
        await asked(pilot)
        text = screen_text(app)
        assert "Fork parent, heat from step 3" in text
        assert "runs step 3 again (turn 2: 1 call) and the 3 steps after it" in text
        assert "X▌ local_retriever" in text
        assert " ▌ wikisparql" in text
        folder = app.screen.query_one("#fork-folder", Input).value
        assert folder == str(tmp_path / "parent-fork-heat-s3")
        check_frame(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, TraceScreen))
    assert forks_in(tmp_path) == []


async def test_a_fork_with_another_model_stands_beside_its_parent(
    parent: RunView, size: tuple[int, int], chat_server: ChatServer
) -> None:
    app, before = at(parent, 3), bytes_of(parent.path)
    asked_before = len(chat_server.requests)
    async with app.run_test(size=size, notifications=True) as pilot:
        screen = await asked(pilot)
        screen.query_one("#fork-model", Input).value = f"openai:better@{chat_server.url}"
        fork = await forked(pilot)
        text = screen_text(app)
        assert "fork of parent" in text
        assert "P 1.00 R .50 EM .00" in text
        assert "P 1.00 R 1.00 EM 1.00" in text
        steps = app.screen.query_one(StepPairs)
        assert [pair.same for pair in steps.compared.pairs] == [True] * 5 + [False] * 2
        assert steps.side == 1
        check_frame(app)
        await pilot.press("q", "q")
        await until(pilot, lambda: "fork of parent" in screen_text(app))
        assert app.runs == [parent, fork]
    # The turns behind the fork alone were asked for, and of the other model.
    assert [body["model"] for body in chat_server.requests[asked_before:]] == ["better"] * 2
    assert {
        name: digest for name, digest in bytes_of(parent.path).items() if name in before
    } == before
    reader = open_reader(fork.path)
    assert reader.meta["fork"]["run"] == "parent"
    reader.close()


async def test_the_fork_is_followed_while_it_runs(parent: RunView, chat_server: ChatServer) -> None:
    app = at(parent, 3)
    chat_server.play(lambda body: hang())
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await asked(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        steps = app.screen.query_one(StepPairs)
        await until(pilot, lambda: len([p for p in steps.compared.pairs if p.b]) == 3)
        assert steps.compared.parted is None
        assert "pending" in screen_text(app) or "running" in screen_text(app)
        assert steps.step is not None
        assert steps.step.seq == 2
        chat_server.release()
        await until(pilot, lambda: app.runs[-1].line(0).status == "done")
        await until(pilot, lambda: steps.compared.parted == 3)


async def test_tools_are_chosen(parent: RunView, chat_server: ChatServer) -> None:
    app = at(parent, 0)
    before = len(chat_server.requests)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        screen = await asked(pilot)
        box = next(box for box in screen.query(ToolBox) if box.tool == "local_retriever")
        box.focus()
        await pilot.press("space")
        assert " ▌ local_retriever" in screen_text(app)
        fork = await forked(pilot)
        assert [step.kind for step in fork.trace(0).steps] == ["start", "model", "answer"]
    assert "tools" not in chat_server.requests[before]


async def test_an_edited_text_takes_the_place_of_the_steps_own(
    parent: RunView, chat_server: ChatServer, editor: Callable[[str], None]
) -> None:
    editor("path.write_text(path.read_text().replace('Heat 1', 'Heat by Dick Richards'))")
    async with driven(at(parent, 3), notifications=True) as (app, pilot):
        await asked(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "edited, " in screen_text(app))
        assert "goes on after step 3 (turn 2: 1 call), with your text there" in " ".join(
            re.sub(r"[│╭╮]", " ", screen_text(app)).split()
        )
        fork = await forked(pilot)
        events = fork.trace(0).events
        assert events[3].data["tool_calls"][0]["args"] == {"query": "Heat by Dick Richards"}
        assert "Heat (1986 film)" in events[4].data["content"]


async def test_an_editor_that_fails_is_one_line_in_the_dialog(
    parent: RunView, editor: Callable[[str], None]
) -> None:
    failures = {
        "sys.exit(3)": "ended with 3: nothing is changed",
        "path.unlink()": "cannot be read",
        "path.write_bytes(bytes([255]))": "not UTF-8",
    }
    async with driven(at(parent, 3)) as (app, pilot):
        screen = await asked(pilot)
        for lines, message in failures.items():
            editor(lines)
            await pilot.press("ctrl+o")
            await until(pilot, lambda said_of=message: said_of in said(screen))
            assert "as it was" in screen_text(app)


def test_the_editor_is_visual_before_editor_before_vi() -> None:
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "ed"}) == ["code", "--wait"]
    assert editor_command({"VISUAL": " ", "EDITOR": "'my ed' -x"}) == ["my ed", "-x"]
    assert editor_command({}) == ["vi"]
    with pytest.raises(InputError, match="EDITOR is not a command"):
        editor_command({"EDITOR": "ed '"})


async def test_bad_input_is_one_line_in_the_dialog(parent: RunView, tmp_path: Path) -> None:
    bad = [
        ("#fork-model", "gpt 5", "unknown model 'gpt 5'"),
        ("#fork-model", "", "unknown model ''"),
        ("#fork-model", "replay:nowhere", "nowhere"),
        ("#fork-folder", f"{tmp_path}/parent", "already exists"),
        ("#fork-folder", f"{tmp_path}/questions.jsonl/x", "name another folder above"),
    ]
    async with driven(at(parent, 3)) as (app, pilot):
        screen = await asked(pilot)
        for field, value, message in bad:
            before = screen.query_one(field, Input).value
            screen.query_one(field, Input).value = value
            await pilot.press("enter")
            await until(pilot, lambda said_of=message: said_of in said(screen))
            assert "\n" not in said(screen)
            assert "with --out" not in said(screen)
            assert app.screen is screen
            check_frame(app)
            screen.query_one(field, Input).value = before
    assert forks_in(tmp_path) == []


@pytest.mark.parametrize(
    ("status", "message", "lines"),
    [
        (403, "no such key", ["branchwise resume", "403 no such"]),
        # The step beside its parent's is read again after the failure was told.
        (
            400,
            "the [bold]prompt[/] is refused",
            ["parent-fork-heat-s3 failed", "400 the [bold]prompt[/] is ref…"],
        ),
    ],
)
async def test_a_fork_that_stops_or_fails_says_so(
    parent: RunView, chat_server: ChatServer, status: int, message: str, lines: list[str]
) -> None:
    app = at(parent, 3)
    chat_server.play(lambda body: fail(status, message))
    async with app.run_test(size=(200, 60), notifications=True) as pilot:
        await asked(pilot)
        await pilot.press("enter")
        for line in lines:
            await until(pilot, lambda shown=line: shown in screen_text(app))
        assert isinstance(app.screen, CompareScreen)


async def test_a_dialog_that_was_left_runs_nothing(
    parent: RunView, chat_server: ChatServer, tmp_path: Path
) -> None:
    app = at(parent, 3)
    before = len(chat_server.requests)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        screen = await asked(pilot)
        screen.action_submit()
        screen.action_leave()
        # On the screen it may be wrapped anywhere: it begins with a path.
        said = "was made, and not run"
        await until(pilot, lambda: any(said in one.message for one in app._notifications))
        assert app.runs == [parent]
    assert len(chat_server.requests) == before
    assert forks_in(tmp_path) == ["parent-fork-heat-s3"]


async def test_a_step_of_the_comparison_is_forked_from_its_side(
    parent: RunView, chat_server: ChatServer
) -> None:
    async with driven(at(parent, 3), notifications=True) as (app, pilot):
        await asked(pilot)
        first = await forked(pilot)
        await pilot.press("home", "f")
        await until(pilot, lambda: bool(app.screen.query("#fork-folder")))
        assert f"Fork {first.name}" in screen_text(app)


def test_quitting_while_a_fork_runs_is_not_held_up_and_resume_completes_it(
    parent: RunView, chat_server: ChatServer, type_in: Callable[..., tuple[int, str, str]]
) -> None:
    chat_server.play(lambda body: hang())
    before = len(chat_server.requests)
    with Terminal("trace", parent.path, "--question", "heat", "--step", "3") as terminal:
        terminal.wait_for("turn 2")
        terminal.type("f")
        terminal.wait_for("enter makes the fork")
        terminal.type("\r")
        terminal.wait_until(lambda: len(chat_server.requests) > before)
        terminal.type(LEAVE)
        assert terminal.ended() == 0
        fork = parent.path.with_name("parent-fork-heat-s3")
        assert f"branchwise resume {fork}" in terminal.output
    chat_server.play(answering)
    code, _, said = type_in("resume", fork)
    assert code == 0, said
    reader = open_reader(fork)
    assert reader.progress()["done"] == 1
    reader.close()


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Set when the whole plan may be known."""
    made = Event()

    def plan_later(*given: Any) -> ForkPlan:
        assert made.wait(60)
        return plan_fork(*given)

    monkeypatch.setattr(fork_screen, "plan_fork", plan_later)
    return made


async def test_the_form_is_there_before_the_agent_and_enter_waits_for_it(
    parent: RunView, known: Event
) -> None:
    async with driven(at(parent, 3), notifications=True) as (app, pilot):
        await until(pilot, lambda: "step 3" in screen_text(app))
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.focused, Input))
        text = screen_text(app)
        assert "runs step 3 again (turn 2: 1 call) and the 3 steps after it" in text
        assert "X▌ local_retriever" in text
        assert "wikisparql" not in text
        assert "reading what may be changed" in text
        await pilot.press("ctrl+o")
        app.screen.query_one(ToolBox).focus()
        await pilot.press("space", "space", "space")
        known.set()
        await until(pilot, lambda: "wikisparql" in screen_text(app))
        assert " ▌ local_retriever" in screen_text(app), "what was chosen meanwhile stays"
        await pilot.press("space")
        await forked(pilot)


async def test_an_enter_before_the_form_is_whole_makes_the_fork_then(
    parent: RunView, known: Event
) -> None:
    async with driven(at(parent, 3), notifications=True) as (app, pilot):
        await until(pilot, lambda: "step 3" in screen_text(app))
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press("enter")
        assert isinstance(app.screen, ForkScreen)
        known.set()
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
