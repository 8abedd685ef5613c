"""`branchwise trace` without a terminal and `branchwise errors`; passages are hostile."""

import asyncio
import shutil
from pathlib import Path

import pytest

from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.runs.store import RunSpec, RunStore, create_run

TEXT = "[bold]Al Pacino[/bold] \x1b[31mplays\x1b[0m Hanna.\n" + "long " * 400

READ = {
    "dropped": [], "whole": False, "error": None, "usage": {"input": 1, "output": 1},
    "seconds": 0.1, "replayed": False, "reasoning": "",
}  # fmt: skip


QUESTION = Question(
    id="heat-cast",
    question="Who is in Heat?",
    branches=(Branch(name="default", answers=(Answer(text="Al Pacino"),)),),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One question, two epochs; the agent saw the answer only in its second result."""
    path = tmp_path / "R"
    create_run(path, RunSpec("branches", "q", "d", {}, {}, "s", 2, "0"), [QUESTION])
    asyncio.run(_fill(path))
    return path


async def _fill(path: Path) -> None:
    call = {"id": "c", "name": "local_retriever", "args": {"query": "Heat"}}
    made = {
        "text": "", "tool_calls": [call, call], "invalid_tool_calls": [], "reasoning": "",
        "finish": "tool_calls", "usage": {"input": 1, "output": 1}, "seconds": 0.1,
        "replayed": False,
    }  # fmt: skip
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
            record = {"prediction": {}, "evidence": [], "how": "strict", "usage": {}, "error": None}
            await journal.finish("done", record)


def test_errors_point_at_a_place_that_the_agent_saw(type_in, run: Path):
    _, shown, told = type_in("errors", run, "--limit", 1)
    assert "Al Pacino  left out by the agent · step 3 [p1], and 1 more" in shown
    assert "1 more of 2 items with errors" in told
    assert type_in("errors", run, "--limit", 5)[2] == ""


def test_errors_are_chosen_by_where_an_answer_was_lost(type_in, run: Path):
    assert type_in("errors", run, "--lost-at", "agent")[1].count("heat-cast") == 2
    assert type_in("errors", run, "--lost-at", "extraction")[1] == ""
    by_place = type_in("errors", run, "--lost-at", "agent")[1]
    assert type_in("errors", run, "--label", "left out by the agent")[1] == by_place
    assert (
        "unknown label 'zzz'; known are never retrieved,"
        in type_in("errors", run, "--label", "zzz")[2]
    )
    code, _, error = type_in("errors", run, "--lost-at", "extracton")
    assert code == 2
    assert "did you mean extraction?" in error


def test_a_step_is_shown_in_full_as_text(type_in, run: Path):
    shown = type_in("trace", run, "--question", "heat-cast", "--step", 2)[1]
    assert shown.startswith("step 2: ")
    assert "[bold]Al Pacino[/bold]" in shown
    assert "\x1b" not in shown
    assert ("long " * 400).strip() in shown


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


def test_without_a_question_the_runs_questions_are_listed(type_in, run: Path):
    code, shown, _ = type_in("trace", run)
    head, *lines = shown.splitlines()
    assert code == 0
    heads = "status P R EM labels tokens seconds id question"
    assert head.split() == heads.split()
    first = "done .00 .00 .00 retrieved but lost – – heat-cast/0 Who is in Heat?"
    assert [line.split() for line in lines] == [first.split(), first.replace("/0", "/1").split()]
    # Columns are aligned: the question begins below its heading.
    assert {line.index("Who") for line in lines} == {head.index("question")}
    assert len(type_in("trace", run, "--print", "--epoch", 1)[1].splitlines()) == 2


def test_several_runs_are_printed_one_after_the_other(type_in, run: Path):
    other = shutil.copytree(run, run.with_name("other"))
    shown = type_in("trace", run, other)[1].split("\n\n")
    assert [part.splitlines()[0] for part in shown] == ["== R", "== other"]
    shown = type_in("trace", run, other, "--question", "heat-cast")[1]
    assert shown.count("Who is in Heat?") == 2


def test_a_run_without_the_question_says_so_in_its_place(type_in, run: Path, tmp_path: Path):
    other = tmp_path / "other"
    question = Question(id="kong", question="Who is in King Kong?")
    create_run(other, RunSpec("branches", "q", "d", {}, {}, "s", 1, "0"), [question])
    code, shown, _ = type_in("trace", other, run, "--question", "heat-cast")
    assert code == 0
    assert "other: no item has the id 'heat-cast'" in shown.split("== R")[0]
    assert "Who is in Heat?" in shown.split("== R")[1]
    assert type_in("trace", other, run, "--question", "x")[0] == 2


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--step", 2), "name it with --question"),
        (("--live",), "--live needs the app in a terminal"),
        (("--live", "--print"), "--live needs the app in a terminal"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(type_in, run: Path, options, hint):
    code, shown, error = type_in("trace", run, *options)
    assert (code, shown) == (2, "")
    assert hint in error
    assert len(error.splitlines()) == 1


def test_a_failed_items_line_says_why(type_in, tmp_path: Path):
    path = tmp_path / "failed"
    create_run(path, RunSpec("branches", "q", "d", {}, {}, "s", 1, "0"), [QUESTION])
    with RunStore(path) as store:
        record = {
            "prediction": {}, "evidence": [], "how": "failed", "usage": {}, "error": "server: gone",
        }  # fmt: skip
        asyncio.run(store.begin(next(store.pending())).finish("failed", record))
    line = type_in("trace", path)[1].splitlines()[1]
    assert line.startswith("failed")
    assert line.endswith("Who is in Heat? (server: gone)")
