"""Items of every status and task, read from a real store."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.errors.item_errors import ItemErrors, MissingAnswer
from branchwise.eval.errors.labels import Label
from branchwise.runs.store import RunReader, RunSpec, RunStore, create_run, open_run
from branchwise.ui.traces.answers import DAMAGED, trace_of
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.trace import AnswerLine, Trace
from support.stores import execute
from support.ui.hostile_trace import GOLD, QUESTION_IDS, hostile_run

pytestmark = pytest.mark.slow

QUESTION = Question(
    id="q",
    question="Who is in Heat?",
    branches=(Branch(name="in what year", answers=(Answer(text="Al Pacino is in Heat."),)),),
)


@contextmanager
def opened(path: Path) -> Iterator[Callable[[int], Trace]]:
    """Reads the trace of a row."""
    reader = open_run(path)

    def read(row: int, **more: Any) -> Trace:
        return trace_at(reader, row, **more)

    yield read
    reader.close()


def trace_at(reader: RunReader, row: int, errors: ItemErrors | None = None) -> Trace:
    item = [*reader.items()][row]
    question = item.question
    line = ItemLine(item.item, question.id, item.epoch, question.question, True, item.status)
    return trace_of(reader, line, question, item.outcome, errors)


def one_item(path: Path, task: str, prediction: Mapping[str, Any] | None) -> Path:
    create_run(path, RunSpec(task, "q", "d", {}, {}, "s", 1, "0"), [QUESTION])

    async def fill() -> None:
        with RunStore(path) as store:
            (pending,) = list(store.pending())
            journal = store.begin(pending)
            journal.event("start", {"system": "S", "content": "Who?", "artifact": {}})
            if prediction is not None:
                outcome = {"prediction": prediction, "evidence": [], "how": "strict"}
                await journal.finish("done", outcome)
            else:
                await journal.finish("running", {})

    asyncio.run(fill())
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_run(tmp_path_factory.mktemp("runs") / "R")


def verdicts(trace: Trace) -> set[str]:
    return {line.verdict for b in trace.branches for line in (*b.gold, *b.predicted)}


def test_an_item_that_ended_has_its_verdicts_and_places(run: Path):
    with opened(run) as read:
        trace = read(0)
    assert trace.line.id == QUESTION_IDS[0]
    assert trace.errors is not None
    assert verdicts(trace) == {"right", "missing", "wrong", "wrong_branch"}
    lost = next(line for b in trace.branches for line in b.gold if line.text == "Jessica Lange")
    assert lost.step == lost.places[0].step
    assert trace.event(lost.places[0].step) is not None
    assert [names[0] for names in trace.names] == sorted(GOLD)
    assert len(trace.steps) == len(trace.events)


def test_an_item_that_has_not_begun_has_its_gold_and_no_steps(run: Path):
    with opened(run) as read:
        trace = read(2)
    assert (trace.steps, trace.events, trace.errors) == ([], [], None)
    assert verdicts(trace) == {"open"}
    assert sum(len(branch.gold) for branch in trace.branches) == len(GOLD)


def test_errors_that_were_kept_are_not_worked_out_again(run: Path):
    missing = MissingAnswer(
        *(_branch(run, "1933"), GOLD[1], None, Label.INCORRECT_REASONING, "agent")
    )
    with opened(run) as read:
        trace = read(0, errors=ItemErrors("x", 0, True, True, missing=(missing,)))
    gold = {line.text: line.verdict for branch in trace.branches for line in branch.gold}
    assert gold == {**dict.fromkeys(GOLD, "right"), GOLD[1]: "missing"}


def _branch(run: Path, start: str) -> str:
    reader = open_run(run)
    names = [branch.name for branch in reader.question(0).branches]
    reader.close()
    return next(name for name in names if name.startswith(start))


def test_sentences_stand_beside_each_other_without_a_verdict(tmp_path: Path):
    answers = {"the year": ["Pacino is it."], "elsewhere": ["Nobody knows."]}
    prediction = {"reasoning": "", "answers": answers, "citations": {}, "task_output": None}
    with opened(one_item(tmp_path / "R", "condambigqa", prediction)) as read:
        trace = read(0)
    first, second = trace.branches
    assert (trace.errors, list(trace.names)) == (None, [])
    assert first.gold == (AnswerLine("Al Pacino is in Heat.", "open"),)
    # "pacino is" of "al pacino is in heat" and "pacino is it": 2 * 2 / (5 + 3). "year" of "in what
    # year" and "(the) year": 2 * 1 / (3 + 1).
    why = "answer F1 .50, condition F1 .50"
    assert (first.name, first.keys) == ("in what year", ("the year",))
    assert first.predicted == (AnswerLine("Pacino is it.", "open", why),)
    assert (second.name, second.predicted) == (None, (AnswerLine("Nobody knows.", "open"),))


@pytest.mark.parametrize("body", [b'{"cut', b"[]", b'{"artifact": {"passages": [{"p": "x"}]}}'])
def test_a_damaged_record_is_one_step_that_says_so(tmp_path: Path, body: bytes):
    prediction = {"reasoning": "", "answers": {}, "citations": {}, "task_output": None}
    path = one_item(tmp_path / "R", "branches", prediction)
    execute(path, "UPDATE events SET body = ?", body)
    with opened(path) as read:
        trace = read(0)
    (step,) = trace.steps
    assert step.failed
    assert step.label.startswith(f"error {DAMAGED}: a record of the run is damaged")
    assert [(line.verdict, line.why) for line in trace.branches[0].gold] == [("missing", "")]


def test_a_final_record_that_is_damaged_leaves_answers_open(tmp_path: Path):
    with opened(one_item(tmp_path / "R", "branches", {"answers": 7})) as read:
        trace = read(0)
    assert verdicts(trace) == {"open"}
