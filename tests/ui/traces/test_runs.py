"""A run as the trace app looks at it: what its rows say, whatever the run's state."""

import asyncio
import os
import random
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from branchwise import score
from branchwise.base.errors import InputError
from branchwise.corpora.questions import QuestionSet
from branchwise.runs.scoring.score import score_answers
from branchwise.runs.store import RunStore, create_run, open_run
from branchwise.runs.store.connection import DATABASE
from branchwise.runs.studies.folder import SetRecord, StudyFolder, StudyRecord, SystemRecord
from branchwise.ui.traces.runs import PAGE, RunView, open_runs
from support.stores import execute
from support.ui.written_runs import failure, make_run, outcome, question, spec, writing


@pytest.fixture
def run(tmp_path):
    """Right, half right, failed, not begun."""
    questions = [question(1, ambiguous=True), question(2), question(3), question(4)]
    ends = [outcome("Mann"), outcome("Mann", "Nobody"), failure(), None]
    return make_run(tmp_path / "base", questions, ends)


@pytest.fixture
def view(run):
    opened = RunView.open(run)
    yield opened
    opened.close()


def printed_where_nothing_can_be_written(folder):
    """What `branchwise trace` says of a run on a read-only place."""
    command = [sys.executable, "-m", "branchwise", "trace", str(folder)]
    if os.getuid() == 0:
        mount = f"mount --bind '{folder}' '{folder}' && mount -o remount,ro,bind '{folder}'"
        private = ["unshare", "--mount", "sh", "-c"]
        if not shutil.which("unshare") or subprocess.run([*private, mount], check=False).returncode:
            pytest.skip("root may write anywhere, and nothing can be mounted here")
        command = [*private, f'{mount} && exec "$@"', "sh", *command]
    folder.chmod(0o500)
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o700)


def test_a_row_says_how_its_item_ended(view):
    right, half, failed, pending = (view.line(row) for row in range(view.count))
    asked = (right.id, right.epoch, right.ambiguous, right.question)
    assert asked == ("q1", 0, True, "Who directed film 1?")
    assert (right.status, right.tokens, right.seconds) == ("done", 1000, 2.5)
    assert (right.scores, half.scores) == ((1.0, 1.0, 1.0), (0.5, 1.0, 0.0))
    assert (failed.status, failed.error, failed.tokens) == ("failed", "server: gone", 84)
    assert failed.scores == (0.0, 0.0, 0.0)
    assert (pending.status, pending.scores, pending.tokens) == ("pending", (), None)


def test_what_was_worked_out_here_is_what_scoring_saves(run):
    with RunView.open(run) as before:
        while before.label_some(0):
            pass
        worked_out, summed = list(before.lines()), before.summary()
    score(run)
    with RunView.open(run) as after:
        assert list(after.lines()) == worked_out
        assert after.summary().means == pytest.approx(summed.means)


def test_means_average_a_questions_epochs_first(tmp_path):
    ends = [outcome("Mann"), outcome("Nobody"), outcome("Mann"), None]
    run = make_run(tmp_path / "r", [question(1), question(2)], ends, epochs=2)
    with RunView.open(run) as view:
        assert [f"{line.id} {line.epoch}" for line in view.lines()] == [
            "q1 0",
            "q2 0",
            "q1 1",
            "q2 1",
        ]
        assert view.summary().means[2] == 0.5
        assert view.find("q2", 1) == 3
        assert view.find("q2", 2) is None


def test_rows_of_many_pages_are_each_their_own(tmp_path):
    questions = [question(n) for n in range(3 * PAGE + 5)]
    run = make_run(tmp_path / "r", questions, [None] * len(questions))
    with RunView.open(run) as view:
        for row in (PAGE + 1, 3 * PAGE + 4, 0):
            assert view.line(row).id == f"q{row}"
        assert [line.id for line in view.lines()] == [one.id for one in questions]
        for row in (len(questions), -1):
            with pytest.raises(IndexError):
                view.line(row)


def test_scores_that_models_made_are_found(tmp_path, chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    judge = f"openai:scripted@{chat_server.url}"
    scoring = {"judge_entities": True, "judge": judge, "matcher": "lexical", "model": None}
    run = make_run(tmp_path / "r", [question(1)], [outcome("Mann")], scoring=scoring)
    assert score_answers(run).scores.scorer.judge
    with RunView.open(run) as view:
        assert view.line(0).labels == ()
        assert view.label_some(0) == frozenset()


def test_a_retried_item_does_not_keep_the_score_of_its_failure(run):
    score(run)
    with RunStore(run) as store:
        third = next(p for p in store.pending(retry_failed=True) if p.item == 3)
        asyncio.run(store.begin(third).finish("done", outcome("Mann")))
    with RunView.open(run) as view:
        line = view.line(2)
        assert (line.status, line.scores[2], line.labels) == ("done", 1.0, None)
        assert view.label_some(0) == {2}
        assert view.line(2).labels == ()
        assert view.summary().means[2] == pytest.approx(2 / 3)


def test_another_task_shows_its_own_first_metrics(tmp_path):
    run = make_run(tmp_path / "r", [question(1, "by Mann")], [None], task="condambigqa")
    with RunStore(run) as store:
        given = [{"condition": "", "answer": "by Mann", "citations": []}]
        end = outcome() | {"prediction": {"reasoning": "", "answers": {}, "task_output": given}}
        asyncio.run(store.begin(next(store.pending())).finish("done", end))
    values = score(run).items[0].metrics
    with RunView.open(run) as view:
        assert view.heads == ("answer F1", "condition F1", "answers +/-")
        line = view.line(0)
        assert line.scores[0] == values["answer_f1"]
        assert line.scores[2] == values["count_difference"]
        assert line.labels == ()


@pytest.mark.slow
def test_texts_from_outside_are_harmless_and_bounded(tmp_path):
    hostile = "\x1b[31mred\x1b[0m\n\u202e[bold] \ud800 " + "x" * 10_000_000
    ends = [failure("\x1b]0;title\x07\nsecond line")]
    asked = question(1, text=hostile.replace("\ud800", ""))
    with RunView.open(make_run(tmp_path / "r", [asked], ends)) as view:
        line = view.line(0)
        assert line.question.startswith("\ufffd[31mred\ufffd[0m \ufffd[bold] xxx")
        assert line.question.isprintable()
        assert len(line.question) == 1000
        assert line.error == "\ufffd]0;title\ufffd second line"


def test_a_folder_without_a_run_is_one_line(tmp_path):
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(InputError, match="run"):
            RunView.open(path)
    with pytest.raises(InputError, match="no run is named"):
        open_runs([])


def test_a_task_of_a_newer_version_shows_what_is_known(run):
    execute(run, "UPDATE meta SET value = '\"haiku\"' WHERE key = 'task'")
    with RunView.open(run) as view:
        line = view.line(0)
        assert (line.status, line.tokens, line.scores) == ("done", 1000, ())
        assert view.heads == ()
        assert view.label_some(0) == frozenset()
        assert [event.kind for event in view.trace(0).events] == ["start", "model"]


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"null", b"7", b"{}", b'{"question": 7, "branches": 3}', b"\xff"]
)
def test_a_damaged_question_spoils_its_own_row_only(run, body):
    execute(run, "UPDATE questions SET body = ? WHERE n = 1", body)
    with RunView.open(run) as view:
        while view.label_some(1):
            pass
        first, second, third, _ = view.lines()
        assert first.scores[2] == 1.0
        assert third.status == "failed"
        assert (second.id, second.status) == ("q2", "done")
        view.summary()
        assert [event.kind for event in view.trace(1).events] == ["start", "model"]


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"items": [{}]}', b'{"aggregates": 7}'])
def test_damaged_scores_are_worked_out_instead(run, body):
    score(run)
    execute(run, "UPDATE scores SET body = ?", body)
    execute(run, "UPDATE item_errors SET body = ?", body)
    with RunView.open(run) as view:
        assert view.line(0).scores[2] == 1.0
        assert view.label_some(10) == {0, 1, 2}


def test_a_damaged_event_is_said_in_its_trace_only(run):
    execute(run, "UPDATE events SET body = ? WHERE item = 1 AND seq = 1", b"{")
    with RunView.open(run) as view:
        assert any("damaged" in str(event.data) for event in view.trace(0).events)
        assert len(view.trace(1).events) == 2
        assert view.label_some(10) == {0, 1, 2}


def test_a_file_that_is_damaged_beyond_its_records_is_one_line_each(tmp_path):
    # Texts that cannot be compressed.
    questions = [question(n, text=random.Random(n).randbytes(5000).hex()) for n in range(60)]
    run = make_run(tmp_path / "r", questions, [None] * 60)
    file = run / DATABASE
    whole = file.read_bytes()
    # The tables of meta and items are in the first pages; the questions' texts stand behind.
    middle = len(whole) // 2
    file.write_bytes(whole[:middle] + b"\xff" * 50_000 + whole[middle + 50_000 :])
    with RunView.open(run) as view:
        lines = view.lines()
        spoiled = [line for line in lines if line.error]
        assert len(lines) == 60
        assert 0 < len(spoiled) < 40
        assert all("damaged" in line.error for line in spoiled)


@pytest.mark.slow
def test_a_file_with_any_bytes_damaged_gives_the_rest_or_one_line(tmp_path):
    questions = [question(n, text="long " * 300) for n in range(12)]
    run = make_run(tmp_path / "r", questions, [outcome("Mann", "x"), failure(), None] * 4)
    score(run)
    whole, said = (run / DATABASE).read_bytes(), []

    def tried(look):
        try:
            look()
        except InputError as error:
            said.append(str(error))

    for seed in range(60):
        source, damaged = random.Random(seed), bytearray(whole)
        for _ in range(seed % 10):
            at = source.randrange(100, len(whole))
            damaged[at : at + 300] = source.randbytes(len(damaged[at : at + 300]))
        (run / DATABASE).write_bytes(damaged)
        try:
            view = RunView.open(run)
        except InputError as error:
            said.append(str(error))
            continue
        for look in (view.lines, view.summary, view.refresh, partial(view.label_some, 9)):
            tried(look)
        for row in range(view.count):
            tried(partial(view.trace, row))
        view.close()
    assert said
    assert all(len(line.splitlines()) == 1 and str(run) in line for line in said)


def test_a_run_is_looked_at_without_changing_a_byte(run):
    score(run)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    with RunView.open(run) as view:
        view.lines(), view.summary(), view.trace(0), view.refresh()
    after = {path.name: path.read_bytes() for path in run.iterdir()}
    assert after.items() >= before.items()
    assert all(after[name] == b"" for name in after.keys() - before.keys() if "shm" not in name)


@pytest.mark.usefixtures("process")
def test_a_run_is_followed_while_another_process_writes_it(tmp_path):
    run = tmp_path / "r"
    create_run(run, spec(), [question(1), question(2)])
    with RunView.open(run) as view, writing(run) as writer:
        assert [line.status for line in view.lines()] == ["pending", "pending"]
        assert len(view.trace(0).events) == 0
        writer.tell("begin", 1)
        assert view.refresh() == {0}
        assert (view.line(0).status, len(view.trace(0).events)) == ("running", 1)
        assert view.refresh() == frozenset()
        writer.tell("turn", 1)
        assert view.refresh() == {0}
        assert len(view.trace(0).events) == 2
        writer.tell("begin", 2)
        writer.tell("done", 1, "Mann")
        assert view.refresh() == {0, 1}
        assert [line.status for line in view.lines()] == ["done", "running"]
        assert (view.line(0).scores[2], view.summary().done) == (1.0, 1)
        assert writer.end() == 0
        score(run)
        assert 0 in view.refresh()
        assert view.line(0).labels == ()


@pytest.mark.usefixtures("process")
def test_a_run_that_ended_while_it_was_looked_at_is_whole_in_one_file(tmp_path):
    run, alone = tmp_path / "r", tmp_path / "alone"
    create_run(run, spec(), [question(1)])
    with RunView.open(run) as view, writing(run) as writer:
        view.lines()
        writer.tell("begin", 1)
        view.trace(0)
        writer.tell("done", 1, "Mann")
        assert writer.end() == 0
        score(run)
        view.refresh()
    alone.mkdir()
    shutil.copy(run / DATABASE, alone)
    with RunView.open(alone) as view:
        assert (view.line(0).status, view.line(0).labels) == ("done", ())


@pytest.mark.long
def test_an_archived_run_is_read_and_one_that_was_cut_off_says_what_to_do(run, tmp_path):
    ended = shutil.copytree(run, tmp_path / "ended")
    # What a reader leaves.
    (ended / f"{DATABASE}-wal").touch()
    cut = tmp_path / "cut"
    create_run(cut, spec(), [question(1)])
    with writing(cut) as writer:
        writer.tell("begin", 1)
        writer.kill()
    (cut / f"{DATABASE}-shm").unlink()
    assert "Who directed film 1?" in printed_where_nothing_can_be_written(ended).stdout
    said = printed_where_nothing_can_be_written(cut)
    assert said.returncode == 2
    assert "the run was interrupted: to read it, copy the folder" in said.stderr
    assert len(said.stderr.splitlines()) == 1
    with RunView.open(cut) as view:
        assert view.line(0).status == "running"


@pytest.mark.usefixtures("process")
def test_a_run_is_looked_at_from_many_threads_while_it_is_written(tmp_path):
    run = tmp_path / "r"
    create_run(run, spec(), [question(n) for n in range(20)])
    ended = threading.Event()

    def look():
        while not ended.is_set():
            view.refresh()
            view.label_some(0.001)
            for row, line in enumerate(view.lines()):
                assert (line.number, line.id) == (row + 1, view.line(row).id)
                view.trace(row)
            view.summary()
        return True

    with RunView.open(run) as view, writing(run) as writer, ThreadPoolExecutor(3) as threads:
        looking = [threads.submit(look) for _ in range(3)]
        for item in range(1, 21):
            writer.tell("begin", item)
            writer.tell("done", item, "Mann")
        ended.set()
        assert all(look.result() for look in looking)
        view.refresh()
        while view.label_some(1):
            pass
        assert {(one.status, one.scores[2], one.labels) for one in view.lines()} == {
            ("done", 1.0, ())
        }


@pytest.mark.slow
def test_closing_ends_labelling_on_another_thread(tmp_path):
    questions = [question(n) for n in range(300)]
    run = make_run(tmp_path / "r", questions, [outcome("Mann")] * 300)
    view = RunView.open(run)
    # Scored now: a row that is scored while it is labelled is left to the next call.
    assert view.line(0).labels is None
    with ThreadPoolExecutor(1) as aside:
        work = aside.submit(view.label_some, 600)
        while view.line(0).labels is None and not work.done():
            pass
        view.close()
        assert 0 < len(work.result()) < 300
    assert view.label_some(600) == frozenset()


def test_an_item_that_failed_again_for_another_reason_has_changed(run, view):
    assert view.line(2).error == "server: gone"
    with RunStore(run) as store:
        third = next(p for p in store.pending(retry_failed=True) if p.item == 3)
        asyncio.run(store.begin(third).finish("failed", failure("timeout")))
    assert view.refresh() == {2}
    assert view.line(2).error == "timeout"


@pytest.mark.slow
def test_killing_a_reader_does_not_harm_the_run(tmp_path):
    run = tmp_path / "r"
    create_run(run, spec(), [question(1), question(2)])
    code = f"""
import sys
from pathlib import Path
from branchwise.ui.traces.runs import RunView
view = RunView.open(Path({str(run)!r}))
print(len(view.lines()), flush=True)
while True:
    view.refresh(), view.lines(), view.trace(0)
"""
    with (
        writing(run) as writer,
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as reader,
    ):
        assert reader.stdout.readline() == b"2\n"
        writer.tell("begin", 1)
        writer.tell("turn", 1)
        reader.kill()
        reader.wait()
        for command in (("done", 1, "Mann"), ("begin", 2), ("turn", 2), ("done", 2, "Mann")):
            writer.tell(*command)
        assert writer.end() == 0
    assert score(run).counts.answered == 2
    reader = open_run(run)
    assert [len(list(reader.events(item))) for item in (1, 2)] == [2, 2]
    reader.close()


def test_a_folder_is_opened_once_and_names_are_told_apart(tmp_path):
    one, other = (make_run(tmp_path / of / "base", [question(1)], [None]) for of in "ab")
    opened = open_runs([one, other, tmp_path / "b" / ".." / "a" / "base"])
    assert [view.name for view in opened] == ["a/base", "b/base"]
    for view in opened:
        view.close()


def test_a_studys_folder_stands_for_its_runs(tmp_path):
    shared = {"changes": {}, "system": {}, "digest": spec().system_digest, "model": "m", "set": "q"}
    asked = SetRecord(
        name="q", task="branches", source="q", questions_digest=spec().questions_digest, epochs=1
    )
    systems = [
        SystemRecord(name=name, slug=slug, setting=name, base="the base", **shared)
        for name, slug in (("the base", "base"), ("+ expand", "expand"))
    ]
    record = StudyRecord(
        version="0",
        name="s",
        sets=(asked,),
        systems=tuple(systems),
    )
    folder = StudyFolder.create(tmp_path / "study", record)
    questions = QuestionSet("q", "branches", (question(1),), asked.questions_digest)
    folder.fill({"base": (spec(), questions), "expand": (spec(), questions)})
    opened = open_runs([tmp_path / "study", folder.run_path("base")])
    for view, name in zip(opened, ("the base", "+ expand"), strict=True):
        assert (view.name, view.summary().name) == (name, name)
        view.close()
    folder.run_path("expand").joinpath(DATABASE).unlink()
    with pytest.raises(InputError, match="is not a run folder"):
        open_runs([tmp_path / "study"])


def test_a_forks_parent_is_named(run):
    execute(run, "UPDATE meta SET value = ? WHERE key = 'fork'", '{"run": "parent"}')
    with RunView.open(run) as view:
        assert view.summary().parent == "parent"
