"""What Python shows of runs, scores, comparisons and traces, on the recorded runs."""

import shutil
import sys
from pathlib import Path

import pytest

import branchwise
from branchwise.base.errors import InputError
from branchwise.results import ComparedRuns, RunResult, ScoreResult

RECORDED = Path(__file__).parents[1] / "examples" / "recorded"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def compared() -> ComparedRuns:
    return branchwise.compare(RECORDED / "base", RECORDED / "kg")


@pytest.fixture
def scores(tmp_path: Path) -> ScoreResult:
    shutil.copytree(RECORDED / "base", tmp_path / "base")
    return branchwise.score(tmp_path / "base")


def test_scores_are_short_in_a_shell(scores: ScoreResult) -> None:
    lines = repr(scores).splitlines()
    assert len(lines) < 15
    assert max(map(len, lines)) <= 100
    assert lines[-1] == "16 items, 16 answered, 0 failed"
    [row] = [line.split() for line in lines if line.startswith("all ")]
    assert row == ["all", "16", "1.00", ".97", ".81"]


def test_scores_are_rows_and_a_data_frame(scores: ScoreResult) -> None:
    rows = scores.rows()
    assert len(rows) == 16
    assert list(rows[0])[:4] == ["id", "epoch", "question", "ambiguous"]
    (first,) = [row for row in rows if row["id"] == "movie-91-0001"]
    assert first["question"].startswith("Which cities that are the birthplaces of actors")
    frame = scores.to_pandas()
    assert frame["strict_recall"].mean() == pytest.approx(scores.mean("strict_recall", "all").mean)
    assert frame.groupby("meta.steps").size().sum() == 16
    assert frame.groupby("ambiguous").size().to_dict() == {True: 10, False: 6}


def test_without_pandas_one_line_says_what_to_install(
    scores: ScoreResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"needs pandas, .*; pip install 'branchwise\[notebook\]'"):
        scores.to_pandas()


def test_runs_are_compared_with_the_first(compared: ComparedRuns) -> None:
    found = compared.difference("strict_recall")
    # What `base` lacks and `kg` has: 2 of 41, 1 of 3 and 1 of 13 answers of three questions.
    assert found.difference == pytest.approx((2 / 41 + 1 / 3 + 1 / 13) / 16)
    assert str(found).startswith("strict recall on all questions +.03 [")
    assert {row["run"] for row in compared.rows()} == {"kg"}
    assert {row["against"] for row in compared.to_pandas().to_dict("records")} == {"base"}
    assert "changes against base" in repr(compared)
    assert max(map(len, repr(compared).splitlines())) <= 100


def test_what_was_not_compared_is_one_line(compared: ComparedRuns) -> None:
    for call, said in (
        (lambda: compared.difference("recal"), "'recal' on 'all' is not compared; did you mean "),
        (lambda: compared.difference("strict_recall", run="x"), "run: 'x' is not compared; one"),
        (lambda: branchwise.compare("base"), "compare needs two runs; branchwise.compare("),
        (lambda: branchwise.compare(RECORDED, RECORDED), "is not a run folder"),
    ):
        with pytest.raises(InputError) as raised:
            call()
        assert said in str(raised.value)
        assert "\n" not in str(raised.value)


def test_tables_in_a_notebook_escape_names(tmp_path: Path) -> None:
    for name in ("base", "kg"):
        shutil.copytree(RECORDED / name, tmp_path / f"<b>{name}")
    page = branchwise.compare(tmp_path / "<b>base", tmp_path / "<b>kg")._repr_html_()
    assert page.count("<table>") == page.count("<caption>") == 2
    assert "&lt;b&gt;kg" in page
    assert "<b>" not in page


def test_a_run_says_how_it_ended_and_shows_a_trace(tmp_path: Path) -> None:
    questions = tmp_path / "q.jsonl"
    questions.write_text('{"id": "<i>q", "question": "Who <b>sang</b>?", "answers": ["A"]}\n')
    run = branchwise.run(str(questions), branchwise.System(tools=()), out=tmp_path / "R")
    assert repr(run) == f"<Run {tmp_path / 'R'}: 1 done, 0 failed>"
    assert isinstance(branchwise.resume(run.path), RunResult)
    trace = run.trace("<i>q")
    assert repr(trace).startswith("0  question  Who <b>sang</b>?")
    page = trace._repr_html_()
    assert page.count("<details") == len(trace.trace.steps)
    assert "<b>" not in page
    with pytest.raises(InputError, match="no item has the id 'q'"):
        run.trace("q")
