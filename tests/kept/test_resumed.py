"""Runs and a study that an earlier commit made go on where they were, and end as they did then."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchwise.agents import restraints
from support.chat_server import Answer, Body, ChatServer
from support.runs.fork_scripts import SCRIPT
from support.runs.kept_commands import FORKS, RUNS
from support.runs.studies import reply
from support.runs.told import told
from support.stores import edited, forget_ends

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
SYSTEMS = ("base", "expansion", "extraction", "expansion-extraction")
MADE_AT = "/tmp/kept"
SCRIPTED_AT = re.compile(r"http://127\.0\.0\.1:\d+/v1")
BY_PROCESS = ("seconds", "replayed", "step", "lost_step", "events", "printed")
"""Fields that differ where all is well. Of tools that run at the same time any may end first, so
that steps have other numbers; events are compared apart. What nodes print is no longer recorded."""
TypeIn = Callable[..., tuple[int, str, str]]
LATER_HALF = """SELECT rowid FROM responses AS one WHERE rowid >
    (SELECT AVG(rowid) FROM responses AS other WHERE other.item = one.item)"""


class Served:
    """Replies as the kept runs were replied to, and says how many requests were not refused."""

    def __init__(self, script: Callable[[Body], Answer]) -> None:
        self.script = script
        self.replies = 0

    def __call__(self, body: Body) -> Answer:
        answer = self.script(body)
        # A refusal is not a response: it is not recorded, and comes again when the run goes on.
        self.replies += answer.status == 200
        return answer


@pytest.fixture
def kept(tmp_path: Path, type_in: TypeIn, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, with an index."""
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)
    monkeypatch.chdir(shutil.copytree(HERE / "files", tmp_path / "files"))
    assert type_in("corpus", "index", "C", "--kind", "bm25")[0] == 0
    return tmp_path / "files"


def stop_halfway(run: Path) -> int:
    """Leave a run as a kill in the middle of all items would; how many replies it has lost."""
    forget_ends(run)
    with edited(run) as connection:
        connection.execute("UPDATE items SET events = NULL, responses = NULL")
        connection.execute("DELETE FROM events")
        lost = f"FROM responses WHERE rowid IN ({LATER_HALF})"
        found = connection.execute(f"SELECT COUNT(*) {lost} AND kind = 'model'").fetchone()
        connection.execute(f"DELETE {lost}")
    return int(found[0])


def stop_before_the_last_commit(run: Path) -> int:
    forget_ends(run)
    return 0


def move_nodes(run: Path) -> None:
    """Steps of one's own stay where they were, which here is beside the copied run."""
    with edited(run) as connection:
        change = "UPDATE meta SET value = replace(value, ?, ?) WHERE key = 'system'"
        connection.execute(change, (f"{MADE_AT}/nodes.py", str(run.parent / "nodes.py")))


def same_as_then(value: Any) -> Any:
    """A JSON value without what is another process's."""
    match value:
        case dict():
            return {k: same_as_then(one) for k, one in value.items() if k not in BY_PROCESS}
        case list() | tuple():
            return [same_as_then(one) for one in value]
        case str():
            return re.sub(r"http://127\.0\.0\.1:\d+", "SERVER", value)
    return value


@pytest.mark.parametrize("run", [*RUNS, *FORKS])
@pytest.mark.parametrize("stop", [stop_before_the_last_commit, stop_halfway])
def test_a_kept_run_goes_on_without_asking_again_and_ends_as_it_did(
    stop: Callable[[Path], int], run: str, kept: Path, chat_server: ChatServer, type_in: TypeIn
) -> None:
    path, served = kept / run, Served(SCRIPT)
    chat_server.play(served)
    then = same_as_then(told(path))
    lost = stop(path)
    move_nodes(path)
    model = f"openai:scripted@{chat_server.url}"
    type_in("resume", run, "--corpus", "C", "--model", model, "--concurrency", 1)
    assert served.replies == lost
    assert same_as_then(told(path)) == then


def test_the_kept_study_goes_on_without_asking_again_and_ends_as_it_did(
    kept: Path, chat_server: ChatServer, type_in: TypeIn
) -> None:
    study, served = kept / "study.yaml", Served(reply)
    chat_server.play(served)
    study.write_text(SCRIPTED_AT.sub(chat_server.url, study.read_text("utf-8")))
    runs = [kept / "study" / "runs" / system for system in SYSTEMS]
    then = [same_as_then(told(path)) for path in runs]
    lost = sum(map(stop_halfway, runs))
    assert type_in("ablate", study, "--out", "study", "--concurrency", 1)[0] == 0
    assert served.replies == lost
    assert [same_as_then(told(path)) for path in runs] == then
