"""What a run's report says of modules that failed, on a scripted server and from the store."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from branchwise import run
from branchwise.corpora.questions import Answer as GoldAnswer
from branchwise.corpora.questions import Branch, Question
from branchwise.eval.errors.module_work import ExpansionWork, ModuleWork
from branchwise.report.study_report import SystemReport
from branchwise.report.terminal.run_report import run_report
from branchwise.runs.scoring import examination
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.scoring.scored import ScoredAnswers
from branchwise.runs.store import RunSpec, RunStore, create_run
from support.by_role import by_role, turn_of
from support.chat_server import Answer, call, fail, say

QUESTIONS = 3
GOOD = say(json.dumps({"reasoning": "r", "answers": {"default": ["Michael Mann"]}}))
CONDITIONS = say(json.dumps({"reasoning": "r", "answers": []}))
BROKEN, NONSENSE = fail(500), say("Purple bananas.\nThey sing at night.")


@pytest.fixture
def scored(chat_server: Any, make_system: Any, question_file: Any, tmp_path: Path) -> Any:
    """Runs three questions of one search of two passages each with both modules, and scores."""

    def play(expander: Answer, extractor: Answer, **options: Any) -> ScoredAnswers:
        last = CONDITIONS if options.get("task") == "condambigqa" else GOOD

        def agent(body: dict[str, Any]) -> Answer:
            return last if turn_of(body) else call("local_retriever", query="Heat film")

        chat_server.play(by_role(expander=expander, extractor=extractor, agent=agent))
        system = make_system().model_copy(
            update={"expand": True, "extract": True, "extract_by": "passage"}
        )
        made = run(str(question_file(QUESTIONS)), system, out=tmp_path / "run", **options)
        assert made.state.done == QUESTIONS * options.get("epochs", 1)
        return score_answers(made, ScoringSettings())

    return play


def last_lines(scored: ScoredAnswers, *, full: bool = False, lines: int = 2) -> list[str]:
    console = Console(width=300, force_terminal=False, highlight=False, legacy_windows=False)
    with console.capture() as capture:
        for part in run_report([SystemReport("run", scored)], full=full):
            console.print(part)
    return [line.strip() for line in capture.get().splitlines()][-lines:]


ALL_FAILED = [
    "expand: readings for 0 of 3 questions, 6 searches for names, 3 failed (server 3)",
    "extract: 6 passages: 0 with spans, 6 failed and shown whole (server 6)",
]


@pytest.mark.slow
@pytest.mark.parametrize("task", ["branches", "condambigqa"])
def test_modules_whose_calls_all_failed_are_said_for_every_task(scored, task):
    found = scored(BROKEN, BROKEN, task=task)
    assert (found.analysis is None) == (task == "condambigqa")
    assert {role.role for role in found.costs.roles} == {"agent"}
    assert last_lines(found) == last_lines(found, full=True) == ALL_FAILED
    assert found.to_json()["modules"]["extraction"]["failures"] == {"server": 6}


@pytest.mark.slow
@pytest.mark.parametrize("task", ["branches", "condambigqa"])
def test_nonsense_is_said_to_be_in_no_passage(scored, task):
    found = scored(say("Purple bananas."), NONSENSE, task=task, epochs=2)
    assert last_lines(found) == [
        "expand: readings for 0 of 6 items, 12 searches for names; "
        "6 lines dropped (no other reading beside it 6)",
        "extract: 12 passages: 0 with spans, 12 with nothing (in 12 all was dropped); "
        "24 spans dropped (not in the passage 24)",
    ]


@pytest.mark.usefixtures("process")
def test_workers_count_the_same(scored, monkeypatch):
    found = scored(say("Who a?\nWho b?"), NONSENSE)
    monkeypatch.setattr(examination, "MANY", 1)
    monkeypatch.setattr(examination, "_BATCH", 2)
    monkeypatch.setattr(examination, "usable_cores", lambda: 2)
    again = score_answers(found.path, ScoringSettings(saves=False))
    assert again.modules == found.modules
    assert again.modules.expansion is not None
    assert (again.modules.expansion.expanded, again.modules.expansion.readings) == (3, 6)


NODES = """
from branchwise import node
from branchwise.graphs.plugins.passages import passages_of, with_passages

@node("after_tools")
def first(state):
    "Keep the first passage."
    return {"pending": [with_passages(m, passages_of(m)[:1]) for m in state["pending"]]}

@node("after_tools")
def misspelt(state):
    "Return what no node may."
    return {"pendng": []}

@node("before_answer")
def watch(state):
    "Change nothing."
"""


@pytest.mark.slow
@pytest.mark.parametrize("task", ["branches", "condambigqa"])
def test_nodes_that_work_fail_and_change_nothing_are_said_for_every_task(
    task, chat_server, make_system, question_file, tmp_path
):
    file = tmp_path / "nodes.py"
    file.write_text(NODES)
    last = CONDITIONS if task == "condambigqa" else GOOD
    # Two searches a question, and words that end it.
    chat_server.play(
        lambda body: call("local_retriever", query="Heat film") if turn_of(body) < 2 else last
    )
    nodes = tuple(f"{file}:{name}" for name in ("first", "misspelt", "watch"))
    system = make_system().model_copy(update={"nodes": nodes})
    made = run(str(question_file(QUESTIONS)), system, out=tmp_path / "run", task=task)
    found = score_answers(made, ScoringSettings())
    assert found.to_json()["modules"]["nodes"] == {
        "first": {"calls": 6, "changed": 6, "failed": 0, "first_error": None},
        "misspelt": {
            "calls": 6,
            "changed": 0,
            "failed": 6,
            "first_error": "returned 'pendng'; a node after_tools returns pending",
        },
        "watch": {"calls": 3, "changed": 0, "failed": 0, "first_error": None},
    }
    assert last_lines(found, lines=3) == [
        "node first: 6 calls: 6 changed something",
        "node misspelt: 6 calls: 0 changed something, 6 failed "
        "(the first: returned 'pendng'; a node after_tools returns pending)",
        "node watch: 3 calls: 0 changed something",
    ]


@pytest.mark.parametrize("task", ["branches", "condambigqa"])
async def test_items_that_have_not_ended_are_not_counted(task, tmp_path):
    system = {"model": "offline", "expand": True, "extract": False}
    spec = RunSpec(task, "q", "d", system, {}, "s", 1, "0")
    gold = (Branch(name="default", answers=(GoldAnswer(text="Michael Mann"),)),)
    asked = [
        Question(id=f"q{n}", question="Who?", ambiguous=False, branches=gold) for n in range(3)
    ]
    create_run(tmp_path / "run", spec, asked)
    record = {"prediction": {"answers": {}}, "evidence": [], "how": "strict", "usage": {}}
    with RunStore(tmp_path / "run") as store:
        for status, pending in zip(("done", "failed", None), list(store.pending()), strict=True):
            journal = store.begin(pending)
            journal.event("expansion", {"readings": ["a?", "b?"], "how": "readings"})
            if status:
                await journal.finish(status, record)
    # Off the event loop: scoring may ask models, and runs a loop of its own.
    found = await asyncio.to_thread(score_answers, tmp_path / "run", ScoringSettings())
    assert found.modules == ModuleWork(ExpansionWork(items=2, expanded=2, readings=4))
