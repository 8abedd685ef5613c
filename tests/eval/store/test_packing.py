"""What will not change any more is packed: it reads the same, and is as well guarded."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.journal import CallKey
from branchwise.corpora.passages import make_passage
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.runs.store import DamagedError, RunSpec, RunStore, create_run, open_run
from branchwise.runs.store.merging import recover_run
from branchwise.runs.store.tables import MAX_BODY, PER_BLOCK, expand, packed_item, squeeze, unpacked
from branchwise.runs.store.verifying import verify_run
from support.stores import damage, edited

KEPT = Path(__file__).parents[2] / "kept" / "files"
PASSAGES = [
    make_passage(f"Film {n}", f"Film {n} was made in {1900 + n}.") for n in range(PER_BLOCK + 9)
]


def key(turn):
    return CallKey("model", "agent", f"{turn:064x}")


def result(*passages):
    shown = [{"id": p.id, "title": p.title, "text": p.text, "score": 0.5} for p in passages]
    return {"content": "".join(p.text for p in passages), "artifact": {"passages": shown}}


@pytest.fixture
async def run_of(tmp_path):
    """Makes a run of items that found these passages; the last item has not ended."""

    async def make(*found, name="run"):
        gold = (Branch(name="default", answers=(Answer(text="x"),)),)
        questions = [
            Question(id=f"q{n}", question="Who?", branches=gold) for n in range(len(found))
        ]
        spec = RunSpec("branches", "q.jsonl", "d", {"model": "offline"}, {}, "s", 1, "0")
        create_run(tmp_path / name, spec, questions)
        with RunStore(tmp_path / name) as store:
            for pending, passages in zip(list(store.pending()), found, strict=True):
                journal = store.begin(pending)
                for turn in range(3):
                    await journal.keep(journal.recall(key(turn)), result(*passages))
                    journal.event("tool", {"turn": turn, **result(*passages)})
                if pending.item < len(found):
                    how = {
                        "prediction": {"answers": {}},
                        "evidence": [],
                        "how": "strict",
                        "usage": {},
                    }
                    await journal.finish("done" if pending.item != 2 else "failed", how)
        return tmp_path / name

    return make


def read_all(run):
    reader = open_run(run)
    return list(reader.questions()), [list(reader.events(item)) for item in (1, 2, 3)]


def counts(run):
    with closing(sqlite3.connect(run / "run.sqlite")) as connection:
        tables = ("events", "responses", "passages", "packed_items", "passage_blocks")
        return {t: connection.execute(f"SELECT COUNT(*) FROM {t}").fetchone()[0] for t in tables}


async def test_a_packed_run_reads_as_it_did(run_of):
    run = await run_of(PASSAGES[:5], PASSAGES[3:], PASSAGES, PASSAGES[2:4])
    assert counts(run) == {
        "events": 2, "responses": 3, "passages": 0, "packed_items": 3, "passage_blocks": 2,
    }  # fmt: skip
    assert verify_run(run).is_whole
    reader = open_run(run)
    for item, passages in enumerate((PASSAGES[:5], PASSAGES[3:], PASSAGES), 1):
        assert [event.data for event in reader.events(item)] == [
            {"turn": turn, **result(*passages)} for turn in range(3)
        ]
        assert reader.responses(item) == {(key(n), 0): result(*passages) for n in range(3)}
    with edited(run):
        pass
    assert counts(run)["events"] == 3 * 3 + 2
    assert counts(run)["passages"] == len(PASSAGES)


async def test_a_failed_item_goes_on_with_its_responses(run_of):
    run = await run_of(PASSAGES[:2], PASSAGES[:3], PASSAGES[:1])
    with RunStore(run) as store:
        (failed, _) = store.pending(retry_failed=True)
        journal = store.begin(failed)
        assert journal.recall(key(2)).value == result(*PASSAGES[:3])
        await journal.keep(journal.recall(key(7)), {"text": "more"})
        assert len(store.reader.responses(failed.item)) == 4
        await journal.finish(
            "done", {"prediction": {"answers": {}}, "evidence": [], "how": "x", "usage": {}}
        )
    assert verify_run(run).is_whole
    assert len(open_run(run).responses(failed.item)) == 4
    assert list(open_run(run).events(failed.item)) == []


@pytest.mark.parametrize(
    ("change", "whole", "says"),
    [
        ("DELETE FROM packed_items WHERE item = 1", 2, "damaged items: 1"),
        ("UPDATE packed_items SET item = 9 WHERE item = 1", 2, "damaged rows of packed_items: 1"),
        ("UPDATE packed_items SET body = substr(body, 2)", 1, "damaged rows of packed_items: 2"),
        ("DELETE FROM passage_blocks", 0, "damaged items: 1, 2, 3"),
        ("UPDATE packed_passages SET place = place + 1", 3, "nothing leads to: 5"),
        ("DELETE FROM packed_passages WHERE place % 2 = 0", 3, "nothing leads to: 3"),
    ],
)
async def test_damage_is_found_and_the_rest_recovered(run_of, tmp_path, change, whole, says):
    run = await run_of(PASSAGES[:5], PASSAGES[:5], PASSAGES[:5])
    with closing(sqlite3.connect(run / "run.sqlite", isolation_level=None)) as connection:
        connection.execute(change)
    verdict = verify_run(run)
    assert any(says in problem for problem in verdict.problems), verdict
    assert verdict.whole == whole
    with pytest.raises(DamagedError):
        read_all(run)
    saved = recover_run(run, tmp_path / "new")
    assert saved.items == 3
    assert verify_run(tmp_path / "new").is_whole


async def test_a_damaged_row_is_not_packed_as_if_it_were_whole(run_of, monkeypatch):
    monkeypatch.setattr("branchwise.runs.store.run_store.pack_ended", lambda *_, **__: None)
    run = await run_of(PASSAGES[:1], PASSAGES[:1], PASSAGES[:1])
    monkeypatch.undo()
    with RunStore(run):
        damage(run, "UPDATE responses SET body = X'7B7D' WHERE item = 1")
    assert counts(run)["packed_items"] == 1
    assert verify_run(run).whole == 2


async def test_a_bomb_gives_one_line(run_of):
    run = await run_of(PASSAGES[:1], PASSAGES[:1], PASSAGES[:1])
    bomb = zstandard.ZstdCompressor().compress(bytes(4 * MAX_BODY))
    for change in ("packed_items SET body = ? WHERE item = 1", "questions SET body = ?"):
        copy = shutil.copytree(run, run.with_name(change[:9]))
        with closing(sqlite3.connect(copy / "run.sqlite", isolation_level=None)) as connection:
            connection.execute(f"UPDATE {change}", (bomb,))
        with pytest.raises(DamagedError, match="is not what was written") as told:
            read_all(copy)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize("body", [bytes(100_000), b"", b"{}", b'{"a": 1}' * 100, b"\x28\xb5\x2f"])
def test_a_body_comes_back_whatever_it_is(body):
    stored = squeeze(body)
    assert expand(stored) == body
    assert len(stored) <= len(body)


def test_what_is_no_body_is_refused():
    frame = squeeze(b'{"a": 1}' * 100)
    foreign = zstandard.ZstdCompressor(write_content_size=False).compress(b"x" * 100)
    for broken in (frame[:-1], frame[:5], frame[:6] + b"\xff" + frame[7:], foreign):
        with pytest.raises(ValueError, match="a body"):
            expand(broken)


texts = st.text(max_size=5)
bodies = st.binary(max_size=30)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.just(4), texts, texts, texts, st.integers(0, 9), bodies), max_size=4),
    st.lists(st.tuples(st.just(4), st.integers(0, 9), texts, st.floats(0, 9), bodies), max_size=4),
)
def test_rows_are_unpacked_as_they_were_packed(responses, events):
    rows = list(unpacked("packed_items", (4, packed_item(responses, events))))
    assert [row for table, row in rows if table == "responses"] == responses
    assert [row for table, row in rows if table == "events"] == events
