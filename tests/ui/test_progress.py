"""What a run prints while it goes."""

import pytest

from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.report.terminal import progress


def test_hostile_ids_and_errors_cannot_steer_the_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.console import Console

    monkeypatch.setattr(progress, "progress_console", lambda: Console(stderr=True))
    gold = (Branch(name="default", answers=(Answer(text="x"),)),)
    question = Question(id="q\x1b[2J\u202e[red]", question="Who?", branches=gold)
    with progress.RunProgress(1) as shown:
        shown.ended(question, {"error": "server: \x9b31m no"})
    said = capfd.readouterr().err
    assert "[red]: server:" in said
    assert "1/1 ended" in said
    assert all(line.isprintable() for line in said.splitlines())
