"""Metrics as plug-ins: a column like any other, and no score is harmed by what they do."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from branchwise import score
from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.comparison import compare
from branchwise.eval.items import AnsweredItem
from branchwise.eval.plugin_metrics import MetricPlugin, load_metrics, metric, metrics_of
from branchwise.eval.scores import Scorer, Scores, score_items
from branchwise.eval.scoring_choice import BY_NAMES
from branchwise.eval.tasks import get_task
from branchwise.graphs.system import System
from branchwise.runs.experiment import run
from branchwise.runs.store import RunSpec, RunStore, create_run, open_run

HEAD = "import threading\nfrom branchwise import metric\n"
TEXTS = '''
@metric(heading="texts\\nsaid", digits=1)
def texts(item):
    """How many texts were predicted."""
    return sum(len(branch) for branch in item.prediction.answers.values()) or None
'''

Write = Callable[..., str]
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a plug-in's file; returns the spec of what `name` names in it."""

    def _write(body: str, name: str = "found", file: str = "metrics.py") -> str:
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + body)
        return f"{path}:{name}"

    return _write


def returning(expression: str, seconds: float = 20) -> str:
    """A metric that is an expression over `item`."""
    head = f'\n@metric(seconds={seconds})\ndef found(item):\n    """Test."""\n'
    return f"{head}    return {expression}\n"


def question(id: str) -> Question:
    branch = Branch(name="default", answers=(Answer(text="A"), Answer(text="B")))
    return Question(id=id, question="Who?", ambiguous=False, branches=(branch,))


def item(id: str, *texts: str, epoch: int = 0, error: str | None = None) -> AnsweredItem:
    prediction = Prediction(answers={"default": texts})
    return AnsweredItem(question(id), prediction, epoch=epoch, error=error)


ITEMS = [item("q1", "A"), item("q2", "A", "B", "C"), item("q3")]


def scored(spec: str | MetricPlugin, items: list[AnsweredItem] = ITEMS) -> Scores:
    return score_items(get_task("branches"), items, metrics=load_metrics([spec]))


def values(scores: Scores, name: str = "found") -> list[float | None]:
    return [row.metrics[name] for row in scores.items]


def test_a_metric_is_one_more_column_with_means_and_intervals(write: Write) -> None:
    scores = scored(write(TEXTS, "texts"))
    assert values(scores, "texts") == [1.0, 3.0, None]
    found = scores.aggregates["all"]["texts"]
    assert (found.mean, found.n) == (2.0, 2)
    assert found.low is not None
    assert found.high is not None
    assert 1.0 <= found.low < 2.0 < found.high <= 3.0
    column = scores.scorer.columns[-1]
    assert (column.key, column.heading, column.digits) == ("texts", "texts\nsaid", 1)
    assert column.note == "texts: How many texts were predicted"
    epochs = [item("q1", "A"), item("q1", "A", "B", "C", epoch=1), item("q2", "A", "B", "C", "D")]
    found = scored(write(TEXTS, "texts"), epochs).aggregates["unambiguous"]["texts"]
    assert (found.mean, found.n) == (3.0, 2)


def test_the_digest_is_of_the_source_and_of_no_path(write: Write, tmp_path: Path) -> None:
    first = scored(write(TEXTS, "texts"))
    assert [*first.scorer.metrics[0]["source"]["sha256"]] == ["metrics.py"]
    assert str(tmp_path) not in json.dumps(first.to_json())
    assert scored(write(TEXTS, "texts", "elsewhere/metrics.py")).digest == first.digest
    assert scored(write(TEXTS + "# changed", "texts")).digest == first.digest
    other = scored(write(TEXTS.replace("or None", "* 10"), "texts"))
    assert other.digest != first.digest
    assert compare(first, other).cautions == (
        "the metric texts has different code on the two sides",
    )


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("False", 0.0),
        ("-3", -3.0),
        ("None", None),
        ("__import__('numpy').float32(.5)", 0.5),
        ("__import__('numpy').bool_(True)", 1.0),
        ("len(item.prediction.answers) + 10 * (item.error == 'timeout: late')", 10.0),
    ],
)
def test_numbers_of_every_kind_are_taken(
    write: Write, expression: str, value: float | None
) -> None:
    scores = scored(write(returning(expression)), [item("q1", "A", "B", error="timeout: late")])
    assert (values(scores), scores.failures) == ([value], {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("float('nan')", "returned nan"),
        ("-1e13", "returned -1e+13"),
        ("10 ** 400", "returned int"),
        ("'1.0'", "returned str"),
        ("__import__('numpy').array([1.0])", "returned ndarray"),
        ("1 / 0", "found: ZeroDivisionError: division by zero"),
        ("threading.Event().wait()", "found: no result within 0.2 seconds (abandoned)"),
    ],
)
def test_what_is_no_number_leaves_the_item_unscored_and_says_why(
    write: Write, expression: str, said: str
) -> None:
    seconds = 0.2 if "wait" in expression else 20
    spec = write(returning(f"({expression}) if item.question.id == 'q2' else 1", seconds))
    scores = scored(spec)
    assert values(scores)[1] is None
    failed = {row.id: row.failures["found"] for row in scores.failures["found"]}
    assert said in failed["q2"]
    assert "\n" not in failed["q2"]
    json.dumps(scores.to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('@metric\nasync def found(item):\n    """T."""', "found is async"),
        ('@metric\ndef found(item, gold):\n    """T."""', "cannot be called with an item alone"),
        ('@metric(digits=9)\ndef found(item):\n    """T."""', "digits is 9"),
        ('@metric(heading="")\ndef found(item):\n    """T."""', "heading of found is not a text"),
        ('@metric(note=5)\ndef found(item):\n    """T."""', "note of found is not a text"),
        ('@metric(name="strict_em")\ndef found(item):\n    """T."""', "task branches has a metric"),
        ('@metric(name="subset")\ndef found(item):\n    """T."""', "another column of every table"),
    ],
)
def test_what_cannot_be_a_metric_is_refused_in_one_line(write: Write, body: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        load_metrics([write(body)])
    assert "\n" not in str(refused.value)


def test_two_metrics_of_one_name_are_refused_and_one_named_twice_is_one(write: Write) -> None:
    one, other = write(returning("1")), write(returning("2"), file="others.py")
    assert len(load_metrics([one, one])) == 1
    with pytest.raises(InputError, match=r"two metrics are called 'found': .*metrics.*others"):
        load_metrics([one, other])


def test_a_text_of_a_metric_is_shown_as_one_harmless_line(write: Write) -> None:
    body = (
        '@metric(heading="a\\x1b[31m\\n[b]x[/b]\\n\\ny", note="one\\n\\x07two \\u202e")\n'
        'def found(item):\n    """T."""\n    return 1\n'
    )
    column = scored(write(body)).scorer.columns[-1]
    assert column.heading == "a?[31m\n[b]x[/b] y"
    assert column.note == "found: one ?two ?"


@pytest.mark.slow
def test_the_function_itself_may_be_named_from_python() -> None:
    @metric
    def of_texts(item: AnsweredItem) -> float:
        """Texts."""
        return float(sum(len(t) for t in item.prediction.answers.values()))

    assert of_texts(item("q", "A", "B")) == 2.0
    assert values(scored(of_texts), "of_texts") == [1.0, 3.0, 0.0]


# Runs and the command line ------------------------------------------------------------------------


async def _finished(path: Path, answers: dict[str, list[str]], **spec: object) -> Path:
    meta = RunSpec("branches", "q.jsonl", "", {"model": "offline"}, {}, "", 1, "0")
    create_run(path, replace(meta, **spec), [question(id) for id in answers])
    with RunStore(path) as store:
        for one in list(store.pending()):
            journal = store.begin(one)
            prediction = {"answers": {"default": answers[one.question.id]}}
            record = {"prediction": prediction, "evidence": [], "how": "strict"}
            await journal.finish("done", record | {"usage": {}, "error": None})
    return path


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A run of three questions: the answers of `ITEMS`."""
    return await _finished(tmp_path / "R", {"q1": ["A"], "q2": ["A", "B", "C"], "q3": []})


def test_score_says_which_items_it_could_not_score_and_ends_with_1(
    type_in: Cli, folder: Path, write: Write
) -> None:
    spec = write(returning("[print('noise'), 1 / len(item.prediction.answers['default'])][1]"))
    code, out, err = type_in("score", folder, "--metric", spec, "--json")
    assert code == 1
    document = json.loads(out)
    assert document["aggregates"]["all"]["found"]["mean"] == pytest.approx((1 + 1 / 3) / 2)
    assert document["items"][2]["failures"]["found"].startswith("found: ZeroDivisionError")
    (line,) = [line for line in err.splitlines() if line.startswith("branchwise:")]
    assert line == (
        "branchwise: found failed on 1 of 3 items (the first: question q3: "
        "ZeroDivisionError: division by zero, metrics.py:7)"
    )


@pytest.mark.slow
async def test_reports_have_the_column_everywhere_and_leave_the_run_alone(
    type_in: Cli, folder: Path, write: Write, tmp_path: Path
) -> None:
    other = await _finished(tmp_path / "S", {"q1": ["A", "B"], "q2": ["A", "B", "C"], "q3": []})
    spec = write(TEXTS, "texts")
    page, tables = tmp_path / "page.html", tmp_path / "csv"
    latex, markdown = tmp_path / "t.tex", tmp_path / "t.md"
    score(folder)
    code, out, err = type_in(
        "report", folder, other, "--metric", spec, "--html", page, "--csv", tables,
        "--latex", latex, "--markdown", markdown,
    )  # fmt: skip
    assert code == 0, err
    for file in (page, latex, markdown):
        assert "How many texts were predicted" in file.read_text(), file
    with (tables / "results-further-metrics.csv").open() as stream:
        rows = {row["system"]: row for row in csv.DictReader(stream) if row["subset"] != "all"}
    assert {name: float(row["texts"]) for name, row in rows.items()} == {"R": 2.0, "S": 2.5}
    code, out, _ = type_in("report", folder, other, "--metric", spec)
    assert "texts said  p" in out
    assert "+.5  1" in out
    reader = open_run(folder)
    assert reader.saved_scores(Scorer("branches", 3).digest) is not None
    assert reader.saved_scores(scored(spec).digest) is None
    reader.close()


@pytest.mark.slow
async def test_a_run_keeps_its_metrics_and_goes_on_without_those_that_are_gone(
    tmp_path: Path, write: Write
) -> None:
    spec = write(TEXTS, "texts")
    folder = await _finished(tmp_path / "R", {"q1": ["A"]}, scoring={"metrics": [spec]})
    assert score(folder).aggregates["all"]["texts"].mean == 1.0
    asked = write(returning("1"), file="others.py")
    assert [one.name for one in metrics_of([asked], [spec], "R")] == ["texts", "found"]
    (tmp_path / "metrics.py").unlink()
    with pytest.warns(UserWarning, match="without its metric .*no such file"):
        assert "texts" not in score(folder).aggregates["all"]
    # Named anew, it takes the place of the one that is gone.
    again = write(TEXTS.replace("or None", "* 10"), "texts", "moved.py")
    with pytest.warns(UserWarning, match="without its metric"):
        assert score(folder, metrics=[again]).aggregates["all"]["texts"].mean == 10.0


@pytest.mark.slow
def test_run_checks_its_metrics_first_and_keeps_where_they_are(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = tmp_path / "q.jsonl"
    questions.write_text('{"id": "q", "question": "Who?", "answers": {"default": ["A"]}}\n')
    write(TEXTS, "texts")
    monkeypatch.chdir(tmp_path)
    wrong = replace(BY_NAMES, metrics=("metrics.py:none",))
    with pytest.raises(InputError, match="it does not define 'none'"):
        run(str(questions), System(), out=tmp_path / "R", scoring=wrong)
    assert not (tmp_path / "R").exists()
    right = replace(BY_NAMES, metrics=("metrics.py:texts",))
    made = run(str(questions), System(), out=tmp_path / "R", scoring=right)
    monkeypatch.chdir("/")
    assert "texts" in score(made).aggregates["all"]
