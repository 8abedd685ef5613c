"""Runs that Python starts, as a notebook does."""

from typing import Any

import pytest

import branchwise
from branchwise.corpora.questions import Question
from branchwise.runs.experiment import run
from branchwise.runs.runner import Silent
from support.chat_server import ChatServer, say

SAID = '{"reasoning": "r", "answers": {"default": ["Michael Mann"]}}'


def test_a_run_from_python_has_progress_and_a_limit(
    chat_server: ChatServer, make_system: Any, question_file: Any, tmp_path: Any, capfd: Any
) -> None:
    chat_server.play(lambda body: say(SAID))
    source = str(question_file(5))
    made = branchwise.run(source, make_system(), out=tmp_path / "R", limit=2, progress=True)
    assert (made.state.done, made.state.pending, made.state.here) == (2, 0, 2)
    assert "2/2 ended" in capfd.readouterr().err
    again = branchwise.resume(made.path)
    assert (again.state.done, again.state.failed, again.state.here) == (2, 0, 0)


def test_asking_from_python_gives_the_answer(chat_server, make_system, capfd):
    chat_server.play(lambda body: say(SAID))
    outcome = branchwise.ask("Who directed Heat?", make_system())
    assert outcome.prediction.answers == {"default": ("Michael Mann",)}
    assert capfd.readouterr().out == ""


class FirstEnd(Silent):
    """Notes how many requests had come when the first question ended."""

    def __init__(self, server: ChatServer) -> None:
        self._server, self.requests = server, 0

    def ended(self, question: Question, record: dict[str, Any]) -> None:
        self.requests = self.requests or len(self._server.requests)


@pytest.mark.slow
def test_the_first_of_many_at_once_end_before_the_last_begin(
    chat_server: ChatServer, make_system: Any, question_file: Any, tmp_path: Any
) -> None:
    chat_server.play(lambda body: say(SAID))
    first = FirstEnd(chat_server)
    source = str(question_file(300))
    made = run(source, make_system(), out=tmp_path / "R", concurrency=300, observer=first)
    assert made.state.done == 300
    assert first.requests < 300
