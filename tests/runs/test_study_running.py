"""Studies: systems over the same questions, made, continued, refused."""

import json
from dataclasses import replace

import pytest

from branchwise.agents.restraints import Limits
from branchwise.base.errors import InputError
from branchwise.corpora.open import open_retriever
from branchwise.graphs import sources
from branchwise.runs.experiment import resume
from branchwise.runs.store.connection import DRAFT
from branchwise.runs.studies import folder as folder_module
from branchwise.runs.studies.folder import DRAFT_FILE, STUDY_FILE, StudyFolder, study_lock
from branchwise.runs.studies.running import StudyPace, run_study
from support.by_role import role_of
from support.chat_server import fail
from support.runs.studies import Counting, design_of, four_systems, number_of, outcomes, reply

pytestmark = pytest.mark.slow


@pytest.fixture
def design(chat_server, make_system, question_file):
    chat_server.play(reply)
    return design_of(question_file(6), four_systems(make_system()))


def test_a_study_has_an_ordinary_run_folder_for_each_system(design, tmp_path):
    made = run_study(design, tmp_path / "S")
    assert (made.state.done, made.state.failed, made.state.stopped) == (24, 0, None)
    runs = StudyFolder.open(tmp_path / "S").runs()
    assert [(name, path.name) for name, path in runs] == [
        ("base", "base"),
        ("+expansion", "expansion"),
        ("+extraction", "extraction"),
        ("k=1", "k-1"),
    ]
    for _, path in runs:
        assert resume(path).state.here == 0
    # By the script, of questions 0 to 4 and 0 again: 3 with both passages, 1 more with readings.
    right = {
        name: sum(
            row[2]["answers"]["default"] == [f"Question number {n:04d}"]
            for n, row in enumerate(rows)
        )
        for name, rows in outcomes(made.folder).items()
    }
    assert right == {"base": 4, "+expansion": 5, "+extraction": 3, "k=1": 3}


def test_the_same_study_goes_on_where_it_was_and_asks_for_nothing_again(
    chat_server, design, tmp_path
):
    script = Counting()

    def some(body):
        return fail(401, "the key is refused") if script.requests == 30 else script(body)

    chat_server.play(some)
    begun = run_study(design, tmp_path / "S", StudyPace(concurrency=3))
    assert begun.state.stopped is not None
    assert begun.state.stopped.startswith("system '")
    assert "401" in begun.state.stopped
    assert begun.state.failed == 0
    chat_server.play(script)
    ended = run_study(design, tmp_path / "S")
    assert ended.state.stopped is None
    statuses = {status for rows in outcomes(ended.folder).values() for _, status, _ in rows}
    assert statuses == {"done"}
    assert 0 < ended.state.here < 24
    needed = Counting()
    chat_server.play(needed)
    assert run_study(design, tmp_path / "S").state.here == 0
    assert needed.requests == 0
    run_study(design, tmp_path / "whole")
    # What was on its way when the key was refused: of three questions, two passages each.
    assert needed.requests <= script.requests <= needed.requests + 3 * 2


def test_systems_answer_question_by_question(chat_server, design, tmp_path):
    asked = []

    def script(body):
        if role_of(body) != "extractor":
            asked.append(number_of(body) if role_of(body) == "agent" else None)
        return reply(body)

    chat_server.play(script)
    run_study(design, tmp_path / "S", StudyPace(concurrency=1))
    in_order = [number for number in asked if number is not None]
    # Two turns of each of four systems, then the next question.
    assert in_order == [number for number in range(6) for _ in range(8)]


def test_what_systems_share_is_opened_once(design, tmp_path, monkeypatch):
    opened = []

    def open_and_count(folder, name, *rest):
        opened.append((folder, name))
        return open_retriever(folder, name, *rest)

    monkeypatch.setattr(sources, "open_retriever", open_and_count)
    run_study(design, tmp_path / "S")
    assert len(opened) == 1


def test_a_system_that_cannot_start_stops_all_before_anything_is_made(
    chat_server, design, tmp_path
):
    *others, last = design.systems
    broken = last.system.model_copy(update={"retriever": "flat"})
    flat = replace(last, name="flat", slug="flat", system=broken, changes={"retriever": "flat"})
    systems = [*others, flat]
    design = design_of(design.sets[0].questions.source, systems)
    with pytest.raises(InputError, match="system 'flat': the corpus has no index 'flat'"):
        run_study(design, tmp_path / "S")
    assert chat_server.requests == []
    assert not (tmp_path / "S" / STUDY_FILE).exists()


def test_another_study_in_the_folder_is_refused_with_what_differs(
    design, make_system, question_file, tmp_path
):
    run_study(design, tmp_path / "S")
    base, *others = design.systems
    fewer = design_of(design.sets[0].questions.source, [base, *others[:2]])
    with pytest.raises(InputError, match=r"contains another study: systems only there: k=1"):
        run_study(fewer, tmp_path / "S")
    changed = design_of(design.sets[0].questions.source, four_systems(make_system(seed=4)))
    with pytest.raises(InputError, match=r"systems changed: base, \+expansion, \+extraction and 1"):
        run_study(changed, tmp_path / "S")
    twice = design_of(design.sets[0].questions.source, design.systems, epochs=2)
    with pytest.raises(InputError, match=r"the epochs \(1 there, 2 here\)"):
        run_study(twice, tmp_path / "S")
    more = design_of(question_file(7), design.systems)
    with pytest.raises(InputError, match="the questions"):
        run_study(more, tmp_path / "S")


def test_a_server_that_moved_is_the_same_study(design, make_system, tmp_path):
    run_study(design, tmp_path / "S")
    moved = make_system().model_copy(
        update={"model": make_system().model.replace("127.0.0.1", "localhost")}
    )
    again = design_of(design.sets[0].questions.source, four_systems(moved))
    assert run_study(again, tmp_path / "S").state.here == 0


def test_a_folder_with_something_else_in_it_is_left_alone(design, tmp_path):
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    with pytest.raises(InputError, match="the folder is not empty"):
        run_study(design, tmp_path)
    assert not (tmp_path / "lock").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not a folder"):
        run_study(design, tmp_path / "file")


def test_a_study_that_is_running_is_refused(design, tmp_path):
    with study_lock(tmp_path / "S"), pytest.raises(InputError, match="another process is running"):
        run_study(design, tmp_path / "S")


@pytest.mark.parametrize("made", [0, 1, 3])
def test_a_study_killed_while_it_was_made_is_made_again(design, tmp_path, monkeypatch, made):
    class Killed(BaseException):
        pass

    left, create_run = [made], folder_module.create_run

    def create_some(path, spec, questions):
        if not left[0]:
            path.mkdir()
            (path / DRAFT).write_bytes(b"half of a run")
            raise Killed
        left[0] -= 1
        create_run(path, spec, questions)

    with monkeypatch.context() as patched:
        patched.setattr(folder_module, "create_run", create_some)
        with pytest.raises(Killed):
            run_study(design, tmp_path / "S")
    (tmp_path / "S" / f".{DRAFT_FILE}.x").write_text("half of a file")
    assert not (tmp_path / "S" / STUDY_FILE).exists()
    assert run_study(design, tmp_path / "S").state.done == 24
    assert not (tmp_path / "S" / DRAFT_FILE).exists()


def test_a_run_that_was_removed_is_run_anew(design, tmp_path):
    run_study(design, tmp_path / "S")
    (tmp_path / "S" / "runs" / "k-1" / "run.sqlite").unlink()
    assert run_study(design, tmp_path / "S").state.here == 6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read as a study"),
        ("[]", "cannot be read as a study"),
        ('{"format": 4, "version": "9"}', "a newer version"),
        ('{"format": 1, "version": "0"}', "an earlier version"),
        ('{"format": "x"}', "cannot be read as a study"),
    ],
)
def test_a_study_file_that_cannot_be_read_is_refused(tmp_path, text, said):
    (tmp_path / STUDY_FILE).write_text(text)
    with pytest.raises(InputError, match=said):
        StudyFolder.open(tmp_path)


def test_a_slug_in_the_study_file_cannot_lead_out_of_the_folder(design, tmp_path):
    run_study(design, tmp_path / "S")
    file = tmp_path / "S" / STUDY_FILE
    document = json.loads(file.read_text())
    document["systems"][0]["slug"] = "../../elsewhere"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match="cannot be read as a study"):
        StudyFolder.open(tmp_path / "S")


def test_all_systems_share_the_limit_of_their_server(chat_server, design, tmp_path):
    limits = Limits(2)
    run_study(design, tmp_path / "S", StudyPace(concurrency=8, limits=limits))
    ((address, limiter),) = limits.known().items()
    assert address == chat_server.url
    assert (limiter.limit, limiter.in_flight) == (2, 0)
