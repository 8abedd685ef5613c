"""Parts of a run, each in a folder of its own, and the run that they are put together as."""

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from branchwise import merge, resume, run
from branchwise.corpora.errors import InputError
from branchwise.eval.costs.kept_prices import keep_limit, limit_of
from branchwise.eval.pilots import is_pilot
from branchwise.eval.store import merging as merging_module
from branchwise.eval.store import open_run
from branchwise.eval.store.damage import DamagedError
from branchwise.eval.store.recovering import recover_run
from branchwise.eval.store.shards import Shard
from branchwise.eval.store.verifying import verify_run
from branchwise.eval.studies.folder import StudyFolder
from branchwise.eval.studies.merging import merge_folders
from branchwise.eval.studies.running import StudyPace, run_study
from support.chat_server import fail, say, search_then_answer
from support.runs.lasting import exported, scored
from support.runs.studies import Counting, design_of, four_systems
from support.stores import execute

pytestmark = pytest.mark.slow

EPOCHS, COUNT, OF = 2, 9, 3
NAMES = {"q0": 3, "q1": 1, "q2": 1, "Frage/ä": 3, "日本": 2}
"""Ids and their shards of four, worked out with sha256sum."""


@pytest.fixture
def make(chat_server, make_system, question_file, tmp_path):
    """Makes shards of one run, or all of it."""
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


def items_of(path):
    with closing(open_run(path)) as reader:
        return [(row.question.id, row.epoch, row.status) for row in reader.items()]


def test_which_shard_an_item_is_in_is_the_same_everywhere():
    found = {id: [Shard(n, 4).holds(id, 0) for n in range(1, 5)].index(True) + 1 for id in NAMES}
    assert found == NAMES
    held = Counter(n for q in range(3000) for n in range(1, 9) if Shard(n, 8).holds(f"q{q}", 1))
    assert sum(held.values()) == 3000
    assert max(abs(count - 375) for count in held.values()) < 60
    assert {Shard(1, 2).holds("q0", epoch) for epoch in range(20)} == {True, False}


def test_shards_have_all_items_once_and_ask_for_nothing_twice(make, shards, chat_server):
    whole_requests = len(chat_server.requests)
    whole = make("whole")
    assert len(chat_server.requests) == 2 * whole_requests
    items = [item for shard in shards for item in items_of(shard)]
    assert sorted(items) == sorted(items_of(whole))
    assert all(verify_run(shard).is_whole for shard in shards)


def test_what_is_merged_is_the_run_that_one_process_makes(make, shards, tmp_path, chat_server):
    whole, out = make("whole"), tmp_path / "out"
    merged = merge(shards, out)
    assert (merged.items, merged.ended, merged.missing, merged.twice) == (18, 18, {}, 0)
    assert exported(out) == exported(whole)
    assert scored(out) == scored(whole)
    assert items_of(out) == items_of(whole)
    assert verify_run(out).is_whole
    asked = len(chat_server.requests)
    assert resume(out).state.done == 18
    assert len(chat_server.requests) == asked


def test_merging_again_changes_nothing(shards, tmp_path):
    out = tmp_path / "out"
    merge(shards, out)
    with closing(open_run(out)) as reader:
        before = reader.state()
    assert merge(reversed(shards), out).twice == 0
    with closing(open_run(out)) as reader:
        assert reader.state() == before


def test_shards_may_come_one_after_the_other(make, shards, tmp_path):
    out = tmp_path / "out"
    first = merge(shards[:1], out)
    sizes = [len(items_of(shard)) for shard in shards]
    assert first.missing == {2: sizes[1], 3: sizes[2]}
    assert merge(shards[1:], out).ended == 18
    assert exported(out) == exported(make("whole"))


def test_what_is_missing_can_be_run_where_the_others_are_merged(make, shards, tmp_path):
    out = tmp_path / "out"
    merge(shards[:2], out)
    assert resume(out).state.done == 18
    assert exported(out) == exported(make("whole"))
    assert merge(shards[:2], out).twice == 0


def test_an_item_that_ended_twice_keeps_the_first_and_the_other_was_paid_too(
    make, shards, tmp_path, type_in
):
    again, out = make("again", f"2/{OF}"), tmp_path / "out"
    count = len(items_of(again))
    assert merge([*shards, again], out).twice == count
    with closing(open_run(out)) as reader, closing(open_run(shards[1])) as first:
        replies = [reply for _, reply in reader.paid_twice()]
        kept = [response for item in (1, 2) for response in first.responses(item).values()]
        assert len(replies) == 3 * count, "three turns of each item"
        assert all(reply["seconds"] for reply in replies)
        there = {(row.question.id, row.epoch): row.item for row in reader.items()}
        rows = [row for row in first.items() if row.item in (1, 2)]
        found = [r for row in rows for r in
                 reader.responses(there[row.question.id, row.epoch]).values()]  # fmt: skip
        assert sorted(map(str, found)) == sorted(map(str, kept))
    assert merge([again, *shards], out).twice == count, "whatever is named first, it ended second"
    _, said, _ = type_in("report", out, "--json")
    assert json.loads(said)[0]["costs"]["paid_twice"]["usage"]["calls"] == 3 * count
    _, said, _ = type_in("report", out)
    told = " ".join(said.split())
    assert "paid twice: an unknown cost" in told
    assert f"({3 * count} calls, " in told
    assert f"for {count} items that another shard answered, too; in no sum above" in told


def test_a_shard_that_goes_on_after_it_was_merged_takes_its_items_along(
    make, shards, tmp_path, chat_server
):
    chat_server.play(lambda body: fail(400, "no such thing"))
    part, out = make("part", f"1/{OF}", epochs=EPOCHS), tmp_path / "out"
    merge([part, *shards[1:]], out)
    failed = [item for item in items_of(out) if item[2] == "failed"]
    assert len(failed) == len(items_of(part))
    chat_server.play(search_then_answer)
    resume(part, retry_failed=True)
    merged = merge([part], out)
    assert (merged.ended, merged.twice) == (18, 0)
    assert {status for *_, status in items_of(out)} == {"done"}


def test_a_merge_that_fails_half_way_leaves_the_run_as_it_was(shards, tmp_path, monkeypatch):
    out = tmp_path / "out"
    merge(shards[:1], out)
    before = exported(out)
    put, left = merging_module._Fold._put, [4]

    def fails(self, item, theirs):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        put(self, item, theirs)

    monkeypatch.setattr(merging_module._Fold, "_put", fails)
    with pytest.raises(KeyboardInterrupt):
        merge(shards, out)
    monkeypatch.undo()
    assert exported(out) == before
    assert verify_run(out).is_whole
    assert merge(shards, out).ended == 18


def test_what_does_not_belong_together_is_refused_in_one_line(make, shards, tmp_path, make_system):
    out = tmp_path / "out"
    copy = tmp_path / "copy"
    shutil.copytree(shards[0], copy)
    other_system = make("o1", f"1/{OF}", system=make_system().model_copy(update={"k": 1}))
    for given, words in {
        (shards[0], shards[0]): "given twice; name each folder once",
        (shards[0], copy): f"is the same run as {shards[0]}: shard 1/3 is given twice",
        (shards[0], other_system): "the shards are of other systems",
        (shards[0], make("o2", f"2/{OF}", limit=5)): "the shards are of other questions",
        (shards[0], make("o3", f"2/{OF}", epochs=1)): "the shards are of other epochs",
        (shards[0], make("o4", "2/5")): "is shard 2/5, and",
        (shards[0], make("o5")): "is a whole run, not a shard",
        (shards[0], tmp_path / "nowhere"): "there is no such run",
    }.items():
        with pytest.raises(InputError, match=words) as refused:
            merge(given, out)
        assert "\n" not in str(refused.value)
        assert not out.exists(), words
    with pytest.raises(InputError, match="holds something else: a run of other systems"):
        merge(shards, make("o6", system=make_system().model_copy(update={"k": 1})))


def test_a_damaged_shard_is_named_and_nothing_is_merged_of_it(shards, tmp_path):
    out = tmp_path / "out"
    merge(shards[:1], out)
    with closing(sqlite3.connect(shards[1] / "run.sqlite")) as connection, connection:
        connection.execute("UPDATE packed_items SET checksum = checksum + 1 WHERE item = 3")
    with pytest.raises(DamagedError, match="is damaged"):
        merge(shards[1:2], out)
    assert verify_run(out).is_whole


def test_a_shard_is_recovered_as_a_shard(shards, tmp_path):
    recovery = recover_run(shards[0], tmp_path / "saved")
    assert recovery.items == len(items_of(shards[0]))
    assert items_of(tmp_path / "saved") == items_of(shards[0])
    assert merge([tmp_path / "saved", *shards[1:]], tmp_path / "out").ended == 18


def test_a_pilot_is_that_of_the_whole_run_in_parts(make, tmp_path):
    pilots = [make(f"p{n}", f"{n}/{OF}", pilot=4) for n in range(1, OF + 1)]
    whole, out = make("whole", pilot=4), tmp_path / "out"
    assert merge(pilots, out).ended == 4
    assert exported(out) == exported(whole)
    assert is_pilot(out)
    assert make("out") == out, "the same command goes on without --pilot"
    assert not is_pilot(out)


def test_a_shard_continues_as_the_same_shard_alone(make, tmp_path, chat_server):
    part = make("p", f"1/{OF}", pilot=2)
    with pytest.raises(InputError, match=r"of another run \(changed: shard\)"):
        make("p", f"2/{OF}")
    resume(part)
    assert {status for *_, status in items_of(part)} == {"done"}
    assert len(items_of(part)) < EPOCHS * COUNT


def test_one_file_of_prices_goes_along_and_two_are_refused(make, tmp_path):
    cheap, dear = tmp_path / "cheap.yaml", tmp_path / "dear.yaml"
    cheap.write_text("models: {openai:scripted: {input: 1, output: 1}}")
    dear.write_text("models: {openai:scripted: {input: 9, output: 9}}")
    priced = [make("a1", "1/3", prices=cheap), make("a2", "2/3"), make("a3", "3/3", prices=dear)]
    with pytest.raises(InputError, match="has other prices than"):
        merge(priced, tmp_path / "out")
    for path, most in zip(priced, (2.5, 1.5, 1.0), strict=True):
        keep_limit(path, most)
    merge(priced[:2], tmp_path / "out")
    merge(priced[1:2], tmp_path / "out")
    assert limit_of(tmp_path / "out") == 4.0
    assert (tmp_path / "out/prices.yaml").read_text() == cheap.read_text()


def test_a_study_in_shards_is_the_study(make_system, question_file, tmp_path, chat_server):
    chat_server.play(Counting())
    systems, questions = four_systems(make_system()), question_file(8)
    folders = []
    for number in (1, 2):
        design = design_of(questions, systems, shard=Shard(number, 2))
        folders.append(run_study(design, tmp_path / f"S{number}").folder.path)
    whole = run_study(design_of(questions, systems), tmp_path / "whole").folder
    asked = len(chat_server.requests)
    merged = merge_folders(folders, tmp_path / "out")
    assert (merged.items, merged.ended) == (32, 32)
    out = StudyFolder.open(tmp_path / "out")
    assert out.record == whole.record
    assert [exported(path) for _, path in out.runs()] == [exported(p) for _, p in whole.runs()]
    state = run_study(design_of(questions, systems), out.path, StudyPace()).state
    assert (state.done, len(chat_server.requests)) == (32, asked)
    with pytest.raises(InputError, match=r"holds another study: the shard \(1/2 there, 2/2 here\)"):
        run_study(design_of(questions, systems, shard=Shard(2, 2)), folders[0])
    with pytest.raises(InputError, match="is a whole study, not a shard"):
        merge_folders([folders[0], whole.path], tmp_path / "other")
    others = design_of(question_file(4), systems, shard=Shard(1, 2))
    other = run_study(others, tmp_path / "S3").folder.path
    with pytest.raises(InputError, match=r"is of another study than .*: the questions"):
        merge_folders([folders[0], other], tmp_path / "other")


def test_shards_are_reported_as_the_run_that_they_are(make, shards, type_in, tmp_path):
    whole = make("whole")
    code, said, err = type_in("report", *shards, "--json")
    (of_shards,) = json.loads(said)
    _, said, _ = type_in("report", whole, "--json")
    (of_whole,) = json.loads(said)
    assert (code, err) == (0, "")
    assert of_shards["path"] == ", ".join(map(str, shards))
    assert of_shards["aggregates"] == of_whole["aggregates"]
    code, said, err = type_in("report", *shards[:2])
    assert "s (shards 1, 2 of 3): items" in said
    assert f"of shard 3/{OF}: branchwise run … --shard 3/{OF} --out DIR" in err
    assert all(not path.joinpath("scores").exists() for path in shards)


def test_a_shard_says_which_it_is(shards, type_in):
    count = len(items_of(shards[0]))
    for command in (("score", shards[0]), ("report", shards[0])):
        code, said, err = type_in(*command)
        assert code == 0
        assert f"s1 (shard 1/3): items {count} · answered {count}" in said
        assert f"s1: shard 1/3, {count} of 18 items of the run" in err
    code, said, _ = type_in("merge", *shards[:2], "--out", shards[0].parent / "out")
    assert code == 1
    assert f"of shard 3/{OF}: branchwise run … --shard 3/{OF} --out DIR" in said
    assert said.endswith(f"  branchwise resume {shards[0].parent / 'out'}\n")


def test_a_shard_without_items_ends_well(
    question_file, chat_server, make_system, type_in, tmp_path
):
    chat_server.play(lambda body: say(json.dumps({"answers": {"default": ["x"]}})))
    source, system = question_file(1), make_system()
    empty = next(n for n in range(1, 10) if not Shard(n, 9).holds("q0", 0))
    named = ("--questions", source, "--model", system.model, "--shard", f"{empty}/9")
    code, _, err = type_in("run", *named, "--out", tmp_path / "e")
    assert (code, err.splitlines()[-1]) == (0, f"{tmp_path / 'e'}: this shard has no items")
    code, _, err = type_in("report", tmp_path / "e")
    assert code == 2
    assert f"shard {empty}/9 has no items; report it with the others" in err


@pytest.mark.parametrize("text", ["0/4", "5/4", "4", "1/2/3", "-1/4", "1/99999", "", "²/4", "a/b"])
def test_what_is_no_shard_is_refused(text, type_in, tmp_path):
    code, _, err = type_in("run", "--questions", "q.jsonl", "--model", "offline", "--shard", text)
    assert code == 2
    assert "--shard: " in err
    assert "is not a shard; write 1/4 to 4/4 for four shards" in err


@pytest.mark.parametrize(
    "said", ['"1/3"', '{"number": 4, "of": 3, "items": 5}', '{"of": 3}', "[1]"]
)
def test_what_a_run_says_of_its_shard_is_checked(said, shards):
    execute(shards[0], "UPDATE meta SET value = ? WHERE key = 'shard'", said)
    with pytest.raises(DamagedError, match="what it says of its shard is not what was written"):
        open_run(shards[0])
