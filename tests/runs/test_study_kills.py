"""A study killed with SIGKILL, again and again, ends with the scores of one that was not.

The server itself kills the process that asks it, on the arrival of a request chosen at random.
benchmarks/kills.py kills studies, and all else, at any moment, a thousand times.
"""

import random
import signal

import pytest

from branchwise import score
from branchwise.runs.store import open_run
from branchwise.runs.studies.folder import StudyFolder
from branchwise.runs.studies.running import StudyDesign, run_study
from branchwise.runs.studies.schema import load_study
from support.runs.killing import Killer
from support.runs.studies import outcomes, reply

pytestmark = pytest.mark.slow

KILLS, QUESTIONS, CONCURRENCY, K = 3, 12, 4, 2
STUDY = """
name: four
questions: questions.jsonl
base:
  model: openai:scripted@{url}
  corpus: {corpus}
  k: {k}
factors:
  expansion: [off, on]
  extraction: [off, on]
  k: [{k}, 1]
concurrency: {concurrency}
"""


def scores(folder):
    found = {}
    for name, path in folder.runs():
        scored = score(path)
        found[name] = (scored.aggregates, [item.to_json() for item in scored.items])
    return found


def progress(folder):
    counts = {}
    for name, path in folder.runs():
        counts[name] = open_run(path).progress()
    return counts


@pytest.mark.long
def test_a_study_killed_again_and_again_ends_with_the_scores_of_one_that_was_not(
    chat_server, corpus, question_file, tmp_path, start
):
    question_file(QUESTIONS)
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.format(url=chat_server.url, corpus=corpus, k=K, concurrency=CONCURRENCY))
    killer, moments = Killer(lambda body, _: reply(body)), random.Random(7)
    chat_server.play(killer)
    between = []
    for _ in range(KILLS):
        killer.started.clear()
        process = start("ablate", study, "--out", tmp_path / "killed")
        killer.aim(process, moments.randint(20, 40))
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
        between.append(progress(StudyFolder.open(tmp_path / "killed")))
    last = start("ablate", study, "--out", tmp_path / "killed")
    killer.aim(last, None)
    assert last.wait() == 0, last.stderr.read()
    sent_with_kills = len(killer.requests)
    at_once = run_study(StudyDesign.of(load_study(study)), tmp_path / "whole").folder

    killed = StudyFolder.open(tmp_path / "killed")
    assert [name for name, _ in killed.runs()] == ["base", "+expansion", "+extraction", "k=1"]
    assert outcomes(killed) == outcomes(at_once)
    assert scores(killed) == scores(at_once)
    assert len({str(found[0]) for found in scores(killed).values()}) > 2, "the systems differ"
    # Only what was on its way at a kill was asked for again: K passages of a question at most.
    assert sent_with_kills - (len(killer.requests) - sent_with_kills) <= KILLS * CONCURRENCY * K
    ended = [[counts["done"] for counts in after.values()] for after in between]
    assert sum(ended[-1]) > 10, "the kills must hit a study that had got somewhere"
    assert all(max(done) - min(done) <= CONCURRENCY for done in ended), "systems advance together"
