import pytest
from scoring_cases import item

from branchwise.corpora.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.tasks import TASKS, Task, get_task

QUESTION = Question(id="q", question=" Who directed\nKing Kong? ")


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="unknown task 'branch'; known tasks: branches, condambig"):
        get_task("branch")


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_column_has_a_metric_and_every_metric_a_column(task: Task) -> None:
    found = task.score(item("q", {"a": ["x"], "b": ["y"]}, {"a": ["x"]}))
    assert set(found) == {column.key for column in task.columns}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("has_tools", [True, False])
def test_every_setting_has_its_prompt(task: Task, has_tools: bool) -> None:
    setting = task.setting(QUESTION, has_tools)
    assert setting == ("search" if has_tools else "direct")
    assert task.prompt(setting).endswith("_with_tools" if has_tools else "_directly")
    assert task.user_message(QUESTION, setting) == "Who directed King Kong?"


def test_scoring_changes_neither_gold_nor_prediction() -> None:
    made = item("q", {"a": ["x"], "b": ["y"]}, {"b": ["Y", "z"], "a": []})
    before = made.question.model_dump_json(), made.prediction.model_dump_json()
    for task in TASKS.values():
        task.score(made)
    assert (made.question.model_dump_json(), made.prediction.model_dump_json()) == before
