"""Damaged runs: said in one line by every command, verified, recovered, and resumed."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from branchwise import resume, run, score
from branchwise.runs.store import RunStore, open_run
from branchwise.runs.store.connection import PAGE_SIZE
from branchwise.runs.store.verifying import verify_run
from branchwise.runs.studies.running import run_study
from support.chat_server import search_then_answer
from support.runs.studies import design_of, four_systems, reply
from support.stores import damage, edited

pytestmark = pytest.mark.slow

FLIP_EVENT = "UPDATE events SET body = CAST(replace(body, 'Heat', 'Heap') AS BLOB) WHERE item = 2"


@pytest.fixture
def made(chat_server, make_system, question_file, tmp_path) -> Path:
    """Three questions, each answered after one search: two replies and one result an item."""
    chat_server.play(search_then_answer)
    path = tmp_path / "run"
    run(str(question_file(3)), make_system(), out=path)
    score(path)
    return path


def told(path: Path) -> list[object]:
    reader = open_run(path)
    rows = [(row.question, row.epoch, row.status, row.outcome) for row in reader.items()]
    traces = [[(e.kind, e.data) for e in reader.events(row.item)] for row in reader.items()]
    reader.close()
    return [rows, traces]


COMMANDS = [
    ("score", "RUN"), ("report", "RUN"), ("errors", "RUN"), ("resume", "RUN"),
    ("export", "RUN", "--events"), ("trace", "RUN", "--print", "--question", "q1"),
    ("fork", "RUN", "--question", "q1", "--step", "2"),
    ("ask", "Who directed Heat?", "--model", "replay:RUN"),
]  # fmt: skip


@pytest.mark.slow
def test_every_command_says_it_in_one_line(made, type_in):
    damage(made, FLIP_EVENT)
    before = (made / "run.sqlite").read_bytes()
    for command in COMMANDS:
        code, _, said = type_in(*[part.replace("RUN", str(made)) for part in command])
        assert code == 2, command
        (line,) = said.splitlines()
        assert line.startswith(f"branchwise: {made / 'run.sqlite'}: is damaged (")
        assert "; 2 of 3 items are whole; save what is whole: branchwise recover " in line
        assert (made / "run.sqlite").read_bytes() == before


CHANGES = {
    "DELETE FROM events WHERE item = 2 AND seq = 1": 2,
    "DELETE FROM responses WHERE item = 1": 2,
    "DELETE FROM items WHERE item = 3": 2,
    "DELETE FROM questions WHERE n = 0": 2,
    "DELETE FROM passages": 0,
    "UPDATE items SET status = 'pending', outcome = NULL WHERE item = 1": 2,
    "UPDATE items SET question = 5 WHERE item = 1": 2,
    "UPDATE events SET item = 7 WHERE item = 2 AND seq = 0": 2,
    "UPDATE passages SET text = text || '.' WHERE title = 'Heat (1995 film)'": 0,
    "UPDATE scores SET body = X'7B7D'": 3,
    "DELETE FROM meta WHERE key = 'scoring'": None,
    "UPDATE meta SET value = '2' WHERE key = 'epochs'": None,
    "DROP INDEX items_by_status": 3,
}
"""What is done behind the run's back, and how many items are whole then; None: nobody can say."""


def test_what_was_changed_or_is_missing_is_found(made, tmp_path):
    assert verify_run(made).is_whole
    for number, (change, whole) in enumerate(CHANGES.items()):
        copy = shutil.copytree(made, tmp_path / f"copy-{number}")
        damage(copy, change)
        verdict = verify_run(copy)
        assert verdict.problems, change
        assert verdict.whole == (whole or 0), change
        assert verdict.items == (None if whole is None else 3), change


def test_recovered_and_resumed_it_asks_for_what_is_lost_alone(chat_server, made, type_in, tmp_path):
    whole = told(made)
    damage(made, "DELETE FROM events WHERE item = 2")
    damage(made, "UPDATE responses SET body = X'7B7D' WHERE item = 2 AND digest = "
           "(SELECT digest FROM responses WHERE item = 2 AND kind = 'model' "
           "ORDER BY rowid DESC LIMIT 1)")  # fmt: skip
    new = tmp_path / "new"
    code, said, _ = type_in("recover", made, "--out", new)
    assert code == 0
    assert said.splitlines()[0] == f"{new}: 2 of 3 items saved whole"
    assert "items that begin again: 1 (q1)" in said
    assert "lost responses of theirs: 1" in said
    assert type_in("verify", new)[0] == 0
    asked = len(chat_server.requests)
    resume(new)
    assert len(chat_server.requests) == asked + 1
    predictions = [row[3]["prediction"] for row in told(new)[0]]
    assert predictions == [row[3]["prediction"] for row in whole[0]]
    assert [told(new)[1][n] for n in (0, 2)] == [whole[1][n] for n in (0, 2)]


def test_what_sqlite_no_longer_reaches_begins_again(chat_server, made, type_in, tmp_path):
    whole = told(made)
    with edited(made):  # which lays out what was packed
        pass
    data = bytearray((made / "run.sqlite").read_bytes())
    with closing(sqlite3.connect(made / "run.sqlite")) as connection:
        roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_schema"))
    for root in (roots["events"], roots["sqlite_autoindex_events_1"]):
        data[PAGE_SIZE * (root - 1) : PAGE_SIZE * root] = bytes(PAGE_SIZE)
    (made / "run.sqlite").write_bytes(data)
    assert type_in("verify", made)[0] == 1
    new = tmp_path / "new"
    code, said, _ = type_in("recover", made, "--out", new)
    assert (code, "items that begin again: 3" in said) == (0, True)
    asked = len(chat_server.requests)
    resume(new)
    assert len(chat_server.requests) == asked, "their replies were saved"
    predictions = [row[3]["prediction"] for row in told(new)[0]]
    assert predictions == [row[3]["prediction"] for row in whole[0]]


def test_a_question_that_is_lost_is_given_again(made, type_in, question_file, tmp_path):
    whole = told(made)
    damage(made, "DELETE FROM questions WHERE n = 1")
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "x", "question": "Who?", "answers": {"default": ["y"]}}\n')
    code, _, said = type_in("recover", made, "--out", tmp_path / "new")
    assert code == 2
    assert "questions of the run are lost (1 of 3); give exactly the run's questions" in said
    code, _, said = type_in("recover", made, "--out", tmp_path / "new", "--questions", other)
    assert code == 2
    assert "and these are others" in said
    given = question_file(3)
    assert type_in("recover", made, "--out", tmp_path / "new", "--questions", given)[0] == 0
    assert told(tmp_path / "new") == whole


def test_a_run_that_is_being_written_is_verified_and_not_recovered(made, type_in, tmp_path):
    with RunStore(made):
        assert type_in("verify", made)[0] == 0
        code, _, said = type_in("recover", made, "--out", tmp_path / "new")
    assert code == 2
    assert "another process is writing this run" in said


def test_a_study_is_verified_and_recovered_run_by_run(
    chat_server, make_system, question_file, type_in, tmp_path
):
    chat_server.play(reply)
    study = tmp_path / "S"
    run_study(design_of(question_file(2), four_systems(make_system())[:2]), study)
    code, said, _ = type_in("verify", study)
    assert (code, len(said.splitlines())) == (0, 2)
    damage(study / "runs" / "base", "DELETE FROM events WHERE item = 1")
    assert type_in("verify", study)[0] == 1
    assert type_in("recover", study, "--out", tmp_path / "T")[0] == 0
    assert type_in("verify", tmp_path / "T")[0] == 0
    file = tmp_path / "T" / "runs" / "base" / "run.sqlite"
    file.write_bytes((study / "runs" / "expansion" / "run.sqlite").read_bytes())
    code, said, _ = type_in("verify", tmp_path / "T")
    assert code == 1
    assert "the run belongs to another system" in said
