from collections.abc import Callable

import pytest

from branchwise.agents.prompt_files import Prompts
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks import TASKS, Task, get_task, totals_of
from branchwise.graphs.flows import default_flow
from support.conditions.cases import (
    WORKED,
    WORKED_RELATIONS,
    conditional_item,
    conditional_question,
)
from support.eval.scoring_cases import item

QUESTION = Question(id="q", question=" Who directed\nKing Kong? ")
PLAIN = [task for task in TASKS.values() if task.gold != "conditions"]
"""Tasks of questions that are one line and have answers in branches."""


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Task], AnsweredItem]:
    """An item that a task can score."""
    path = tmp_path_factory.mktemp("conditions") / "mdcr.json"
    asked = conditional_question(path, "q3", WORKED, WORKED_RELATIONS)
    about_conditions = conditional_item(asked, "2", [["C-c5"]])
    in_branches = item("q", {"a": ["x"], "b": ["y"]}, {"b": ["Y", "z"], "a": []})
    return lambda task: about_conditions if task.gold == "conditions" else in_branches


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="unknown task 'branch'; known tasks: branches, ambigqa"):
        get_task("branch")


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_column_has_a_metric_and_every_metric_a_column(task, answered):
    found = task.score(answered(task))
    sums = {name for total in totals_of(task.columns).values() for name in total.sums}
    assert set(found) == {column.key for column in task.columns} | sums


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_task_has_a_metric_that_reports_turn_on(task: Task) -> None:
    assert task.main in task.headline
    assert task.main in task.shown


@pytest.mark.parametrize(
    "task", [t for t in TASKS.values() if t.is_attributable], ids=lambda t: t.name
)
def test_what_is_attributed_are_entities_with_a_recall(task: Task) -> None:
    assert task.flow.format is default_flow().format
    assert task.main.role == "recall"


@pytest.mark.parametrize("task", PLAIN, ids=lambda task: task.name)
@pytest.mark.parametrize("has_tools", [True, False])
def test_every_setting_has_its_prompt(task: Task, has_tools: bool) -> None:
    brief = task.brief(QUESTION, has_tools=has_tools)
    assert brief.prompt.endswith("_with_tools" if has_tools else "_directly")
    assert brief.message == brief.question == "Who directed King Kong?"
    assert brief.prompt in Prompts.load().texts


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_scoring_changes_neither_gold_nor_prediction(task, answered):
    made = answered(task)
    before = made.question.model_dump_json(), made.prediction.model_dump_json()
    task.score(made)
    assert (made.question.model_dump_json(), made.prediction.model_dump_json()) == before
