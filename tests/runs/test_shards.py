"""Parts of a question set on several machines, and their runs joined into one."""

import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing

import orjson
import pytest

from branchwise import merge, resume, run, score
from branchwise.agents.journal import CallKey
from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import questions_digest
from branchwise.eval.selection import Selection, Shard
from branchwise.runs.costs.prices import keep_limit, limit_of
from branchwise.runs.store import open_run
from branchwise.runs.store.results import run_judgements
from branchwise.runs.store.verifying import verify_run
from support.chat_server import fail, search_then_answer
from support.runs.lasting import exported
from support.stores import execute

pytestmark = pytest.mark.slow

EPOCHS, COUNT, OF = 2, 9, 3
NAMES = {"q0": 4, "q1": 3, "q5": 2, "Frage/ä": 3, "日本": 4}
"""Ids and their shards of four, worked out with sha256sum."""


@pytest.fixture
def make(chat_server, make_system, question_file, tmp_path):
    """Makes the run of a shard, or of all questions."""
    chat_server.play(search_then_answer)
    source, system = str(question_file(COUNT)), make_system()

    def made(name, shard=None, **options):
        options = {"epochs": EPOCHS, "system": system, **options}
        run(source, out=tmp_path / name, shard=shard, **options)
        return tmp_path / name

    return made


@pytest.fixture
def shards(make):
    return [make(f"s{n}", f"{n}/{OF}") for n in range(1, OF + 1)]


def recorded(path):
    """What a run exports of each item, by question and epoch."""
    lines = [orjson.loads(line) for line in exported(path)]
    for line in lines:
        line.pop("item", None)
    return {(line["id"], line["epoch"]): line for line in lines}


def test_a_question_is_in_one_shard_and_in_the_same_everywhere(question_file):
    found = {id: [n for n in range(1, 5) if Shard(n, 4).holds(id)] for id in NAMES}
    assert found == {id: [n] for id, n in NAMES.items()}
    held = Counter(n for q in range(3000) for n in range(1, 9) if Shard(n, 8).holds(f"q{q}"))
    assert sum(held.values()) == 3000
    assert max(abs(count - 375) for count in held.values()) < 60
    questions = load_questions(str(question_file(COUNT)))
    parts = [Selection(limit=7, shard=Shard(n, OF)).of(questions) for n in range(1, OF + 1)]
    chosen = [question for part in parts for question in part.questions]
    assert sorted(q.id for q in chosen) == [q.id for q in questions.questions[:7]]


def test_what_is_merged_is_the_run_that_one_process_makes(make, shards, tmp_path, chat_server):
    whole, out = make("whole"), tmp_path / "out"
    asked = len(chat_server.requests)
    state = merge(shards, out).state
    assert (state.done, state.failed, state.pending) == (EPOCHS * COUNT, 0, 0)
    assert recorded(out) == recorded(whole)
    assert verify_run(out).is_whole
    # Every mean of every subset, to the last digit.
    joined, alone = score(out), score(whole)
    assert joined.aggregates.keys() == alone.aggregates.keys()
    assert joined.to_json()["aggregates"] == alone.to_json()["aggregates"]
    with closing(open_run(out)) as reader:
        questions = list(reader.questions())
        assert reader.meta["questions_digest"] == questions_digest(questions)
        assert "shard" not in reader.meta
    ids = [question.id for question in questions]
    in_order = [[q for q in sorted(ids) if Shard(n, OF).holds(q)] for n in range(1, OF + 1)]
    assert ids == [id for part in in_order for id in part]
    assert resume(out).state.done == EPOCHS * COUNT
    assert len(chat_server.requests) == asked


def test_what_has_not_ended_is_answered_where_the_runs_are_joined(
    make, shards, tmp_path, chat_server
):
    part, out = make("part", f"1/{OF}", pilot=1), tmp_path / "out"
    left = merge([part, *shards[1:]], out).state.pending
    assert left == EPOCHS * len({id for id, _ in recorded(shards[0])}) - 1
    asked = len(chat_server.requests)
    assert resume(out).state.done == EPOCHS * COUNT
    assert len(chat_server.requests) == asked + 3 * left, "three turns of each item"
    assert recorded(out) == recorded(make("whole"))


def test_replies_of_an_item_that_had_begun_are_not_asked_for_again(make, tmp_path, chat_server):
    left = iter(range(COUNT))
    chat_server.play(
        lambda body: fail(401, "no") if next(left, None) is None else search_then_answer(body)
    )
    parts = [make(f"p{n}", f"{n}/2", epochs=1) for n in (1, 2)]
    chat_server.play(search_then_answer)
    merged = merge(parts, tmp_path / "out")
    with closing(merged.open()) as reader:
        replies = len(list(reader.model_usage()))
    assert (merged.state.total, replies) == (COUNT, COUNT)
    asked = len(chat_server.requests)
    assert resume(merged.path, retry_failed=True).state.done == COUNT
    assert len(chat_server.requests) == asked + 3 * COUNT - replies, "three turns of each"


async def test_what_a_judge_said_goes_along(shards, tmp_path):
    key = CallKey("model", "judge", "abc")
    for sample, path in enumerate(shards[:2]):
        with run_judgements(path) as kept:
            await kept.keep(kept.recall(key, sample), {"content": str(sample)})
    merge(shards, tmp_path / "out")
    with run_judgements(tmp_path / "out") as kept:
        found = [kept.recall(key, sample).value for sample in (0, 1, 2)]
    assert found == [{"content": "0"}, {"content": "1"}, None]


def test_what_does_not_belong_together_is_refused_in_one_line(
    make, shards, tmp_path, make_system, type_in, chat_server
):
    judge = f"openai:scripted@{chat_server.url}"
    out, one, copy = tmp_path / "out", shards[0], tmp_path / "copy"
    shutil.copytree(shards[1], copy)
    execute(copy, "UPDATE meta SET value = '\"\"' WHERE key = 'system_digest'")
    damaged = tmp_path / "damaged"
    shutil.copytree(shards[2], damaged)
    with closing(sqlite3.connect(damaged / "run.sqlite")) as connection, connection:
        connection.execute("UPDATE packed_items SET checksum = checksum + 1 WHERE item = 3")
    other = make("o1", f"2/{OF}", system=make_system().model_copy(update={"k": 1}))
    (tmp_path / "empty").mkdir()
    for second, words in {
        one: f"the question 'q0' is in {one}, too; merge runs of different questions",
        make("o2", f"2/{OF}", epochs=1): f"is of another number of epochs than {one}",
        make("o3", f"2/{OF}", matcher=judge): f"is of another way of scoring than {one}",
        other: f"is of another system (k) than {one}",
        make("o4", limit=2): f"the question 'q0' is in {one}, too",
        copy: "was stopped before its system was open; continue it first: branchwise resume",
        damaged: "is damaged (",
        tmp_path / "nowhere": "no such run",
        tmp_path / "empty": "is not a run folder",
    }.items():
        code, said, err = type_in("merge", one, second, "--out", out)
        assert (code, said) == (2, "")
        assert words in err
        assert err.count("\n") == 1
        assert not out.exists(), words
    code, _, err = type_in("merge", *shards, "--out", tmp_path / "empty")
    assert (code, "is there already; choose another --out" in err) == (2, True)


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("step", ["begin_file", "pack_ended", "keep_prices"])
def test_a_merge_that_is_killed_leaves_nothing(step, shards, tmp_path):
    names = {path.name for path in tmp_path.iterdir()}
    before = [(shard / "run.sqlite").read_bytes() for shard in shards]
    killed = (
        "import os, signal, sys\n"
        "from branchwise.runs.store import merging\n"
        f"merging.{step} = lambda *_, **more: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from branchwise import merge\n"
        "merge(sys.argv[2:], sys.argv[1])\n"
    )
    out = tmp_path / "out"
    ended = subprocess.run([sys.executable, "-c", killed, out, *shards], check=False)
    assert ended.returncode == -signal.SIGKILL
    left = {path.name for path in tmp_path.iterdir()} - names
    assert all(name.startswith(".out.") for name in left)
    assert [(shard / "run.sqlite").read_bytes() for shard in shards] == before
    assert merge(shards, out).state.done == EPOCHS * COUNT
    assert {path.name for path in tmp_path.iterdir()} == {*names, "out"}


def test_prices_and_limits_go_along(make, tmp_path):
    cheap, dear = tmp_path / "cheap.yaml", tmp_path / "dear.yaml"
    cheap.write_text("models: {openai:scripted: {input: 1, output: 1}}")
    dear.write_text("models: {openai:scripted: {input: 9, output: 9}}")
    priced = [make("a1", "1/3", prices=cheap), make("a2", "2/3"), make("a3", "3/3", prices=dear)]
    with pytest.raises(InputError, match="has other prices than"):
        merge(priced, tmp_path / "out")
    for path, most in zip(priced, (2.5, 1.5, 1.0), strict=True):
        keep_limit(path, most)
    merge(priced[:2], tmp_path / "out")
    assert limit_of(tmp_path / "out") == 4.0
    assert (tmp_path / "out/prices.yaml").read_text() == cheap.read_text()


@pytest.mark.parametrize("text", ["0/4", "5/4", "4", "1/2/3", "-1/4", "1/99999", "", "²/4", "a/b"])
def test_what_is_no_shard_is_refused(text, type_in):
    code, _, err = type_in("run", "--questions", "q.jsonl", "--model", "offline", "--shard", text)
    assert code == 2
    assert "is not a shard; write 1/4 to 4/4 for four shards" in err
