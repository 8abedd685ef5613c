"""Metrics are tried on the first question of every set before anything is asked or written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchwise import ablate, run
from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Answer, Branch, Question, QuestionSet
from branchwise.eval.plugin_metrics import check_metrics, load_metrics
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.tasks import get_task
from branchwise.graphs.system import System
from branchwise.runs import experiment
from support.chat_server import ChatServer, say

Cli = Callable[..., tuple[int, str, str]]
FILE = '''from branchwise import metric

def helper(item):
    return item.no_such_field

@metric
def missing(item):
    """Asks for a field that does not exist."""
    return helper(item)

@metric
def text(item):
    """A text."""
    return "1"

@metric
def two(item, gold):
    """Two arguments."""
    return 1

@metric
def only_b(item):
    """Fails with questions of the second set alone."""
    return 1 / (item.question.id != "b0")

@metric
def right(item):
    """How many of the gold answers were given."""
    gold = {answer.text for branch in item.question.branches for answer in branch.answers}
    given = {text for texts in item.prediction.answers.values() for text in texts}
    assert item.error or not item.evidence.passages
    return len(gold & given)
'''
WRONG = [
    (
        "missing",
        "m.py:4: the metric missing fails on the first question, 'a0': AttributeError: "
        "'AnsweredItem' object has no attribute 'no_such_field'; fix it there",
    ),
    (
        "text",
        "m.py:11: the metric text fails on the first question, 'a0': returned str; return a "
        "number up to 1e+12, or None; fix it there",
    ),
    ("two", "the metric two cannot be called with an item alone"),
]


@pytest.fixture
def place(tmp_path: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with metrics, two sets of questions, and studies of one set and of both."""
    monkeypatch.chdir(tmp_path)
    chat_server.play(lambda _: say('{"reasoning": "", "answers": {"default": ["Ann"]}}'))
    Path("m.py").write_text(FILE)
    for name in "ab":
        lines = [
            json.dumps({"id": f"{name}{n}", "question": "Who?", "answers": {"default": ["Ann"]}})
            for n in range(2)
        ]
        Path(f"{name}.jsonl").write_text("\n".join(lines))
    return tmp_path


def study_of(metric: str, server: ChatServer, questions: str = "a.jsonl") -> Path:
    file = Path("study.yaml")
    file.write_text(
        f"name: s\nquestions: {questions}\nmetrics: [m.py:{metric}]\n"
        f'base: {{model: "openai:scripted@{server.url}", tools: []}}\n'
        "factors: {budget_shown: [on, off]}\n"
    )
    return file


@pytest.mark.slow
@pytest.mark.parametrize(("name", "said"), WRONG)
def test_a_wrong_metric_ends_a_run_before_its_first_request(
    name: str, said: str, place: Path, type_in: Cli, chat_server: ChatServer
) -> None:
    model = f"openai:scripted@{chat_server.url}"
    code, out, err = type_in(
        "run", "--questions", "a.jsonl", "--model", model, "--metric", f"m.py:{name}", "--out", "R"
    )
    assert (code, out) == (2, "")
    assert said in err
    [_] = [line for line in err.splitlines() if "metric" in line]
    scoring = ScoringChoice(metrics=(f"m.py:{name}",))
    with pytest.raises(InputError, match=f"the metric {name} ") as refused:
        experiment.run("a.jsonl", System(model=model), out="R", scoring=scoring)
    assert said in str(refused.value)
    with pytest.raises(InputError, match=f"the metric {name} "):
        run("a.jsonl", System(model=model), out="R", metrics=[f"m.py:{name}"])
    assert chat_server.requests == []
    assert not Path("R").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "said"), WRONG)
def test_a_wrong_metric_ends_a_study_before_its_first_request(
    name: str, said: str, place: Path, type_in: Cli, chat_server: ChatServer
) -> None:
    study = study_of(name, chat_server)
    for further in ((), ("--dry-run",)):
        code, _, err = type_in("ablate", study, "--out", "S", *further)
        assert code == 2
        assert said in err
    with pytest.raises(InputError, match=f"the metric {name} "):
        ablate(study, out="S")
    assert chat_server.requests == []
    assert not Path("S").exists()


@pytest.mark.slow
def test_every_set_of_a_study_is_tried(place: Path, type_in: Cli, chat_server: ChatServer) -> None:
    study = study_of(
        "only_b", chat_server, "[{source: a.jsonl, name: a}, {source: b.jsonl, name: b}]"
    )
    code, _, err = type_in("ablate", study, "--out", "S")
    assert code == 2
    assert "m.py:24: set 'b': the metric only_b fails on the first question, 'b0': Zero" in err
    assert chat_server.requests == []


@pytest.mark.slow
def test_a_right_metric_is_called_with_the_gold_answers_and_then_with_each_item(
    place: Path, type_in: Cli, chat_server: ChatServer
) -> None:
    model = f"openai:scripted@{chat_server.url}"
    code, _, err = type_in(
        "run", "--questions", "a.jsonl", "--model", model, "--metric", "m.py:right", "--out", "R"
    )
    assert code == 0, err
    assert len(chat_server.requests) == 2


BRANCHES = (
    Branch(name="one", answers=(Answer(text="A"), Answer(text="B"))),
    Branch(name="two", answers=(Answer(text="C"),), citations=("p1",)),
)


ANSWERS = {"one": ("A", "B"), "two": ("C",)}
ASKED = {"clarification_question": "Which one: one, or two?"}


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("branches", {"answers": ANSWERS, "citations": {"two": ("p1",)}}),
        ("ambiguity", {"task_output": {"ambiguous": True}}),
        ("clarification", {"task_output": ASKED}),
    ],
)
def test_gold_predictions_have_the_shape_of_the_task(task: str, expected: dict[str, Any]) -> None:
    question = Question(id="q", question="Who?", ambiguous=True, branches=BRANCHES)
    assert get_task(task).gold_prediction(question) == Prediction(**expected)


@pytest.mark.parametrize("task", ["branches", "ambiguity", "clarification", "clarified", "clarify"])
def test_gold_predictions_are_right_by_their_tasks(task: str, place: Path) -> None:
    question = Question(id="q", question="Who?", ambiguous=True, branches=BRANCHES)
    prediction = get_task(task).gold_prediction(question)
    if prediction.task_output is not None:
        written = json.loads(prediction.model_dump_json())["task_output"]
        assert json.loads(json.dumps(get_task(task).read_output(written))) == written
    check_metrics(load_metrics(["m.py:right"]), QuestionSet("s", task, (question,), ""))


@pytest.mark.slow
def test_a_metric_that_a_finished_study_lacks_is_told(
    place: Path, type_in: Cli, chat_server: ChatServer
) -> None:
    study = Path(study_of("right", chat_server))
    with_metric = study.read_text("utf-8")
    study.write_text(with_metric.replace("metrics: [m.py:right]", "metrics: []"))
    assert type_in("ablate", study, "--out", "S")[0] == 0
    study.write_text(with_metric)
    code, _, err = type_in("ablate", study, "--out", "S")
    assert code == 0
    assert "S: was begun without m.py:right; see `branchwise report S --metric m.py:right`" in err
