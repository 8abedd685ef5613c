"""Stages as conversations of one item: order, budget, a kill in each of them, studies of them."""

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from branchwise import resume, run, score
from branchwise.agents.decoding import Decoding
from branchwise.graphs.pipeline import MAX_OPTIONS
from branchwise.runs.store import open_run
from branchwise.trace.events import Event
from support.chat_server import Answer, Body, call, fail, say
from support.runs.clarifying import (
    QUESTIONS,
    option_of,
    reply,
    searching,
    stage_of,
    write_questions,
)
from support.runs.killing import Killer


@pytest.fixture
def one_question(tmp_path: Path) -> str:
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(QUESTIONS[0]))
    return str(file)


def events_of(path: Path, item: int = 0) -> list[Event]:
    reader = open_run(path)
    numbers = [row.item for row in reader.items()]
    return list(reader.events(numbers[item]))


def deeds(path: Path, item: int = 0) -> list[Any]:
    """What was done, step by step, without when and how fast."""
    return [(event.kind, event.body.without_around()) for event in events_of(path, item)]


@pytest.mark.slow
def test_the_trace_does_not_depend_on_which_option_is_answered_first(
    chat_server: Any, make_system: Any, one_question: str, tmp_path: Path
) -> None:
    chat_server.play(searching)
    usual = run(one_question, make_system(), out=tmp_path / "A", task="clarify")

    def slow_first(body: Body) -> Answer:
        answer = searching(body)
        if stage_of(body) == "option" and len(body["messages"]) > 2:
            if option_of(body) == "the 1995 film":
                return Answer(answer.content, hangs=True)
            # The second option's last request: the first one's answer comes behind it.
            chat_server.release()
        return answer

    chat_server.play(slow_first)
    other = run(one_question, make_system(), out=tmp_path / "B", task="clarify")
    assert deeds(usual.path) == deeds(other.path)
    options = [e.body.option for e in events_of(other.path) if e.kind == "stage_end"][2:]
    assert options == ["the 1995 film", "the 1986 film"]


@pytest.mark.slow
def test_what_an_option_did_before_another_failed_is_in_the_trace(
    chat_server: Any, make_system: Any, one_question: str, tmp_path: Path
) -> None:
    def fails(body: Body) -> Answer:
        is_second = stage_of(body) == "option" and option_of(body) == "the 1986 film"
        if is_second and len(body["messages"]) > 2:
            return fail(400, "no")
        return searching(body)

    chat_server.play(fails)
    made = run(one_question, make_system(), out=tmp_path / "R", task="clarify")
    assert made.state.failed == 1
    events = events_of(made.path)
    assert events[-1].kind == "error"
    begun = [event.body.option for event in events if event.kind == "stage"][2:]
    assert begun == ["the 1995 film", "the 1986 film"]
    assert [event.kind for event in events].count("tool") >= 3
    chat_server.play(searching)
    before = Counter(chat_server.counts)
    assert resume(made.path, retry_failed=True).state.failed == 0
    # What failed is asked again, and what was on its way beside it, if it had not arrived.
    again = Counter(chat_server.counts) - before
    assert set(again.values()) == {1}
    assert len(again) <= 2


@pytest.mark.parametrize("spent_in", ["detection", "question", "option"])
def test_tokens_that_are_spent_in_a_stage_are_spent_for_the_others(
    chat_server: Any, make_system: Any, one_question: str, tmp_path: Path, spent_in: str
) -> None:
    """A stage without tokens is told to answer at once; its answer is still read."""

    def greedy(body: Body) -> Answer:
        is_last = len(body["messages"]) > 2 or not body.get("tools")
        answer = searching(body) if is_last else call("local_retriever", query="film")
        tokens = 600 if stage_of(body) == spent_in else 10
        usage = {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
        return Answer(answer.content, answer.tool_calls, usage=usage)

    chat_server.play(greedy)
    system = make_system(budget={"tokens": 1000})
    made = run(one_question, system, out=tmp_path / "R", task="clarify")
    stages: dict[str, list[str]] = {}
    name = ""
    for event in events_of(made.path):
        name = f"{event.body.name} {event.body.option}".strip() if event.kind == "stage" else name
        stages.setdefault(name, []).append(event.kind)
    told = [stage for stage, kinds in stages.items() if "budget" in kinds]
    options = ["option the 1995 film", "option the 1986 film"]
    # Detection takes 1,200 of 1,000 tokens; the question 1,200 of 980, so its own last turn and
    # the options have none left; of 960 tokens each option has 480 and takes 600 with one turn.
    after = {"detection": ["question", *options], "question": options, "option": options}
    assert told == after[spent_in]
    outcome = made.open()
    try:
        (row,) = outcome.items()
    finally:
        outcome.close()
    assert row.outcome["prediction"]["task_output"]["answers"] == [
        ["the 1995 film", ["Michael Mann"]],
        ["the 1986 film", ["Richards"]],
    ]


@pytest.mark.slow
def test_only_so_many_options_are_answered(chat_server, make_system, one_question, tmp_path):
    many = ", ".join(f"film {n}" for n in range(MAX_OPTIONS + 8))

    def script(body: Body) -> Answer:
        if stage_of(body) == "question":
            asked = f"Which film: {many}, or the last one?"
            return say(json.dumps({"reasoning": "", "clarification_question": asked}))
        if stage_of(body) == "option":
            return say(json.dumps({"answers": {"default": [option_of(body)]}}))
        return reply(body)

    chat_server.play(script)
    made = run(one_question, make_system(), out=tmp_path / "R", task="clarified")
    asked = [option_of(body) for body in chat_server.requests if stage_of(body) == "option"]
    assert sorted(asked) == sorted(f"film {n}" for n in range(MAX_OPTIONS))
    (ended,) = (e.body for e in events_of(made.path) if e.kind == "stage_end" and e.body.options)
    assert ended.problem == f"of {MAX_OPTIONS + 9} options the first {MAX_OPTIONS} are answered"
    found = score(made).items[0].metrics
    assert found["answer_count"] == MAX_OPTIONS


def recorded(path: Path) -> int:
    reader = open_run(path)
    found = reader.items_with_status(("pending", "running", "done"))
    kinds = (key.kind for item, *_ in found for key, _ in reader.responses(item))
    return sum(kind == "model" for kind in kinds)


@pytest.mark.long
@pytest.mark.usefixtures("process")
@pytest.mark.slow
def test_a_run_killed_in_each_stage_asks_nothing_twice(
    chat_server: Any, make_system: Any, start: Any, one_question: str, tmp_path: Path
) -> None:
    chat_server.play(searching)
    # As the command line makes it.
    settings = {"protocol": "answers-to-ask", "decoding": Decoding()}
    system = make_system().model_copy(update=settings)
    whole = run(one_question, system, out=tmp_path / "whole", task="clarify")
    sent = len(chat_server.requests)
    assert sent == 8  # answers, detection, question, one option: two turns each

    killer, path = Killer(lambda body, _: searching(body)), tmp_path / "R"
    chat_server.play(killer)
    command: list[Any] = [
        *("run", "--questions", one_question, "--task", "clarify", "--out", path),
        *("--protocol", "answers-to-ask", "--corpus", system.corpus, "--k", 2),
        *("--budget-shown", "off", "--tool", "local_retriever", "--model", system.model),
    ]
    kills: list[int] = []
    while True:
        killer.started.clear()
        process = start(*command)
        # The first request of a life is answered and recorded; the second one is not.
        killer.aim(process, 2)
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL, process.stderr.read()
        kills.append(recorded(path))
        command = ["resume", path]
    assert kills == list(range(1, sent))
    # Each request came once, and once more where the process was killed at it.
    assert len({json.dumps(body["messages"]) for body in killer.requests}) == sent
    assert len(killer.requests) == sent + len(kills)
    assert deeds(path) == deeds(whole.path)
    assert score(path).aggregates["all"]["answer_recall"].mean == 1 / 2


STUDY = """
name: combinations
questions: {{source: asked.jsonl, task: clarify}}
base: {{model: "{model}", corpus: {corpus}, budget_shown: "off"}}
factors: {{protocol: [default, answers-to-detect, answers-to-ask, answers]}}
variant: subsequence
"""


@pytest.mark.slow
def test_a_study_varies_the_combinations(chat_server, make_system, type_in, tmp_path):
    chat_server.play(reply)
    write_questions(tmp_path)
    system = make_system()
    file = tmp_path / "study.yaml"
    file.write_text(STUDY.format(model=system.model, corpus=system.corpus))
    code, _, error = type_in("ablate", file, "--out", tmp_path / "S")
    assert code == 0, error
    _, shown, _ = type_in("report", tmp_path / "S")
    assert "longest common subsequence" in " ".join(shown.split())
    _, found, _ = type_in("report", tmp_path / "S", "--json")
    recalls = {
        one["name"]: one["aggregates"]["all"]["answer_recall"]["mean"] for one in json.loads(found)
    }
    # "guillermin" and "cooper" share "er" in this order, and no more.
    assert recalls == pytest.approx(
        {
            "base": 2 / 4,
            "protocol=answers-to-detect": 3 / 4,
            "protocol=answers-to-ask": 1 / 4,
            "protocol=answers": (1 + 1 + 1 / 5) / 4,
        }
    )


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("task: clarify", "task: clarifi"), ":3: unknown task 'clarifi'; known tasks: branches,"),
        (("task: clarify", "task: ambiguity"), ":6: the task ambiguity has no variant 'subseq"),
        (("answers]", "gold-question]"), "the task clarify has no protocol 'gold-question'"),
    ],
)
def test_a_study_of_what_is_not_there_is_refused(
    chat_server: Any, make_system: Any, type_in: Any, tmp_path: Path, edit: Any, said: str
) -> None:
    write_questions(tmp_path)
    system = make_system()
    file = tmp_path / "study.yaml"
    file.write_text(STUDY.format(model=system.model, corpus=system.corpus).replace(*edit))
    code, _, error = type_in("ablate", file, "--out", tmp_path / "S")
    assert code == 2
    assert said in " ".join(error.split())
    assert not (tmp_path / "S").exists()
