"""What models said is kept: in a run, beside a predictions file, through kills and faults."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import warnings
from contextlib import closing

import pytest

from branchwise import score
from branchwise.agents.journal import CallKey
from branchwise.base.errors import InputError
from branchwise.runs.store import RunStore, StoreError, open_run
from branchwise.runs.store.connection import DATABASE
from branchwise.runs.store.results import StoredJudgements, file_judgements, run_judgements
from support import TESTS
from support.chat_server import ChatServer, say
from support.eval.judging_cases import KEY, align, an_item, listed, make_run

CALL = CallKey("model", "matcher", "abc")


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def items_of(count):
    return [
        an_item({"one": ["x"], "two": ["y"]}, id=f"q{n}", text=f"Question {n:03d}?")
        for n in range(count)
    ]


@pytest.fixture
def run(tmp_path):
    """A run of twelve questions that a model has to be asked about."""
    make_run(tmp_path / "run", items_of(12))
    return tmp_path / "run"


def first_reading(body):
    return say(json.dumps(dict.fromkeys(listed(body, "n"), "r1")))


def rows_of(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT role, digest, sample, body FROM judgements").fetchall()


async def test_samples_are_kept_apart(tmp_path):
    with StoredJudgements(tmp_path / "kept.sqlite") as judgements:
        for sample in (0, 1):
            slot = judgements.recall(CALL, sample)
            assert slot.value is None
            await judgements.keep(slot, {"content": str(sample)})
    assert sorted(row[2] for row in rows_of(tmp_path / "kept.sqlite")) == [0, 1]
    with StoredJudgements(tmp_path / "kept.sqlite") as judgements:
        assert judgements.recall(CALL).value == {"content": "0"}
        assert judgements.recall(CALL, 1).value == {"content": "1"}


async def test_the_file_beside_predictions_is_one_file_when_closed(tmp_path):
    with file_judgements(tmp_path / "mine.jsonl") as judgements:
        await judgements.keep(judgements.recall(CALL), {"content": "x"})
        assert judgements.recall(CALL).value == {"content": "x"}
    assert [file.name for file in tmp_path.iterdir()] == ["mine.jsonl.judgements.sqlite"]
    judgements.close()


def test_scoring_again_needs_no_server_and_no_key(run, monkeypatch):
    server = ChatServer(first_reading).start()

    def matched():
        with run_judgements(run) as judgements:
            return asyncio.run(align(items_of(12), server.url, judgements))

    first, asked = matched()
    assert (asked.consulted.fresh.calls, asked.consulted.cached.calls) == (12, 0)
    server.stop()
    monkeypatch.delenv("OPENAI_API_KEY")
    second, again = matched()
    assert second == first
    assert (again.consulted.fresh.calls, again.consulted.cached.calls) == (0, 12)


def test_judgements_come_into_runs_that_have_no_room_for_them_and_disturb_nothing(chat_server, run):
    def tables():
        with closing(sqlite3.connect(run / DATABASE)) as connection:
            return {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}

    before = score(run)
    assert "judgements" not in tables()
    with run_judgements(run) as judgements:
        assert judgements.recall(CALL).value is None
        chat_server.play(first_reading)
        asyncio.run(align(items_of(12), chat_server.url, judgements))
    assert "judgements" in tables()
    assert {file.name for file in run.iterdir()} == {DATABASE, "lock"}
    assert score(run) == before


def test_the_key_and_the_answers_are_in_no_row(chat_server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    chat_server.play(first_reading)
    item = an_item({"one": ["Robert De Niro"]})
    with file_judgements(tmp_path / "p.jsonl") as judgements:
        asyncio.run(align([item], chat_server.url, judgements))
    assert chat_server.headers[0]["Authorization"] == f"Bearer {KEY}"
    (row,) = rows_of(tmp_path / "p.jsonl.judgements.sqlite")
    assert (row[0], row[2]) == ("matcher", 0)
    for secret in (KEY, "De Niro", "Burt Reynolds"):
        assert secret not in str(row)


def test_scoring_works_beside_a_run_that_is_being_written(chat_server, run):
    chat_server.play(first_reading)
    with RunStore(run) as store, run_judgements(run) as judgements:
        journal = store.begin(next(store.pending(), None) or _an_ended_item(store))
        asyncio.run(journal.keep(journal.recall(CALL), {"content": "agent"}))
        _, report = asyncio.run(align(items_of(12), chat_server.url, judgements))
        asyncio.run(journal.keep(journal.recall(CALL), {"content": "agent again"}))
        assert report.consulted.fresh.calls == 12
    assert len(rows_of(run / DATABASE)) == 12
    reader = open_run(run)
    assert len(reader.responses(1)) == 2
    reader.close()


def _an_ended_item(store):
    from branchwise.runs.store import PendingItem

    return PendingItem(1, store.reader.question(0), 0, resumed=True)


def start(run, url):
    program = [sys.executable, "-m", "support.eval.judging_cases", str(run), url]
    return subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=TESTS
    )


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_scorers_at_once_leave_a_whole_run(chat_server, run):
    chat_server.play(first_reading)
    scorers = [start(run, chat_server.url) for _ in range(2)]
    for scorer in scorers:
        out, errors = scorer.communicate()
        assert scorer.returncode == 0, errors
        calls = json.loads(out)["calls"]
        assert calls["fresh"]["calls"] + calls["cached"]["calls"] == 12
    assert len(rows_of(run / DATABASE)) == 12
    with closing(sqlite3.connect(run / DATABASE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert len(score(run).items) == 12


def test_what_cannot_be_written_is_used_with_one_warning(chat_server, tmp_path):
    chat_server.play(first_reading)
    nowhere = file_judgements(tmp_path / "gone" / "mine.jsonl")
    with nowhere, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ended, report = asyncio.run(align(items_of(3), chat_server.url, nowhere))
        _, again = asyncio.run(align(items_of(3), chat_server.url, nowhere))
    assert [item.matched.by for item in ended] == ["llm"] * 3
    (warning,) = [str(w.message) for w in caught if "are not kept" in str(w.message)]
    assert warning.startswith(str(tmp_path / "gone" / "mine.jsonl.judgements.sqlite"))
    assert (report.consulted.fresh.calls, again.consulted.cached.calls) == (3, 3)


async def test_a_read_only_run_is_read_and_not_written(chat_server, run, monkeypatch):
    chat_server.play(first_reading)
    with run_judgements(run) as judgements:
        await align(items_of(2), chat_server.url, judgements)

    def read_only(path):
        return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)

    monkeypatch.setattr("branchwise.runs.store.results.connect", read_only)
    with run_judgements(run) as judgements:
        with pytest.warns(UserWarning, match="attempt to write a readonly database"):
            _, report = await align(items_of(4), chat_server.url, judgements)
        assert (report.consulted.fresh.calls, report.consulted.cached.calls) == (2, 2)
    assert len(rows_of(run / DATABASE)) == 2


async def test_a_full_disk_stops_before_more_is_asked(tmp_path):
    path = tmp_path / "kept.sqlite"
    with StoredJudgements(path) as judgements:
        await judgements.keep(judgements.recall(CALL), {"content": "x"})
        judgements._writing.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StoreError, match=r"kept\.sqlite: the model's reply cannot be kept"):
            await judgements.keep(judgements.recall(CallKey("model", "m", "d")), {"c": "x" * 10**6})
    assert len(rows_of(path)) == 1


async def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "p.jsonl.judgements.sqlite").write_text(
        "my own notes, not to be overwritten\n" * 99
    )
    with (
        file_judgements(tmp_path / "p.jsonl") as judgements,
        pytest.raises(InputError, match=r"p\.jsonl\.judgements\.sqlite: cannot be read"),
    ):
        judgements.recall(CALL)


async def test_a_damaged_row_is_asked_for_and_written_again(tmp_path):
    with StoredJudgements(tmp_path / "kept.sqlite") as judgements:
        await judgements.keep(judgements.recall(CALL), {"content": "x"})
        for damage in (b"{", b"[1]", 7):
            judgements._writing.execute("UPDATE judgements SET body = ?", (damage,))
            slot = judgements.recall(CALL)
            assert slot.value is None
            await judgements.keep(slot, {"content": "y"})
            assert judgements.recall(CALL).value == {"content": "y"}
