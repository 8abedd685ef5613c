"""Ctrl-C while a corpus is opened, before the first question: the run is there, and goes on."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import branchwise
from branchwise.base.errors import InputError
from branchwise.runs import experiment
from branchwise.runs.studies import running
from support.chat_server import ChatServer, search_then_answer


def interrupt(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Interrupts what is opened, until the returned function is called."""
    whole = experiment.make_agent
    monkeypatch.setattr(experiment, "make_agent", interrupt)
    return lambda: monkeypatch.setattr(experiment, "make_agent", whole)


@pytest.mark.slow
def test_the_run_is_there_and_resume_begins_it(
    interrupted: Callable[[], None],
    chat_server: ChatServer,
    make_system: Any,
    question_file: Any,
    tmp_path: Path,
) -> None:
    chat_server.play(search_then_answer)
    made = branchwise.run(str(question_file(3)), make_system(), out=tmp_path / "R", epochs=2)
    assert (made.state.stopped, made.state.done, made.state.pending) == ("interrupted", 0, 6)
    again = branchwise.resume(made.path)
    assert (again.state.stopped, again.state.pending) == ("interrupted", 6)
    interrupted()
    assert branchwise.resume(made.path).state.done == 6
    with closing(made.open()) as reader:
        meta = reader.meta
    other = branchwise.run(str(question_file(3)), make_system(), out=tmp_path / "S", epochs=2)
    with closing(other.open()) as reader:
        for key in ("identity", "system_digest", "system", "questions_digest"):
            assert meta[key] == reader.meta[key]


def test_it_is_refused_for_what_a_new_run_is_refused_for(
    interrupted: Callable[[], None], make_system: Any, question_file: Any, tmp_path: Path
) -> None:
    system = make_system().model_copy(update={"settings": {"nothing": {"k": 1}}})
    made = branchwise.run(str(question_file(1)), system, out=tmp_path / "R")
    interrupted()
    with pytest.raises(InputError, match="nothing"):
        branchwise.resume(made.path)


def test_the_command_says_how_to_go_on(
    interrupted: Callable[[], None],
    type_in: Any,
    chat_server: ChatServer,
    question_file: Any,
    tmp_path: Path,
) -> None:
    chat_server.play(search_then_answer)
    model, out = f"openai:scripted@{chat_server.url}", tmp_path / "R"
    code, _, err = type_in("run", "--questions", question_file(2), "--model", model, "--out", out)
    assert code == 1
    assert (
        err == f"Stopped: interrupted. Nothing is lost; continue with:\n  branchwise resume {out}\n"
    )
    assert type_in("report", out)[0] == 2
    interrupted()
    assert type_in("resume", out)[0] == 0


def test_a_pilots_folder_stays_as_it_is(
    chat_server: ChatServer,
    make_system: Any,
    question_file: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chat_server.play(search_then_answer)
    source, system = str(question_file(4)), make_system()
    branchwise.run(source, system, out=tmp_path / "R", pilot=2)
    with monkeypatch.context() as patched:
        patched.setattr(experiment, "make_agent", interrupt)
        made = branchwise.run(source, system, out=tmp_path / "R")
    assert (made.state.stopped, made.state.done, made.state.pending) == ("interrupted", 2, 2)
    assert branchwise.run(source, system, out=tmp_path / "R").state.done == 4


def test_a_study_says_how_to_go_on(
    type_in: Any, question_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question_file(2)
    study = tmp_path / "s.yaml"
    study.write_text("name: s\nquestions: questions.jsonl\nfactors: {max_turns: [2, 3]}\n")
    monkeypatch.setattr(running, "make_agents", interrupt)
    code, _, err = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 1
    assert err.startswith(
        "Stopped: interrupted. Nothing is lost; continue with:\n  branchwise ablate "
    )
