"""A study's folder in the place of a run: the message names its runs."""

from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.runs.forks import make_fork
from branchwise.runs.store import RunSpec, create_run
from branchwise.runs.store.recordings import open_recordings


def test_a_fork_or_a_replay_of_a_study_names_its_runs(tmp_path: Path) -> None:
    question = Question(
        id="q", question="?", branches=(Branch(name="default", answers=(Answer(text="x"),)),)
    )
    for name in ("base", "a b", "c", "d", "e", "f"):
        path = tmp_path / "study" / "runs" / name
        create_run(path, RunSpec("branches", "s", "d", {}, {}, "x", 1, "0"), [question])
    with pytest.raises(InputError) as forked:
        make_fork(tmp_path / "study", "q", 0)
    with pytest.raises(InputError) as replayed:
        open_recordings(tmp_path / "study")
    assert str(forked.value) == str(replayed.value)
    assert "is not a run folder; name one of its runs: " in str(forked.value)
    assert f"{tmp_path}/study/runs/base, " in str(forked.value)
    assert str(forked.value).endswith("/study/runs/e and 1 more")
