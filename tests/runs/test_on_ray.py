"""`--on ray`: items are answered by workers, and the run is as one process would have made it."""

import asyncio
import json
import os
import pickle
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import branchwise
from branchwise import System
from branchwise.agents.decoding import Decoding
from branchwise.agents.restraints import Limits
from branchwise.base import errors
from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.scratch import Scratch
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.kg.build import build_kg
from branchwise.runs import experiment
from branchwise.runs.experiment import make_agent
from branchwise.runs.on_ray import pool, worker
from branchwise.runs.on_ray.connection import RayPlace
from branchwise.runs.on_ray.messages import Opening, WorkerSystem
from branchwise.runs.on_ray.worker import Worker, laid_out, sources_of
from branchwise.runs.store import open_run
from branchwise.runs.studies.running import StudyDesign, StudyPace, run_study
from branchwise.runs.studies.sets import StudySet
from branchwise.runs.studies.systems import NamedSystem
from support import TESTS
from support.chat_server import Answer, Body, ChatServer, call, fail, hang, say
from support.needs import needs_ray

OF_THE_MOMENT = {"seconds", "at", "replayed", "waited", "wait"}
QUESTIONS = 6
PLUGINS = """
import os
from pathlib import Path
from branchwise import Corpus, metric, node, retriever, tool
from neighbour import said

@tool
def year(title: str) -> str:
    '''The year of a film.'''
    return said(title)

@tool
def dies_once(title: str) -> str:
    '''Ends its process when it is called first.'''
    mark = Path(__file__).with_name("died")
    if not mark.exists():
        mark.touch()
        os._exit(1)
    return "1995"

@node("after_tools")
def leaves(state):
    '''Changes nothing.'''
    return {}

@retriever
def made_up(corpus: Corpus):
    '''The first passages, whatever is asked for.'''
    def search(queries, k):
        return [[(corpus.passage(row), 1.0 / (1 + row)) for row in range(k)] for _ in queries]
    return search

@metric
def texts(item):
    '''How many texts were predicted.'''
    return sum(len(branch) for branch in item.prediction.answers.values())
"""
NEIGHBOUR = "def said(title):\n    return f'{title}: 1995'\n"


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """A Ray of this machine with two cores, which all runs of this module use."""
    with pytest.MonkeyPatch.context() as patch:
        # Workers have the environment that Ray was started in.
        patch.setenv("OPENAI_API_KEY", "sk-test")
        patch.setenv("NO_PROXY", "127.0.0.1,localhost")
        with RayPlace(None, 2).connected():
            yield


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "neighbour.py").write_text(NEIGHBOUR)
    (folder / "mine.py").write_text(PLUGINS)
    return folder / "mine.py"


@pytest.fixture
def system(chat_server: ChatServer, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> System:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    decoding = Decoding(attempts=1, max_tokens=50)
    model = f"openai:scripted@{chat_server.url}"
    return System(model=model, corpus=str(corpus), k=2, decoding=decoding)


def by_turns(body: Body) -> Answer:
    """Calls each tool once, then answers; by the request alone."""
    asked = sum(message["role"] == "assistant" for message in body["messages"])
    tools = [one["function"]["name"] for one in body.get("tools") or ()]
    if asked < len(tools):
        arguments = {
            "local_retriever": {"query": "Heat film"},
            "wikidata_search": {"query": "Aurora"},
            "wikisparql": {"query": "SELECT ?a WHERE { ?a wdt:P57 wd:Q3 }"},
        }
        return call(tools[asked], **arguments.get(tools[asked], {"title": "Heat"}))
    return say(json.dumps({"answers": {"default": ["Michael Mann"]}}))


def lasting(value: Any) -> Any:
    """Without what no two runs share."""
    if isinstance(value, dict):
        return {k: lasting(v) for k, v in value.items() if k not in OF_THE_MOMENT}
    return [lasting(one) for one in value] if isinstance(value, list | tuple) else value


def recorded_rows(path: Path) -> list[Any]:
    """Everything that a run keeps of its items."""
    reader = open_run(path)
    items = [
        (row.question.id, row.status, lasting(dict(row.outcome or {})),
         [(one.kind, lasting(dict(one.data))) for one in reader.events(row.item)
          if one.kind != "retry"])
        for row in reader.items()
    ]  # fmt: skip
    reader.close()
    return items


def recorded(path: Path) -> list[Any]:
    """Everything that a run keeps of its items, and its scores."""
    scores = branchwise.score(path)
    return [*recorded_rows(path), scores.aggregates, [item.to_json() for item in scores.items]]


def kg(folder: Path) -> Path:
    ends = "<http://www.wikidata.org/entity/Q{}> <http://www.wikidata.org/prop/direct/P57> "
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    (folder / "g.nt").write_text(
        f"{ends.format(1)}<http://www.wikidata.org/entity/Q3> .\n"
        f'<http://www.wikidata.org/entity/Q1> {label} "Aurora"@en .\n'
        f'<http://www.wikidata.org/entity/Q3> {label} "Ann Lee"@en .\n'
        f'<http://www.wikidata.org/entity/P57> {label} "director"@en .\n'
    )
    build_kg([folder / "g.nt"], folder / "graph")
    return folder / "graph"


@pytest.mark.long
@needs_ray
@pytest.mark.usefixtures("ray_here", "process")
def test_a_study_with_plugins_a_graph_and_an_mcp_server_is_that_of_one_process(
    system: System, plugins: Path, question_file: Any, chat_server: ChatServer, tmp_path: Path
) -> None:
    films = TESTS / "support" / "plugins" / "mcp_films.py"
    mcp = f"mcp:{shlex.quote(sys.executable)} {shlex.quote(str(films))}#film_year"
    changes: dict[str, dict[str, Any]] = {
        "plug-ins": {
            "tools": (f"{plugins}:year", "local_retriever"),
            "nodes": (f"{plugins}:leaves",),
            "retriever": f"{plugins}:made_up",
        },
        "graph and MCP": {
            "kg": str(kg(tmp_path)),
            "tools": ("local_retriever", "wikidata_search", "wikisparql", mcp),
        },
    }
    systems = tuple(
        NamedSystem(name, f"s{n}", system.model_copy(update=one), {}, "scripted", name, "plug-ins")
        for n, (name, one) in enumerate(changes.items())
    )
    design = StudyDesign(
        "two",
        systems,
        (StudySet("questions", load_questions(str(question_file(QUESTIONS)))),),
        scoring=ScoringChoice(metrics=(f"{plugins}:texts",)),
    )
    chat_server.play(by_turns)
    here = run_study(design, tmp_path / "here").folder
    refusals = iter([fail(429, retry_after="0.01")])
    chat_server.play(lambda body: next(refusals, None) or by_turns(body))
    limits = Limits()
    pace = StudyPace(limits=limits, on=RayPlace(None, 2))
    made = run_study(design, tmp_path / "on-ray", pace)

    assert made.state.done == 2 * QUESTIONS
    for (_, one), (_, other) in zip(here.runs(), made.folder.runs(), strict=True):
        assert recorded(other) == recorded(one)
        assert "texts" in str(recorded(one)[-2])
    (limiter,) = limits.known().values()
    assert limiter.refusals == 1, "workers share the pace of a server"
    assert limiter.in_flight == 0


@pytest.mark.long
@needs_ray
@pytest.mark.usefixtures("ray_here", "process")
def test_a_worker_that_dies_gives_its_items_back_and_nothing_recorded_is_asked_for_again(
    system: System, plugins: Path, question_file: Any, chat_server: ChatServer, tmp_path: Path
) -> None:
    tools = ("local_retriever", f"{plugins}:dies_once")
    mortal = system.model_copy(update={"tools": tools})
    chat_server.play(by_turns)
    source = str(question_file(QUESTIONS))
    made = branchwise.run(
        source, mortal, out=tmp_path / "R", concurrency=1, on="ray", workers=1, max_cost=1.0,
        prices=prices(tmp_path),
    )  # fmt: skip
    assert (made.state.done, made.state.stopped) == (QUESTIONS, None)
    assert (plugins.parent / "died").exists()
    assert (len(chat_server.requests), chat_server.repeats) == (3 * QUESTIONS, 0)
    here = branchwise.run(source, mortal, out=tmp_path / "here", concurrency=1)
    assert recorded(made.path) == recorded(here.path)


def prices(folder: Path) -> Path:
    path = folder / "prices.yaml"
    path.write_text(json.dumps({"models": {"openai:scripted": {"input": 1, "output": 2}}}))
    return path


@pytest.mark.long
@needs_ray
@pytest.mark.usefixtures("ray_here", "process")
def test_a_run_stops_at_its_cost_as_in_one_process_and_goes_on_after_an_interrupt(
    system: System, question_file: Any, chat_server: ChatServer, tmp_path: Path
) -> None:
    source, priced = str(question_file(QUESTIONS)), prices(tmp_path)
    usage = {"prompt_tokens": 1000, "completion_tokens": 50}
    chat_server.play(lambda _: say('{"answers": {"default": ["A"]}}', usage=usage))
    most: dict[str, Any] = {"concurrency": 1, "max_cost": 0.008, "prices": priced}
    here = branchwise.run(source, system, out=tmp_path / "here", **most)
    asked = len(chat_server.requests)
    bounded = branchwise.run(source, system, out=tmp_path / "R", on="ray", workers=1, **most)
    assert 0 < asked < QUESTIONS
    assert len(chat_server.requests) == 2 * asked
    assert bounded.state == here.state
    assert "of --max-cost 0.008 are spent" in str(bounded.state.stopped)

    left = iter(range(2))
    main = threading.main_thread()

    def interrupting(body: Body) -> Answer:
        if next(left, None) == 1:
            signal.pthread_kill(main.ident or 0, signal.SIGINT)
        return say('{"answers": {"default": ["A"]}}', usage=usage)

    chat_server.play(interrupting)
    stopped = branchwise.resume(bounded.path, on="ray", workers=1, concurrency=2, max_cost=1.0)
    assert stopped.state.stopped == "interrupted"
    assert stopped.state.pending
    ended = branchwise.resume(bounded.path, concurrency=2, max_cost=1.0)
    assert (ended.state.done, ended.state.stopped) == (QUESTIONS, None)
    assert len(chat_server.requests) <= asked + QUESTIONS + 2


def heads_started_by(process: "subprocess.Popen[str]") -> Iterator[int]:
    """Of Ray, in the process table."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, name, _, parent, *_ = path.read_text().split()
            if (name, int(parent)) == ("(gcs_server)", process.pid):
                yield int(pid)


@pytest.mark.long
@needs_ray
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find Ray's head")
def test_a_run_whose_ray_loses_its_head_says_how_to_go_on_and_does_without_ray(
    chat_server: ChatServer, corpus: Path, question_file: Any, tmp_path: Path, start: Any
) -> None:
    begun = threading.Event()
    left = iter(range(QUESTIONS // 2))

    def beheading(_: Body) -> Answer:
        if next(left, None) is not None:
            return say('{"answers": {"default": ["A"]}}')
        begun.wait()
        for pid in heads_started_by(run):
            os.kill(pid, signal.SIGKILL)
        return hang()

    chat_server.play(beheading)
    path = tmp_path / "R"
    run = start(
        *("run", "--questions", question_file(QUESTIONS), "--corpus", corpus, "--out", path),
        *("--model", f"openai:scripted@{chat_server.url}", "--concurrency", 2),
        *("--on", "ray", "--workers", 1),
    )
    begun.set()
    said = run.communicate(timeout=240)[1]
    assert run.returncode == 1, said
    assert said.endswith(
        "Stopped: Ray on this machine is gone. Nothing is lost; continue with:\n"
        f"  branchwise resume {path} --on ray --workers 1\n"
    )
    # Two at a time: the one that met the kill had waited for all before it but one.
    done = [row for row in recorded_rows(path) if row[1] == "done"]
    assert len(done) >= QUESTIONS // 2 - 1
    asked = len(chat_server.requests)
    chat_server.release()
    chat_server.play(lambda _: say('{"answers": {"default": ["A"]}}'))
    ended = branchwise.resume(path)
    assert (ended.state.done, ended.state.stopped) == (QUESTIONS, None)
    assert len(chat_server.requests) == asked + QUESTIONS - len(done)
    assert [row for row in recorded_rows(path) if row in done] == done


@pytest.mark.long
@needs_ray
@pytest.mark.usefixtures("ray_here", "process")
def test_a_worker_that_would_answer_otherwise_is_refused_before_a_run_is_made(
    system: System, question_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> str:
        with pytest.raises(InputError) as error:
            branchwise.run(source, system, out=tmp_path / "R", on="ray", workers=1)
        assert not (tmp_path / "R").exists()
        return str(error.value)

    source = str(question_file(1))
    with monkeypatch.context() as patch:
        patch.setattr(pool, "version", lambda _: "0.0.0")
        assert "and this is 0.0.0; on every node: pip install 'branchwise[ray]==0.0.0'" in refused()
    elsewhere = system.model_copy(update={"corpus": str(tmp_path / "gone")})
    monkeypatch.setattr(experiment, "WorkerSystem", lambda _, task: WorkerSystem(elsewhere, task))
    said = refused()
    assert said.startswith("on: node ")
    assert str(tmp_path / "gone") in said
    assert "branchwise serve retrieve" in said


@needs_ray
@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("rays", "'rays' is not a place to run; name ray or ray://HOST:PORT"),
        ("ray://host", "'ray://host' has no host and port"),
        ("ray://127.0.0.1:1", "no Ray server answers at 127.0.0.1:1 (Connection refused)"),
    ],
)
def test_a_place_where_there_is_no_ray_is_refused(
    system: System, question_file: Any, tmp_path: Path, place: str, complaint: str
) -> None:
    with pytest.raises(InputError, match=r"^on: ") as error:
        branchwise.run(str(question_file(1)), system, out=tmp_path / "R", on=place)
    assert complaint in str(error.value)
    assert not (tmp_path / "R").exists()


def test_without_ray_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError) as error:
        RayPlace.parse("ray")
    assert str(error.value) == (
        "--on: ray needs ray, which is not installed; pip install 'branchwise[ray]'"
    )


def test_sources_of_plugins_and_prompts_are_laid_out_where_they_are_missing(
    system: System, plugins: Path, tmp_path: Path
) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "budget_spent.md").write_text("Answer now.")
    named = system.model_copy(
        update={"tools": (f"{plugins}:year",), "nodes": (f"{plugins}:leaves",),
                "retriever": f"{plugins}:made_up", "prompts": str(prompts)}
    )  # fmt: skip
    files = sources_of(named)
    assert {Path(one).name for one in files} == {"mine.py", "neighbour.py", "budget_spent.md"}
    room = Scratch("branchwise-test-")
    assert laid_out(named, files, room) == named
    digest = make_agent(named, "branches").digest
    plugins.write_text("")
    plugins.with_name("neighbour.py").unlink()
    moved = laid_out(named, files, room)
    assert moved != named
    assert make_agent(moved, "branches").digest == digest
    room.remove()


@needs_ray
@pytest.mark.parametrize("corpus_is_there", [True, False])
def test_a_worker_keeps_the_sources_that_it_laid_out_until_it_stops_or_cannot_open(
    system: System, plugins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    corpus_is_there: bool,
) -> None:  # fmt: skip
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(worker, "_be_as_there", lambda _: None)
    monkeypatch.setattr(worker, "search_rarely", lambda: None)
    tools = (f"{plugins}:year", "local_retriever")
    named = system.model_copy(update={"tools": tools})
    files = sources_of(named)
    plugins.unlink()
    if not corpus_is_there:
        named = named.model_copy(update={"corpus": str(tmp_path / "gone")})
    systems = [WorkerSystem(named, "branches"), WorkerSystem(named, "branches")]
    opening = Opening(systems, files, 1.0, False, False, "", [])

    async def lives() -> None:
        one = Worker()
        opened = await one.open(version("branchwise"), pickle.dumps(opening))
        assert bool(opened.refusal) != corpus_is_there
        laid = [path.name for path in temporary.rglob("*.py")]
        assert sorted(laid) == (["mine.py", "neighbour.py"] if corpus_is_there else [])
        await one.stop()

    asyncio.run(lives())
    assert not list(temporary.iterdir())
