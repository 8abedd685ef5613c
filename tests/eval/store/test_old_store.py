"""A run that was made before rows had checksums, `old_run.sqlite.gz`, is read and continued.

Version 0.1.0 made it: three questions, `offline` with BM25 over the passages below, k = 2; the
third item was then put back to running, as a kill leaves it.
"""

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from branchwise import resume, score
from branchwise.corpora.indexing import build_index
from branchwise.eval.store import DamagedError, open_run
from branchwise.eval.store.recovering import recover_run
from branchwise.eval.store.verifying import verify_run
from support.corpora.small import bm25_corpus

OLD = Path(__file__).with_name("old_run.sqlite.gz")
PASSAGES = [
    ("King Kong (1933 film)", "King Kong (1933 film) was directed by Merian C. Cooper."),
    ("King Kong (2005 film)", "King Kong (2005 film) was directed by Peter Jackson."),
    ("Jaws", "Jaws is a film directed by Steven Spielberg."),
    ("Reef", "Reef is a film directed by Ann Bell."),
]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "run.sqlite").write_bytes(gzip.decompress(OLD.read_bytes()))
    return tmp_path / "old"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    passages = {f"p{n}": f"{title}\n{text}" for n, (title, text) in enumerate(PASSAGES)}
    made = bm25_corpus(tmp_path, passages)
    build_index(made, "bm25s", name="bm25")  # what `bm25` was then
    return made


def test_it_is_read_continued_and_scored_as_it_is(old: Path, corpus: Path):
    verdict = verify_run(old)
    assert (verdict.is_whole, verdict.checksums, verdict.items, verdict.ended) == (
        True, False, 3, 2,
    )  # fmt: skip
    reader = open_run(old)
    assert len(list(reader.events(1))) + len(list(reader.events(2))) == 22
    reader.close()
    # As it was scored by the version that made it.
    means = score(old).aggregates["all"]
    assert (means["strict_precision"].mean, means["strict_em"].mean) == (0.75, 0.5)
    resume(old, corpus=corpus)
    means = score(old).aggregates["all"]
    assert (means["strict_precision"].mean, means["strict_em"].mean) == (2 / 3, 1 / 3)
    with closing(sqlite3.connect(old / "run.sqlite")) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
    assert columns == ["item", "seq", "kind", "at", "body"]


def test_recovered_it_has_checksums(old: Path, corpus: Path, tmp_path: Path):
    recovery = recover_run(old, tmp_path / "new")
    assert (recovery.saved["items"], recovery.begun_again) == (2, [("reef", 0)])
    verdict = verify_run(tmp_path / "new")
    assert (verdict.is_whole, verdict.checksums) == (True, True)
    assert score(tmp_path / "new").to_json() == score(old).to_json()
    resume(tmp_path / "new", corpus=corpus)
    assert score(tmp_path / "new").aggregates["all"]["strict_em"].mean == 1 / 3


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE items SET outcome = X'7B7D' WHERE item = 1",
        "UPDATE questions SET body = CAST(replace(body, 'branches', 'brunches') AS BLOB)",
        "UPDATE events SET body = X'5B5D' WHERE item = 1",
        "DELETE FROM passages",
        "UPDATE items SET status = 'running' WHERE item = 1",
        "DELETE FROM meta WHERE key = 'task'",
        "UPDATE meta SET value = '7' WHERE key = 'system'",
    ],
)
def test_what_can_be_seen_to_be_damaged_is_said_in_one_line(old: Path, change: str):
    with closing(sqlite3.connect(old / "run.sqlite")) as connection, connection:
        connection.execute(change)
    with pytest.raises(DamagedError, match="branchwise recover") as refused:
        score(old)
    assert "\n" not in str(refused.value)
