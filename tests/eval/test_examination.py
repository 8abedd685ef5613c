"""Items are examined by worker processes as by this one."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.eval.errors.labels import Label
from branchwise.eval.items import AnsweredItem
from branchwise.runs.scoring import examination
from branchwise.runs.scoring.examination import brief, examine_items
from branchwise.runs.store import RunSpec, RunStore, create_run, open_run
from support.eval.scoring_cases import question
from support.stores import damage

pytestmark = pytest.mark.usefixtures("process")

HEATS = {"Heat (1986 film)": ["Burt Reynolds"], "Heat (1995 film)": ["Al Pacino"]}
MANY = 60


@pytest.fixture
async def run_folder(tmp_path: Path) -> Path:
    """Items that saw Al Pacino; every third one answered Burt Reynolds, whom none saw."""
    path = tmp_path / "run"
    create_run(
        path,
        RunSpec("branches", "q", "d", {"model": "offline"}, {}, "s", 1, "0"),
        [question(f"q{n}", HEATS) for n in range(MANY)],
    )
    passage = {"id": "p", "title": "Heat (1995 film)", "text": "With Al Pacino.", "score": 1.0}
    with RunStore(path) as store:
        for n, pending in enumerate(list(store.pending())):
            journal = store.begin(pending)
            call = {"id": "c", "name": "local_retriever", "args": {"query": "Heat"}}
            seen = {"content": passage["text"], "artifact": {"passages": [passage]}, "error": None}
            journal.event("model", {"tool_calls": [call], "text": ""})
            for _ in range(n % 4):
                journal.event("tool", {"call": call, "of": 0, **seen})
            journal.event("model", {"tool_calls": [], "text": "…"})
            answers = {"Heat (1986 film)": ["Burt Reynolds"]} if n % 3 == 0 else {}
            record = {"prediction": {"answers": answers}, "evidence": [], "how": "strict"}
            await journal.finish("done", {**record, "error": None})
    return path


def items_of(path: Path) -> list[AnsweredItem]:
    reader = open_run(path)
    try:
        return list(reader.answered_items())
    finally:
        reader.close()


async def test_workers_find_what_this_process_finds_in_the_same_order(run_folder: Path):
    items = items_of(run_folder)
    alone = examine_items(run_folder, items, workers=1)
    assert examine_items(run_folder, items, workers=2) == alone
    assert [one.errors.id for one in alone] == [item.question.id for item in items]
    assert [Label.UNSUPPORTED_ANSWER in one.errors.labels for one in alone] == [False] * MANY
    lost = [{answer.text: answer.lost_at for answer in one.errors.missing} for one in alone]
    assert lost[1] == {"Al Pacino": "agent", "Burt Reynolds": None}
    assert lost[3] == {"Al Pacino": "agent"}
    assert lost[4] == {"Al Pacino": None, "Burt Reynolds": None}


async def test_the_work_of_a_worker_that_dies_is_done_here(run_folder: Path, monkeypatch):
    items = items_of(run_folder)
    alone = examine_items(run_folder, items, workers=1)
    begin, begun = examination._worker, []

    def beginning(opened, path):
        begun.append(begin(opened, path))
        if len(begun) == 1:
            begun[0].kill()
        return begun[-1]

    monkeypatch.setattr(examination, "_worker", beginning)
    assert examine_items(run_folder, items, workers=2) == alone
    assert [worker.returncode is not None for worker in begun] == [True, True]


async def test_an_interrupt_at_the_terminal_is_not_the_workers(run_folder: Path):
    with ExitStack() as opened:
        worker = examination._worker(opened, run_folder)
        assert os.getsid(worker.pid) != os.getsid(0)
    assert worker.returncode == -signal.SIGKILL


async def test_an_interrupt_ends_the_workers(run_folder: Path, monkeypatch):
    begin, begun = examination._worker, []

    def beginning(opened, path):
        begun.append(begin(opened, path))
        return begun[-1]

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(examination, "_worker", beginning)
    monkeypatch.setattr(examination, "_Unpickler", interrupted)
    with pytest.raises(KeyboardInterrupt):
        examine_items(run_folder, items_of(run_folder), workers=2)
    assert [worker.returncode for worker in begun] == [-signal.SIGKILL] * 2


async def test_what_workers_die_of_is_told_by_this_process_alone(run_folder: Path, capfd):
    items = items_of(run_folder)
    damage(run_folder, "UPDATE events SET body = 'no JSON'")
    with pytest.raises(InputError, match="damaged"):
        examine_items(run_folder, items, workers=2)
    assert capfd.readouterr().err == ""


async def test_a_brief_trail_keeps_the_places_that_decide(run_folder: Path):
    items = items_of(run_folder)
    kept = examine_items(run_folder, items, workers=1)[3].evidence
    (places,) = kept.places.values()
    assert [place.call for place in places] == [1]
    assert len(kept.calls) == 3
    assert brief(kept) == kept
