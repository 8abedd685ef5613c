"""What Python shows of runs, scores, comparisons and traces, on the recorded runs."""

import re
import shutil
import sys
from pathlib import Path

import pytest

import branchwise
from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.graphs.state import Spent
from branchwise.results import AskResult, ComparedRuns, RunResult, ScoreResult

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
    means = "strict P 1.00, strict R .97, strict EM .81"
    assert repr(scores) == f"<Scores of 16 items, 16 answered, 0 failed: {means}>"
    lines = str(scores).splitlines()
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
    first, line = repr(compared).splitlines()
    assert first == "<Comparison with base>"
    assert line.startswith("kg: strict recall on all questions +.03 [")
    assert "changes against base" in str(compared)
    assert max(map(len, str(compared).splitlines())) <= 100


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
    assert repr(trace) == "<Trace <i>q of R: 3 steps, 0 of 1 gold answers found>"
    assert str(trace).startswith("0  question  Who <b>sang</b>?")
    page = trace._repr_html_()
    assert page.count("<details") == 1 + len(trace.trace.steps)
    assert "Who &lt;b&gt;sang&lt;/b&gt;?" in page
    assert "Who &lt;b&gt;sang&lt;/b&gt;?" in run._repr_html_()
    for shown in (page, run._repr_html_()):
        assert not {"<b>", "<i>", "<script"} & set(re.findall(r"<\w+>?", shown))
    with pytest.raises(InputError, match="no item has the id 'q'"):
        run.trace("q")


HOSTILE = "<script>x</script>\x1b[2J\u202e"


def outcome(answers: dict[str, tuple[str, ...]], how: str = "strict") -> AskResult:
    prediction, spent = Prediction(answers=answers), Spent(2, 1, 1_234)
    problem = "no JSON object" if how == "failed" else None
    return AskResult(prediction, how, problem, ("p1",), spent, 0.25, question=HOSTILE)


def test_what_was_asked_is_a_few_lines() -> None:
    took = "2 turns, 1 tool call, 1,234 tokens, 0.2 s"
    assert repr(outcome({"1933": ("A", "B"), "2005": ()})) == (
        f"1933: A; B\n2005: (none)\nstrict, {took}"
    )
    lines = repr(outcome({f"{n}{HOSTILE}": ("x" * 300,) for n in range(9)})).splitlines()
    assert len(lines) == 6
    assert lines[4:] == ["... and 5 more branches (prediction.answers)", f"strict, {took}"]
    assert all(line.isprintable() and len(line) <= 100 for line in lines)
    assert repr(outcome({}, "failed")) == f"no answer\nfailed: no JSON object, {took}"


def test_what_was_asked_is_a_table_in_a_notebook() -> None:
    page = outcome({HOSTILE: (HOSTILE, "B")})._repr_html_()
    assert page.count("<table>") == 1
    assert "<script" not in page
    assert page.count("&lt;script&gt;x&lt;/script&gt;␛[2J⟨U+202E⟩") == 3
    assert "no answer" in outcome({})._repr_html_()


def test_a_study_is_compared_with_its_base(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "q", "question": "Who sang?", "answers": ["A"]}\n')
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: s\nquestions: q.jsonl\nbase: {corpus: null, tools: []}\n"
        "factors: {expansion: [off, on]}\n"
    )
    for _ in range(2):  # the second goes on with what has ended
        made = branchwise.ablate(study, out=tmp_path / "S")
        assert list(made.comparisons) == ["+expansion"]
        assert repr(made).splitlines()[0] == "<Comparison with base>"
    with pytest.raises(InputError, match="no such file"):
        branchwise.ablate(tmp_path / "other.yaml")
