"""`branchwise trace` and `branchwise errors` on a run with hostile passages."""

import asyncio
from pathlib import Path

import pytest

from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.store import RunSpec, RunStore, create_run

TEXT = "[bold]Al Pacino[/bold] \x1b[31mplays\x1b[0m Hanna.\n" + "long " * 400

READ = {
    "dropped": [],
    "whole": False,
    "error": None,
    "usage": {"input": 1, "output": 1},
    "seconds": 0.1,
    "replayed": False,
    "reasoning": "",
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One question, two epochs; the agent saw the answer only in its second result."""
    path = tmp_path / "R"
    branch = Branch(name="default", answers=(Answer(text="Al Pacino"),))
    question = Question(id="heat-cast", question="Who is in Heat?", branches=(branch,))
    create_run(path, RunSpec("branches", "q", "d", {}, {}, "s", 2, "0"), [question])
    asyncio.run(_fill(path))
    return path


async def _fill(path: Path) -> None:
    call = {"id": "c", "name": "local_retriever", "args": {"query": "Heat"}}
    made = {
        "text": "",
        "tool_calls": [call, call],
        "invalid_tool_calls": [],
        "reasoning": "",
        "finish": "tool_calls",
        "usage": {"input": 1, "output": 1},
        "seconds": 0.1,
        "replayed": False,
    }
    with RunStore(path) as store:
        for pending in list(store.pending()):
            journal = store.begin(pending)
            given = {"passages": []}
            journal.event("start", {"system": "S", "content": "Who is in Heat?", "artifact": given})
            journal.event("model", {**made, "turn": 1})
            for of in (0, 1):
                passage = {"id": f"p{of}", "title": "Heat", "text": TEXT, "score": 1.0}
                result = {"content": TEXT, "artifact": {"passages": [passage]}, "error": None}
                journal.event("tool", {"call": call, "of": of, **result})
            for of, spans in ((0, []), (1, ["Al Pacino"])):
                record = {**READ, "id": f"p{of}", "spans": spans}
                record["how"] = "spans" if spans else "none"
                journal.event("extraction", {"call": call, "of": of, "passages": [record]})
            record = {"prediction": {}, "evidence": [], "how": "strict", "error": None}
            await journal.finish("done", record)


def test_errors_point_at_a_place_that_the_agent_saw(type_in, run: Path):
    shown = type_in("errors", run, "--limit", 1)[1]
    assert "Al Pacino  left out by the agent · step 3 [p1], and 1 more" in shown


def test_errors_are_chosen_by_where_an_answer_was_lost(type_in, run: Path):
    assert type_in("errors", run, "--lost-at", "agent")[1].count("heat-cast") == 2
    assert type_in("errors", run, "--lost-at", "extraction")[1] == ""
    code, _, error = type_in("errors", run, "--lost-at", "extracton")
    assert code == 2
    assert "did you mean extraction?" in error


def test_each_step_stands_under_its_number(type_in, run: Path, monkeypatch):
    code, shown, _ = type_in("trace", run, "--question", "heat-cast", "--epoch", 1)
    lines = shown.splitlines()
    assert code == 0
    assert [line[0] for line in lines if line[0].isdigit()] == ["0", "1", "2", "3", "4", "5"]
    assert lines[0].endswith("Who is in Heat?")
    assert lines[-2:] == ["gold", "          default: Al Pacino"]


def test_a_step_is_shown_in_full_as_text(type_in, run: Path):
    shown = type_in("trace", run, "--question", "heat-cast", "--step", 2)[1]
    assert "step 2: tool" in shown
    assert "[bold]Al Pacino[/bold]" in shown
    assert "\x1b" not in shown
    assert "long " * 400 in shown


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--question", "heat-cats"), "did you mean heat-cast?"),
        (("--question", "x"), "the first ids are heat-cast"),
        (("--question", "heat-cast", "--epoch", 7), "no item has the id 'heat-cast' in epoch 7"),
        (("--question", "heat-cast", "--step", 99), "its steps are 0 to 5"),
    ],
)
def test_what_is_not_there_is_one_line(type_in, run: Path, options, hint):
    code, _, error = type_in("trace", run, *options)
    assert code == 2
    assert hint in error
    assert len(error.splitlines()) == 1
