"""The run store: what is committed is there, whole, whatever happens to the process."""

import asyncio
import fcntl
import signal
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise import score
from branchwise.agents.journal import CallKey
from branchwise.base.errors import InputError
from branchwise.corpora.passages import make_passage
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.sources import Sources, run_sources
from branchwise.runs.store import (
    DamagedError,
    RunSpec,
    RunStore,
    StoreError,
    connection,
    create_run,
    open_run,
)
from branchwise.runs.store.connection import DATABASE, FORMAT
from branchwise.runs.store.passages import fold, unfold
from branchwise.runs.store.results import keep_reach, save_scores
from branchwise.runs.store.verifying import verify_run
from support.stores import damage, edited, execute

KEY = CallKey("model", "agent", "d1")


def make_spec(epochs=1):
    return RunSpec(
        task="branches",
        source="q.jsonl",
        questions_digest="q",
        system={"model": "offline"},
        identity={"model": "offline"},
        system_digest="s",
        epochs=epochs,
        version="0.1.0",
    )


def make_question(n=1, passages=()):
    gold = Branch(name="default", answers=(Answer(text="Mann"),))
    return Question(id=f"q{n}", question="Who?", branches=(gold,), passages=passages)


@pytest.fixture
def run_folder(tmp_path):
    path = tmp_path / "run"
    create_run(path, make_spec(), [make_question(1), make_question(2)])
    return path


def outcome(**changes):
    record = {"prediction": {"answers": {"default": ["Mann"]}}, "evidence": ["p1"], "how": "strict"}
    return record | {"usage": {}, "error": None} | changes


async def test_what_an_item_recorded_comes_back(run_folder):
    with RunStore(run_folder) as store:
        first, second = store.pending()
        journal = store.begin(first)
        await journal.keep(journal.recall(KEY), {"text": "hello"})
        journal.event("model", {"turn": 1})
        await journal.finish("done", outcome())
        assert [p.question.id for p in store.pending()] == ["q2"]
    reader = open_run(run_folder)
    assert reader.progress() == {"total": 2, "done": 1, "failed": 0, "pending": 1}
    assert [(e.kind, e.data) for e in reader.events(first.item)] == [("model", {"turn": 1})]
    (item,) = reader.answered_items()
    assert item.prediction.answers == {"default": ("Mann",)}
    assert item.evidence.passages == ("p1",)
    assert second.question == make_question(2)


async def test_an_unfinished_item_is_replayed_and_its_events_are_discarded(run_folder):
    with RunStore(run_folder) as store:
        pending = next(store.pending())
        journal = store.begin(pending)
        journal.event("start", {})
        await journal.keep(journal.recall(KEY), {"n": 0})
        await journal.keep(journal.recall(KEY), {"n": 1})
    with RunStore(run_folder) as store:
        again = next(store.pending())
        assert again.item == pending.item
        assert again.resumed
        journal = store.begin(again)
        slots = [journal.recall(KEY) for _ in range(3)]
        assert [slot.value for slot in slots] == [{"n": 0}, {"n": 1}, None]
        journal.event("again", {})
        await journal.keep(slots[2], {"n": 2})
        assert [event.kind for event in store.reader.events(again.item)] == ["again"]


async def test_failed_items_run_again_only_when_asked(run_folder):
    with RunStore(run_folder) as store:
        pending = next(store.pending())
        journal = store.begin(pending)
        await journal.finish("failed", outcome(error="server: 500"))
        assert [p.question.id for p in store.pending()] == ["q2"]
        assert [p.question.id for p in store.pending(retry_failed=True)] == ["q1", "q2"]


async def test_a_reply_that_arrived_while_its_item_was_given_up_is_counted(run_folder):
    """Several conversations of an item: one fails, and the others are cancelled."""
    with RunStore(run_folder) as store:
        pending = next(store.pending())
        journal = store.begin(pending)
        keeping = asyncio.ensure_future(journal.keep(journal.recall(KEY), {"text": "late"}))
        await asyncio.sleep(0)
        keeping.cancel()
        await asyncio.wait([keeping])
        await journal.finish("failed", outcome(error="server: 500"))
    assert verify_run(run_folder).is_whole
    assert open_run(run_folder).responses(pending.item) == {(KEY, 0): {"text": "late"}}


def passage_record(passage, score):
    return {"id": passage.id, "title": passage.title, "text": passage.text, "score": score}


async def test_a_passage_text_is_stored_once(run_folder):
    passage = make_passage("King Kong", "A very large ape climbs a very tall building.")
    result = {
        "content": f"[{passage.id}] King Kong\n{passage.text}\n\nthat was all",
        "artifact": {"passages": [passage_record(passage, 0.5)]},
    }
    with RunStore(run_folder) as store:
        for pending in list(store.pending()):
            journal = store.begin(pending)
            await journal.keep(journal.recall(KEY), result)
            journal.event("tool", result)
            await journal.finish("done", outcome())
            assert next(store.reader.events(pending.item)).data == result
    with edited(run_folder):  # which lays out what was packed
        pass
    everything = b"".join(p.read_bytes() for p in run_folder.iterdir())
    assert everything.count(passage.text.encode()) == 1


def test_the_passages_of_a_question_come_back_in_order(tmp_path):
    given_passages = tuple(make_passage(f"t{n}", "text " * n) for n in (3, 1, 2, 1))
    question = make_question(passages=given_passages)
    create_run(tmp_path / "run", make_spec(), [question])
    assert list(open_run(tmp_path / "run").questions()) == [question]


texts = st.text(alphabet="ab \n[]", max_size=8)
records = st.lists(st.tuples(texts, texts, texts), max_size=4)


@given(records, st.lists(st.one_of(texts, st.integers(0, 3)), max_size=8))
def test_unfolding_restores_any_record(passages, pieces):
    listed = [{"id": i, "title": t, "text": x, "score": 1.0} for i, t, x in passages]
    content = "".join(
        piece if isinstance(piece, str) else (listed[piece]["text"] if piece < len(listed) else "")
        for piece in pieces
    )
    record = {"content": content, "artifact": {"passages": listed}, "error": None}
    slim, stored = fold(record)
    by_hash = {p.hash: p for p in stored}
    assert unfold(slim, by_hash) == record
    brief = unfold(slim, by_hash, contents=False)
    assert {**brief, "content": content} == record
    assert brief["content"] == content or content.endswith(tuple(p["text"] for p in listed))


async def test_a_write_that_fails_reaches_every_waiter(run_folder):
    with RunStore(run_folder) as store:
        pending = next(store.pending())
        journal = store.begin(pending)
        with sqlite3.connect(run_folder / DATABASE) as other:
            other.execute("DROP TABLE responses")
        with pytest.raises(StoreError, match="cannot write"):
            await journal.keep(journal.recall(KEY), {})
        with pytest.raises(StoreError, match="cannot write"):
            await journal.finish("done", outcome())


def test_a_run_is_written_by_one_process_at_a_time(run_folder):
    with RunStore(run_folder), pytest.raises(InputError, match="another process is writing"):
        RunStore(run_folder)
    RunStore(run_folder).close()


def test_an_occupied_folder_is_refused_and_says_how_to_go_on(run_folder, tmp_path):
    with pytest.raises(InputError, match="branchwise resume"):
        create_run(run_folder, make_spec(), [make_question()])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(InputError, match="choose another --out"):
        create_run(tmp_path / "other", make_spec(), [make_question()])


def test_folders_that_hold_no_run_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such run"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is not a run folder"):
        open_run(tmp_path)
    (tmp_path / DATABASE).write_text("not a database at all, but long enough to be looked at")
    with pytest.raises(InputError, match=r"is damaged \(it is not a database\)"):
        open_run(tmp_path)


@pytest.mark.parametrize(("written", "said"), [(FORMAT + 1, "a newer"), (2, "an earlier")])
def test_a_run_of_another_version_is_refused(run_folder, written, said):
    execute(run_folder, "UPDATE meta SET value = ? WHERE key = 'format'", str(written))
    with pytest.raises(InputError, match=f"written by {said} version"):
        open_run(run_folder)


def test_a_run_without_checksums_is_of_an_earlier_version_and_not_damaged(run_folder):
    damage(run_folder, "UPDATE meta SET value = '1' WHERE key = 'format'")
    damage(run_folder, "ALTER TABLE meta DROP COLUMN checksum")
    with pytest.raises(InputError, match="written by an earlier version"):
        open_run(run_folder)


async def test_a_damaged_record_is_one_line(run_folder):
    with RunStore(run_folder) as store:
        journal = store.begin(next(store.pending()))
        journal.event("model", {"text": "x"})
        await journal.finish("done", outcome())
    damage(run_folder, "UPDATE events SET body = X'7B'")
    reader = open_run(run_folder)
    with pytest.raises(DamagedError, match=r"a row of events is not .*; 1 of 2 items"):
        list(reader.events(1))


def test_scores_are_kept_by_scorer(run_folder):
    reader = open_run(run_folder)
    assert reader.saved_scores("lexical-1") is None
    save_scores(run_folder, "lexical-1", {"em": 0.5}, [(1, {"labels": ["old"]}), (2, {})])
    save_scores(run_folder, "lexical-1", {"em": 0.6}, [(1, {"labels": []})])
    assert reader.saved_scores("lexical-1") == {"em": 0.6}
    assert reader.saved_errors("lexical-1", 1) == {"labels": []}
    assert reader.saved_errors("lexical-1", 2) is None
    assert reader.kept_reach("key") is None
    keep_reach(run_folder, "key", {"within": {}})
    assert reader.kept_reach("key") == {"within": {}}


def test_scores_whose_errors_cannot_be_written_replace_nothing(run_folder):
    save_scores(run_folder, "lexical-1", {"em": 0.5}, [(1, {"labels": ["old"]})])

    def errors():
        yield 1, {"labels": ["new"]}
        raise KeyError("no item")

    with pytest.raises(KeyError):
        save_scores(run_folder, "lexical-1", {"em": 0.6}, errors())
    reader = open_run(run_folder)
    assert reader.saved_scores("lexical-1") == {"em": 0.5}
    assert reader.saved_errors("lexical-1", 1) == {"labels": ["old"]}


async def test_an_ended_run_is_one_file(run_folder):
    with RunStore(run_folder) as store:
        for pending in list(store.pending()):
            await store.begin(pending).finish("done", outcome())
    assert {file.name for file in run_folder.iterdir()} == {DATABASE, "lock"}
    score(run_folder)
    assert {file.name for file in run_folder.iterdir()} == {DATABASE, "lock"}


def test_a_folder_that_cannot_be_written_is_read_and_scored_with_a_warning(run_folder, monkeypatch):
    monkeypatch.setattr(connection.os, "access", lambda path, mode: False)
    reader = open_run(run_folder)
    assert reader.progress()["total"] == 2
    assert {file.name for file in run_folder.iterdir()} == {DATABASE, "lock"}
    reader.close()

    def refuse(path):
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr("branchwise.runs.store.connection.connect", refuse)
    with pytest.warns(UserWarning, match="cannot be kept: attempt to write"):
        assert score(run_folder).items == ()


async def test_an_item_never_waits_for_a_write_that_cannot_happen(run_folder):
    with RunStore(run_folder) as store:
        journal = store.begin(next(store.pending()))
        with pytest.raises(StoreError, match="surrogates not allowed"):
            await journal.finish("\ud800", outcome())


async def test_nothing_is_written_after_a_write_that_failed(run_folder):
    with RunStore(run_folder) as store:
        first, second = (store.begin(pending) for pending in store.pending())
        with pytest.raises(StoreError):
            await first.finish("no such status", outcome())
        with pytest.raises(StoreError, match="continue with: branchwise resume"):
            await second.finish("done", outcome())
    assert open_run(run_folder).progress()["pending"] == 2


async def test_a_run_that_was_deleted_is_noticed_at_the_next_write(run_folder):
    with RunStore(run_folder) as store:
        journal = store.begin(next(store.pending()))
        (run_folder / DATABASE).unlink()
        with pytest.raises(StoreError, match="the run was deleted or moved"):
            await journal.keep(journal.recall(KEY), {})


def test_a_run_that_cannot_be_opened_for_writing_is_let_go(run_folder, monkeypatch):
    def refuse(path):
        raise sqlite3.OperationalError("unable to open database file")

    with monkeypatch.context() as patched:
        patched.setattr("branchwise.runs.store.run_store.connect", refuse)
        with pytest.raises(StoreError, match="unable to open"):
            RunStore(run_folder)
    RunStore(run_folder).close()


KILLED_WHILE_MAKING = """
import os, sys
from pathlib import Path
from branchwise.corpora.passages import make_passage
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.runs.store import RunSpec, create_run

passages = tuple(make_passage(f"t{n}", f"{n} text " * 2000) for n in range(500))
gold = (Branch(name="default", answers=(Answer(text="Mann"),)),)

class Questions(list):
    def __iter__(self):
        yield Question(id="q1", question="Who?", branches=gold, passages=passages)
        os.kill(os.getpid(), 9)

spec = RunSpec("branches", "q", "q", {}, {}, "s", 1, "0.1.0")
create_run(Path(sys.argv[1]), spec, Questions())
"""


@pytest.mark.usefixtures("process")
def test_a_run_killed_while_it_is_made_can_be_made_again(tmp_path):
    path = tmp_path / "run"
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_MAKING, path], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [file.name for file in path.iterdir() if file.name.startswith(DATABASE)]
    with pytest.raises(
        InputError, match="the run was killed while it was being created; make it again"
    ):
        open_run(path)
    create_run(path, make_spec(), [make_question()])
    assert open_run(path).progress()["total"] == 1


KILLED_BESIDE_THE_LOG = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")  # so that the file is written before the commit
connection.execute("BEGIN")
connection.execute("UPDATE meta SET value = zeroblob(100000)")
connection.execute("UPDATE questions SET body = zeroblob(100000)")
os.kill(os.getpid(), 9)
"""


@pytest.mark.usefixtures("process")
def test_a_run_killed_while_it_got_its_log_is_read_and_continued(run_folder):
    """SQLite turns its log on by a transaction of the older kind, with a journal of its own."""
    before = (run_folder / DATABASE).read_bytes()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BESIDE_THE_LOG, run_folder / DATABASE], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert (run_folder / f"{DATABASE}-journal").stat().st_size
    assert (run_folder / DATABASE).read_bytes() != before
    reader = open_run(run_folder)
    assert [question.id for question in reader.questions()] == ["q1", "q2"]
    reader.close()
    assert {file.name for file in run_folder.iterdir()} == {DATABASE, "lock"}
    with RunStore(run_folder) as store:
        assert len(list(store.pending())) == 2


def test_a_run_is_made_by_one_process_at_a_time(tmp_path):
    (tmp_path / "lock").touch()
    with (tmp_path / "lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is writing"):
            create_run(tmp_path, make_spec(), [make_question()])
    create_run(tmp_path, make_spec(), [make_question()])


def test_sources_of_a_damaged_record_are_none() -> None:
    identity = {"kg": "a text", "retriever": ["a list"]}
    assert run_sources({"system": {"kg": "W"}, "identity": identity}) == Sources()
