"""Runs with a sub-agent for each reading: traces, labels, replays, kills and refusals."""

import json
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branchwise import System, run, score
from branchwise.base.errors import InputError
from branchwise.eval.errors.attribution import examine
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.runs.store import open_run
from branchwise.ui.traces.plain import item_lines
from branchwise.ui.traces.runs import RunView
from support.by_role import by_role, role_of, turn_of, user_of
from support.chat_server import Answer, Body, call, context_length, digest, say
from support.runs.forked import fork_of, goes_on_from_every_step, read, step_of
from support.runs.killing import Killer
from support.runs.told import told

LATER, EARLIER, UNLISTED = "Heat (1995 film)", "Heat (1986 film)", "Heat (2013 film)"
LINES = {name: f"Who directed {name}?" for name in (LATER, EARLIER)}
QUESTION = {
    "id": "q",
    "question": "Who directed Heat?",
    "answers": {LATER: ["Michael Mann"], EARLIER: ["Burt Reynolds"], UNLISTED: ["Guillermin"]},
}
LEAD = say("\n".join(LINES.values()))


@pytest.fixture
def ask(chat_server: Any, make_system: Any, tmp_path: Path) -> Any:
    """Runs the question by sub-agents that answer by a script each."""

    def ask(name: str = "R", **scripts: Any) -> Any:
        (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
        agent = by_reading(**scripts)
        chat_server.play(by_role(expander=LEAD, agent=agent))
        system = make_system().model_copy(update={"fan_out": True, "k": 1})
        return run(str(tmp_path / "q.jsonl"), system, out=tmp_path / name)

    return ask


def name_of(body: Body) -> str:
    return next(name for name, line in LINES.items() if f"- {line}" in user_of(body))


def by_reading(later: list[Answer], earlier: list[Answer]) -> Any:
    """Each sub-agent's turns; at a refusal the next answer is the same turn's."""
    left = {LATER: iter(later), EARLIER: iter(earlier)}
    return lambda body: next(left[name_of(body)])


def found(*answers: str) -> Answer:
    return say(json.dumps({"reasoning": "", "answers": {"mine": answers}}))


MANN, REYNOLDS, KONG = (
    call("local_retriever", query=query) for query in ("Mann wrote", "Reynolds bodyguard", "second")
)


def errors_of(made: Any) -> ItemErrors:
    reader = made.open()
    (row,), (item,) = reader.items(), reader.answered_items()
    errors = examine(item, reader.events(row.item)).errors
    reader.close()
    return errors


def missing(made: Any) -> dict[str, tuple[Any, ...]]:
    """By missing answer: its label, who lost it, and the steps at which it was retrieved."""
    lost = errors_of(made).missing
    return {one.text: (one.label, one.lost_at, [at.step for at in one.places]) for one in lost}


def test_a_trace_tells_of_each_conversation(ask: Any) -> None:
    made = ask(later=[MANN, found("Michael Mann")], earlier=[found("Burt Reynolds")])
    with RunView.open(made.path) as view:
        depths = [(step.kind, step.depth) for step in view.trace(0).steps]
        lines = [line.partition("  ")[2].strip() for line in item_lines(view, 0, passages=0)]
    assert depths == [
        *(("start", 0), ("expansion", 0)),
        *(("stage", 0), ("model", 1), ("tool", 2), ("model", 1), ("answer", 1), ("stage_end", 1)),
        *(("stage", 0), ("model", 1), ("answer", 1), ("stage_end", 1)),
        ("answer", 0),
    ]
    assert [" ".join(line.split()) for line in lines if line.startswith(("stage", "result"))] == [
        f"stage answer: {LATER}",
        f"result {LATER}: Michael Mann",
        f"stage answer: {EARLIER}",
        f"result {EARLIER}: Burt Reynolds",
    ]
    scored = score(made).aggregates["all"]
    # Two of three answers, each under its reading's name.
    assert scored["strict_recall"].mean == pytest.approx(2 / 3)
    assert scored["strict_precision"].mean == 1


def test_what_another_reading_retrieved_was_not_retrieved_for_this_one(ask: Any) -> None:
    """Both sub-agents find what the other needs; what was found for a reading that the lead did not
    list was found for none."""
    made = ask(
        later=[REYNOLDS, KONG, found("Somebody")], earlier=[MANN, REYNOLDS, found("Somebody")]
    )
    assert missing(made) == {
        "Michael Mann": ("incomplete_extraction", None, []),
        # The second search of the second conversation, which begins at step 10.
        "Burt Reynolds": ("incorrect_reasoning", "agent", [14]),
        "Guillermin": ("incomplete_extraction", None, []),
    }
    labels = {branch.name: branch.labels for branch in errors_of(made).branches}
    assert labels[UNLISTED] == labels[LATER] == ("incomplete_extraction", "missing_branch")


def test_what_was_retrieved_counts_for_the_name_that_the_sub_agent_gives(
    chat_server: Any, make_system: Any, tmp_path: Path
) -> None:
    """The lead's name is aligned with no branch: it read no year."""
    vague = "Who directed Heat (a crime story)?"

    def agent(body: Body) -> Answer:
        if LINES[EARLIER] in user_of(body):
            return found("Burt Reynolds")
        if turn_of(body) == 0:
            return MANN
        return say(json.dumps({"reasoning": "", "answers": {LATER: ["Somebody"]}}))

    lead = say(f"{vague}\n{LINES[EARLIER]}")
    chat_server.play(by_role(expander=lead, agent=agent))
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    system = make_system().model_copy(update={"fan_out": True, "k": 1})
    made = run(str(tmp_path / "q.jsonl"), system, out=tmp_path / "R")
    assert missing(made)["Michael Mann"] == ("incorrect_reasoning", "agent", [4])


def test_an_answer_in_a_text_that_could_not_be_read_was_lost_there_in_any_conversation(
    ask: Any,
) -> None:
    made = ask(
        later=[say("It is Michael Mann."), say("I said so.")], earlier=[found("Burt Reynolds")]
    )
    assert missing(made)["Michael Mann"][:2] == ("incorrect_reasoning", "repair")
    assert errors_of(made).format_error is None


def test_what_did_not_fit_is_told_of_its_own_conversation(ask: Any) -> None:
    """The second sub-agent's only result is left out of its request: it never saw it, though the
    first one had two before."""
    made = ask(
        later=[MANN, MANN, found("Michael Mann")],
        earlier=[REYNOLDS, context_length(), found("Somebody")],
    )
    reader = made.open()
    (row,), (item,) = reader.items(), reader.answered_items()
    evidence = examine(item, reader.events(row.item)).evidence
    shown = {pair.branch: [at.shown for at in places] for pair, places in evidence.places.items()}
    # Gold branches are in the order of their names; a passage is evidence where it is shown first.
    assert shown == {0: [False], 1: [True]}


@pytest.mark.long
@pytest.mark.parametrize("lines", [[*LINES.values()], [LINES[LATER]]], ids=["two", "one"])
def test_a_fork_at_any_step_goes_on_as_the_parent_did(
    lines: list[str], chat_server: Any, make_system: Any, tmp_path: Path
) -> None:
    """The second time with a lead that lists one reading: the question itself is asked about."""

    def agent(body: Body) -> Answer:
        if turn_of(body) == 1:
            return call("local_retriever", query="Mann wrote")
        own = EARLIER if LINES[EARLIER] in user_of(body) else LATER
        return found(f"the director of {own}")

    chat_server.play(by_role(expander=say("\n".join(lines)), agent=agent))
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    system = make_system().model_copy(update={"fan_out": True, "k": 1})
    path = run(str(tmp_path / "q.jsonl"), system, out=tmp_path / "R").path
    goes_on_from_every_step(path, chat_server, tmp_path)


def test_a_fork_may_change_what_the_lead_listed(ask: Any, tmp_path: Path) -> None:
    made = ask(
        later=[found("Michael Mann"), found("Michael Mann")],
        earlier=[found("Burt Reynolds"), found("Needham")],
    )
    step = step_of(read(made.path)[1], "expansion")
    edit = f"{LINES[EARLIER]}\n{LINES[LATER]}"
    row, trace = fork_of(made.path, "q", step, tmp_path / "fork", edit=edit)
    answers = {EARLIER: ["Needham"], LATER: ["Michael Mann"]}
    assert row.outcome["prediction"]["answers"] == answers
    assert [event.body.option for event in trace if event.kind == "stage"] == [*answers]


def test_other_answers_are_refused(make_system: Any, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    system = make_system().model_copy(update={"fan_out": True})
    for task in ("clarify", "ambiguity", "fanoutqa"):
        with pytest.raises(InputError, match=r"^fan_out: .* by reading; leave it out"):
            run(str(tmp_path / "q.jsonl"), system, out=tmp_path / "no", task=task)
    assert not (tmp_path / "no").exists()


def test_the_offline_model_answers_each_reading(corpus: Path, tmp_path: Path) -> None:
    kong = {"King Kong (1933 film)": ["Cooper"], "King Kong (1976 film)": ["John Guillermin"]}
    question = {"id": "k", "question": "Who directed King Kong?", "answers": kong}
    (tmp_path / "k.jsonl").write_text(json.dumps(question))
    system = System(model="offline", corpus=str(corpus), fan_out=True)
    made = run(str(tmp_path / "k.jsonl"), system, out=tmp_path / "K")
    reader = made.open()
    (row,) = reader.items()
    assert row.outcome["prediction"]["answers"] == {
        "King Kong (1933 film)": ["Merian C. Cooper"],
        "King Kong (1976 film)": ["John Guillermin"],
    }
    reader.close()


def searching(body: Body) -> Answer:
    """Two searches and an answer, all by the request alone."""
    if role_of(body) == "expander":
        return LEAD
    if turn_of(body) < 2:
        return call("local_retriever", query=f"Heat {turn_of(body)}")
    return found("Michael Mann" if name_of(body) == LATER else "Burt Reynolds")


@pytest.mark.slow
def test_a_replay_has_the_same_trace_and_scores(ask: Any, chat_server: Any, tmp_path: Path) -> None:
    made = ask(
        later=[MANN, MANN, found("Michael Mann")], earlier=[say("Reynolds"), found("Burt Reynolds")]
    )
    chat_server.play([])
    system = System(**{**made.open().system, "model": f"replay:{made.path}"})
    again = run(str(tmp_path / "q.jsonl"), system, out=tmp_path / "again")
    assert told(again.path) == told(made.path)
    assert score(again).to_json() == score(made).to_json()


def numbered(body: Body, number: int) -> Answer:
    """The script's answer with its number in its usage."""
    usage = {"completion_tokens_details": {"reasoning_tokens": number}}
    tokens = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    return replace(searching(body), usage={**tokens, **usage})


def recorded(path: Path, log: list[str]) -> set[str]:
    """The requests whose replies are in the store."""
    reader = open_run(path)
    items = [item for item, *_ in reader.items_with_status(("pending", "running", "done"))]
    replies = [
        value
        for item in items
        for (key, _), value in reader.responses(item).items()
        if key.kind == "model"
    ]
    reader.close()
    return {log[reply["usage"]["reasoning"]] for reply in replies}


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_a_run_killed_among_conversations_asks_for_nothing_twice(
    chat_server: Any, make_system: Any, start: Any, tmp_path: Path
) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    killer, path = Killer(numbered), tmp_path / "R"
    chat_server.play(killer)
    system = make_system()
    command: list[Any] = [
        *("run", "--questions", tmp_path / "q.jsonl", "--corpus", system.corpus, "--k", 2),
        *("--tool", "local_retriever", "--model", system.model, "--fan-out", "--out", path),
    ]
    kills = []
    for moment in (1, 3, 3, None):
        killer.started.clear()
        process = start(*command)
        killer.aim(process, moment)
        code = process.wait()
        assert code == (0 if moment is None else -signal.SIGKILL), process.stderr.read()
        log = [digest(body) for body in killer.requests]
        kills.append((len(log), recorded(path, log)))
        command = ["resume", path]
    for sent, kept in kills[:-1]:
        assert not kept & set(log[sent:])
    # The lead, and three turns of each reading; of these, two are on their way at a time.
    assert len(set(log)) == 1 + 2 * 3
    assert len(log) <= 1 + 2 * 3 + 1 + 2 + 2
    reader = open_run(path)
    (row,) = reader.items()
    kinds = Counter(event.kind for event in reader.events(row.item))
    once = {"start": 1, "expansion": 1, "answer": 3}
    assert kinds == {**once, "stage": 2, "model": 6, "tool": 4, "stage_end": 2}
    calls = {role: usage["calls"] for role, usage in row.outcome["usage"].items()}
    assert calls == {"expander": 1, "agent": 6}
    reader.close()
