"""What a fork of a step would be, and what was asked to be different."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.runs.forks import Changes
from branchwise.runs.store import RunSpec, create_run
from branchwise.tools.registry import known_tools
from branchwise.trace.events import Event
from branchwise.ui.trace_app.forking import ForkPlan, plan_fork
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.trace import Step, Trace
from support.trace_records import trace

CALL = {"id": "c", "name": "local_retriever", "args": {"query": "Heat"}}
TURN = {"turn": 1, "text": "", "tool_calls": [CALL, CALL], "invalid_tool_calls": []}
EVENTS = [
    ("start", {"content": "Who directed Heat?"}),
    ("model", TURN),
    ("tool", {"call": CALL, "of": 0, "content": "first"}),
    ("tool", {"call": CALL, "of": 1, "content": "second"}),
    ("model", TURN | {"text": "{}", "tool_calls": []}),
    ("answer", {"how": "strict"}),
]
LINE = ItemLine(0, "q1", 0, "Who directed Heat?", False, "done")


def trace_of(status: str = "done", events: Sequence[Event] = ()) -> Trace:
    made = events or trace(*EVENTS)
    steps = [Step(event.seq, event.kind, f"{event.kind} {event.seq}") for event in made]
    return Trace(replace(LINE, status=status), made, steps, ())


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    question = Question(
        id="q1", question="?", branches=(Branch(name="default", answers=(Answer(text="x"),)),)
    )
    tools = [{"type": "function", "function": {"name": n}} for n in ("local_retriever", "own\x1b")]
    spec = RunSpec(
        "branches", "s", "d", {"model": "openai:m", "tools": None}, {"tools": tools}, "x", 1, "0"
    )
    create_run(tmp_path / "parent", spec, [question])
    return tmp_path / "parent"


def test_a_plan_offers_what_the_parent_had(parent: Path) -> None:
    plan = plan_fork(parent, trace_of(), 1)
    assert (plan.model, plan.tools) == (
        "openai:m",
        ("local_retriever", "own\N{REPLACEMENT CHARACTER}"),
    )
    assert {*known_tools(), *plan.tools} == set(plan.known)
    assert plan.folder == parent.with_name("parent-fork-q1-s1")
    assert plan.text is not None
    assert '"query": "Heat"' in plan.text


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (0, "runs the whole question again"),
        (2, "runs step 2 again (tool 2) and the 3 steps after it"),
        (4, "runs step 4 again (model 4) and the one after it"),
        (5, "runs step 5 again (answer 5)"),
    ],
)
def test_the_steps_that_are_made_again_are_said(parent: Path, step: int, words: str) -> None:
    plan = plan_fork(parent, trace_of(), step)
    assert [again.seq for again in plan.again] == [*range(step, 6)]
    assert plan.words(edited=False) == words
    edited = f"goes on after step {step} ({plan.step.label}), with your text there"
    assert plan.words(edited=True) == edited
    assert (plan.text is None) == (step == 5)


@pytest.mark.parametrize("status", ["pending", "running"])
def test_what_has_not_ended_has_no_plan(parent: Path, status: str) -> None:
    with pytest.raises(InputError, match="q1 has not ended yet"):
        plan_fork(parent, trace_of(status), 1)


def test_a_damaged_trace_has_no_plan(parent: Path) -> None:
    kinds = ("start", "model", "tool", "error")
    damaged = [Event(seq, kind, 0.0, {}) for seq, kind in enumerate(kinds)]
    with pytest.raises(InputError, match="cannot be continued from step 2"):
        plan_fork(parent, trace_of(events=damaged), 2)
    with pytest.raises(InputError, match="has no step 9"):
        plan_fork(parent, trace_of(), 9)


@pytest.fixture
def plan(parent: Path) -> ForkPlan:
    return plan_fork(parent, trace_of(), 1)


def test_what_differs_is_a_change(plan: ForkPlan) -> None:
    changes = plan.changes("offline", {"wikisparql", "local_retriever"}, "another text")
    assert changes == Changes("offline", ("local_retriever", "wikisparql"), "another text")
    assert plan.changes("offline", (), None).tools == ()


def test_the_folder_is_the_offered_one_or_a_new_one(plan: ForkPlan, tmp_path: Path) -> None:
    assert plan.out("") is None
    assert plan.out(str(plan.folder)) is None
    assert plan.out(str(tmp_path / "new")) == tmp_path / "new"
    with pytest.raises(InputError, match="already exists"):
        plan.out(str(tmp_path))


FIRST_PLAN = """
import sys
from pathlib import Path
from branchwise.trace.events import Event
from branchwise.ui.trace_app.forking import first_plan
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import Step, Trace

line = ItemLine(0, "q1", 0, "?", False, "done")
start = Event(0, "start", 0.0, {"content": "?"})
with RunView.open(Path(sys.argv[1])) as run:
    trace = Trace(line, [start], [Step(0, "start", "start")], ())
    plan = first_plan(run.path, run.meta, trace, 0)
print(plan.model, len(plan.tools), [step.seq for step in plan.again], plan.whole, plan.text)
print([name for name in ("langgraph", "langchain_core") if name in sys.modules])
"""


@pytest.mark.usefixtures("process")
def test_the_first_plan_needs_no_agent(parent: Path) -> None:
    command = [sys.executable, "-c", FIRST_PLAN, str(parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["openai:m 2 [0] False None", "[]"], done.stderr
