"""Judging that is killed with SIGKILL, again and again, loses no reply that was kept.

The server itself kills the process that asks it, on the arrival of a request: no clock decides.
"""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec
from branchwise.eval.judging.grading import GRADING, Grader, property_requests
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.tasks import get_task
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.store import open_run
from branchwise.runs.store.results import run_judgements
from support.chat_server import Answer, Body, ChatServer, say
from support.needs import DATA, needs_data

pytestmark = [pytest.mark.usefixtures("process"), needs_data]

QUESTIONS = DATA / "condambigqa" / "dev.json"
MOMENTS = (90, 40, 130)
"""Requests that a process may send."""
CONCURRENCY = 6
Asked = tuple[str, str]


class Judge:
    """Gives each text a grade of its own, and kills who asks at the chosen request."""

    def __init__(self) -> None:
        self.log: list[Asked] = []
        self._aimed = threading.Event()
        self._pid: int | None = None
        self._left = 0

    def aim(self, pid: int | None, requests: int = 0) -> None:
        """Kill the process when it has sent this many more requests (never where None)."""
        self._pid, self._left = pid, requests
        self._aimed.set()

    def wait(self) -> None:
        """Answer nothing before the next aim."""
        self._aimed.clear()

    def __call__(self, body: Body) -> Answer:
        self._aimed.wait()
        asked = body["messages"][0]["content"], body["messages"][1]["content"]
        self.log.append(asked)
        self._left -= 1
        if self._left == 0 and self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
        grade = str(len(asked[1]) % 11)
        return say(grade, tokens=((grade, {grade: -0.1}),))


def kept_replies(run: Path, spec: str) -> set[Asked]:
    """What the run's judgements hold a reply to."""
    prompts = Prompts.load()
    caller = ModelCaller(ModelSpec.parse(spec), Decoding(**GRADING), prompts)
    items, task = list(open_run(run).answered_items()), get_task("condambigqa")
    requests = property_requests(items, task, "aligned")
    with run_judgements(run) as kept:
        grader = Grader(caller, kept, "judge")
        known = [one for one in requests if kept.recall(grader.key(one)).value is not None]
    return {(prompts.render(one.prompt), one.message) for one in known}


@pytest.mark.long
def test_judging_killed_again_and_again_asks_only_for_what_is_missing(
    chat_server: ChatServer, tmp_path: Path, type_in: Any, start: Callable[..., Any]
) -> None:
    run, spec = tmp_path / "run", f"openai:judge@{chat_server.url}"
    asked = ("--questions", f"condambigqa:{QUESTIONS}", "--model", "offline")
    assert type_in("run", *asked, "--out", run)[0] == 0
    judge = Judge()
    chat_server.play(judge)
    command = ("score", run, "--judge", spec, "--judge-pairs", "aligned")
    command += ("--concurrency", CONCURRENCY)
    kills = []
    for moment in MOMENTS:
        judge.wait()
        process = start(*command)
        judge.aim(process.pid, moment)
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
        kills.append((len(judge.log), kept_replies(run, spec)))
    judge.aim(None)
    choice = ScoringChoice(judge_entities=True, judge=spec, judge_pairs="aligned")
    scored = score_answers(run, ScoringSettings(choice))
    for n, (sent, kept) in enumerate(kills, start=1):
        assert not kept & set(judge.log[sent:])
        # Those in flight at a kill are not kept, and may be counted for the next process.
        assert len(kept) >= sum(MOMENTS[:n]) - 2 * n * CONCURRENCY
    everything = kept_replies(run, spec)
    assert everything == set(judge.log)
    assert len(judge.log) - len(everything) <= len(MOMENTS) * CONCURRENCY
    assert scored.settled.grades is not None
    assert scored.settled.grades.ungraded == ()
    assert scored.scores.aggregates["all"]["answer_score"].n == 102
    again = score_answers(run, ScoringSettings(choice, asks=False))
    assert again.scores.aggregates == scored.scores.aggregates
