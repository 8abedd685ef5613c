"""What is shown while models are asked: before the first reply, and while none comes."""

from types import SimpleNamespace

import pytest

from branchwise.commands import scoring_progress
from branchwise.commands.scoring_progress import ScoringProgress


@pytest.fixture
def progress():
    shown = ScoringProgress()
    yield shown
    shown.close()


def test_a_terminal_shows_the_requests_before_any_is_answered(monkeypatch, capfd, progress):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    progress.requests("matcher", 0, 14)
    progress.close()
    shown = capfd.readouterr().err
    assert "asking the matcher" in shown
    assert "0/14" in shown


def test_elsewhere_a_line_comes_when_time_has_passed(monkeypatch, capfd, progress):
    clock = iter([100.0, 100.0, 109.9, 110.0, 119.9, 121.5])
    monkeypatch.setattr(scoring_progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    for done in (0, 0, 0, 3, 14):
        progress.requests("judge", done, 14)
    assert capfd.readouterr().err.splitlines() == [
        "asking the judge: 0 of 14 requests, 10 s",
        "asking the judge: 14 of 14 requests, 22 s",
    ]


def test_one_role_is_shown_after_the_other(monkeypatch, capfd, progress):
    monkeypatch.setattr(scoring_progress, "SECONDS_BETWEEN_LINES", 0.0)
    assert not progress.asked
    progress.requests("matcher", 0, 1)
    progress.requests("judge", 0, 2)
    assert progress.asked
    shown = capfd.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in shown] == [
        "asking the matcher: 0 of 1 request",
        "asking the judge: 0 of 2 requests",
    ]
