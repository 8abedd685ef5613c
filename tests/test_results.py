"""What Python shows of runs, scores, comparisons and traces, on the recorded runs."""

import inspect
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import branchwise
from branchwise import metric
from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.compared import ComparedRuns
from branchwise.eval.items import AnsweredItem
from branchwise.graphs.state import Spent
from branchwise.results import AskResult, RunResult, ScoreResult
from branchwise.runs.store import open_run as open_store

Cli = Callable[..., tuple[int, str, str]]
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
    means = "strict P .97, strict R .65, strict EM .25"
    assert repr(scores) == f"<Scores of 24 items, 24 answered, 0 failed: {means}>"
    lines = str(scores).splitlines()
    assert len(lines) < 15
    assert max(map(len, lines)) <= 100
    assert lines[-1] == "24 items, 24 answered, 0 failed"
    [row] = [line.split() for line in lines if line.startswith("ambiguous ")]
    assert row == ["ambiguous", "24", ".97", ".65", ".25"]


def test_scores_are_rows_and_a_data_frame(scores: ScoreResult) -> None:
    rows = scores.rows()
    assert len(rows) == 24
    assert list(rows[0])[:4] == ["id", "epoch", "question", "ambiguous"]
    questions = {q.id: q for q in branchwise.load_questions(RECORDED / "questions.jsonl")}
    with closing(open_store(RECORDED / "base")) as store:
        assert [row["id"] for row in rows] == [question.id for question in store.questions()]
    assert {row["id"] for row in rows} == {*questions}
    assert rows[0]["gold"][0] == questions[rows[0]["id"]].branches[0].answers[0].text
    (first,) = [row for row in rows if row["id"] == "movie-558-0001"]
    assert first["question"].startswith("Which cities are in a country with Pénvik as its capital")
    frame = scores.to_pandas()
    assert frame["strict_recall"].mean() == pytest.approx(scores.mean("strict_recall", "all").mean)
    assert frame.groupby("meta.steps").size().sum() == 24
    assert frame.groupby("ambiguous").size().to_dict() == {True: 24}


@metric
def says_wrong(item: AnsweredItem) -> float:
    """Whether a known wrong answer was given."""
    return float(item.question.meta["wrong" if "sports" in item.question.id else "domain"] != "")


def test_a_metric_of_ones_own_says_where_it_failed(tmp_path: Path, type_in: Cli) -> None:
    for name in ("base", "kg"):
        shutil.copytree(RECORDED / name, tmp_path / name)
    first, other = tmp_path / "base", tmp_path / "kg"
    with pytest.warns(UserWarning, match="says_wrong failed on 4 of 24 items"):
        scores = branchwise.score(first, metrics=says_wrong)
    line = inspect.getsourcelines(says_wrong.function)[1] + 3
    id = next(row.id for row in scores.items if "sports" in row.id)
    why = f"KeyError: 'wrong', test_results.py:{line}"
    told = f"says_wrong failed on 4 of 24 items (the first: question {id}: {why})"
    assert repr(scores.failures) == told
    assert repr(scores).splitlines()[1] == told
    assert "says wrong 1.00" in repr(scores)
    assert str(scores).splitlines()[-1] == told
    assert "says wrong" in str(scores)
    assert re.search(r"n=20\b", str(scores))
    assert "says_wrong failed on 4 of 24 items" in scores._repr_html_()
    compared = branchwise.compare(first, other, metrics=[says_wrong])
    assert compared.difference("says_wrong").n == 20
    for shown in (repr(compared), str(compared), compared._repr_html_()):
        assert "kg: says_wrong failed on 4 of 24 items" in shown
    spec = tmp_path / "own.py"
    head = "from branchwise import metric\n\n\n"
    spec.write_text(head + inspect.getsource(says_wrong.function).replace(": AnsweredItem", ""))
    html, latex, markdown = (tmp_path / f"r.{end}" for end in ("html", "tex", "md"))
    files = ("--html", html, "--latex", latex, "--markdown", markdown)
    type_in("report", first, other, "--metric", f"{spec}:says_wrong", *files)
    for file in (html, latex, markdown):
        assert re.search(r"base: says.*wrong failed on 4 of 24 items", file.read_text()), file
    _, out, _ = type_in("report", first, other, "--metric", f"{spec}:says_wrong")
    assert "base: says_wrong failed on 4 of 24 items" in out


def test_a_metric_that_failed_everywhere_has_no_mean(scores: ScoreResult, tmp_path: Path) -> None:
    @metric
    def never(item: AnsweredItem) -> float:
        """Nothing."""
        return 1 / 0

    with pytest.warns(UserWarning, match="never failed on 24 of 24 items"):
        scores = branchwise.score(tmp_path / "base", metrics=[never])
    assert "never –" in repr(scores)
    [row] = [line.split() for line in str(scores).splitlines() if line.startswith("ambiguous ")]
    assert row[-1] == "–"


def test_without_pandas_one_line_says_what_to_install(
    scores: ScoreResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"needs pandas, .*; pip install 'branchwise\[notebook\]'"):
        scores.to_pandas()


def test_runs_are_compared_with_the_first(compared: ComparedRuns) -> None:
    found = compared.difference("strict_recall")
    # What `base` lacks and `kg` has: answers of 17 of the 24 questions.
    lost = 3 / 5 + 5 / 9 + 7 / 27 + 32 / 42 + 12 / 22 + 11 / 31 + 16 / 29 + 21 / 44 + 16 / 44
    lost += 6 / 9 + 4 / 30 + 5 / 10 + 11 / 26 + 15 / 24 + 14 / 41 + 12 / 17 + 11 / 20
    assert found.difference == pytest.approx(lost / 24)
    assert str(found) == "strict recall on all questions +.35 [.24, .46] (p < .001, n = 24)"
    assert {row["run"] for row in compared.rows()} == {"kg"}
    assert {row["against"] for row in compared.to_pandas().to_dict("records")} == {"base"}
    first, line = repr(compared).splitlines()
    assert first == "<Comparison with base>"
    assert line.startswith("kg: strict recall on all questions +.35 [")
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


def test_a_printed_trace_says_what_was_lost(tmp_path: Path) -> None:
    shutil.copytree(RECORDED / "base", tmp_path / "base")
    scores = branchwise.score(tmp_path / "base")
    lost = next(item.id for item in scores.items if item.metrics["strict_recall"] != 1)
    trace = branchwise.open_run(tmp_path / "base").trace(lost)
    told = str(trace).partition("\nlost\n")[2].splitlines()
    missing = [a for b in trace.trace.branches for a in b.gold if a.verdict != "right"]
    assert told == [f"  {answer.text}: {answer.why}" for answer in missing]
    assert told


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


@pytest.fixture(scope="module")
def factorial(tmp_path_factory: pytest.TempPathFactory) -> ComparedRuns:
    folder = tmp_path_factory.mktemp("factorial")
    rows = [{"id": id, "question": f"Who sang {id}?", "answers": ["A"]} for id in ("q", "r")]
    factors = {"expansion": ("off", "on"), "temperature": [0.0, 1.0]}
    study = {"name": "s", "questions": branchwise.load_questions(rows), "design": "factorial",
             "base": {"corpus": None, "tools": []}, "factors": factors}  # fmt: skip
    made = branchwise.ablate(study, out=folder / "S")
    assert isinstance(made, ComparedRuns)
    study["questions"] = rows
    assert branchwise.ablate(study, out=folder / "S").rows() == made.rows()
    return made


def test_a_factorial_study_shows_its_effects(factorial: ComparedRuns, tmp_path: Path) -> None:
    assert "effect of +expansion on strict recall: ±.00 [.00, .00] (" in repr(factorial)
    for shown in (str(factorial), factorial._repr_html_(), str(factorial.effects)):
        assert "ffects of the factors" in shown
    rows = factorial.to_pandas()
    assert set(rows.subset) == {"all", "unambiguous"}
    assert set(rows.expansion.dropna()) == {"+expansion"}
    assert set(rows.left_out) == {0}
    frame = factorial.effects.to_pandas()
    both = frame[(frame.metric == "strict_recall") & (frame.order == 2)]
    assert list(both.difference) == [0.0] * len(both)
    assert len(both) >= 1
    assert "booktabs" in factorial.latex("effects")
    figure = factorial.figure("effects")
    assert figure.save(tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")
    assert figure._repr_png_().startswith(b"\x89PNG")
    for call, said in (
        (lambda: factorial.figure("effect"), "did you mean effects?"),
        (lambda: factorial.latex("efects"), "did you mean effects?"),
        (lambda: figure.save(tmp_path / "e.gif"), "end it in .svg, .pdf"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            call()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"factors": {"expansio": [1, 2]}}, "factors.expansio: unknown factor"),
        ({"question": "q"}, "question: unknown key 'question'"),
        ({"questions": [{"id": "q"}]}, "questions.source: questions: lacks"),
    ],
)
def test_a_study_that_is_no_file_names_the_place(changed: dict[str, Any], said: str) -> None:
    study = {"name": "s", "questions": "q.jsonl", "factors": {"expansion": ["off", "on"]}}
    with pytest.raises(InputError) as raised:
        branchwise.ablate({**study, **changed}, out="S")
    assert said in str(raised.value)


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
