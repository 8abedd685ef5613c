"""How a pass over workers ends: no Ray that answers, no worker left, a question that kills them."""

import asyncio
import gc
import json
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from branchwise.agents.outages import PassEndedError
from branchwise.agents.restraints import Restraints
from branchwise.corpora.loaders import load_questions
from branchwise.eval.tasks import get_task
from branchwise.runs.on_ray import connection, pool
from branchwise.runs.on_ray.connection import RayPlace
from branchwise.runs.on_ray.link import WorkerLink, WorkerLostError
from branchwise.runs.runner import Part
from branchwise.runs.store import RunSpec, RunStore, create_run
from support.needs import needs_ray
from support.ports import unused_port


@needs_ray
@pytest.mark.parametrize(
    ("usable", "workers", "asked"), [(3, None, 3), (64, None, None), (3, 8, 8), (64, 8, 8)]
)
def test_a_ray_of_this_machine_has_no_more_cores_than_its_process_unless_workers_are_named(
    monkeypatch: pytest.MonkeyPatch, usable: int, workers: int | None, asked: int | None
) -> None:
    import ray

    started: list[Any] = []
    monkeypatch.setattr(connection.os, "cpu_count", lambda: 64)
    monkeypatch.setattr(connection, "usable_cores", lambda: usable)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda num_cpus, **_: started.append(num_cpus))
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 4.0})
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with RayPlace(None, workers).connected() as count:
        assert count == (workers or 4)
    assert started == [asked]


@needs_ray
@pytest.mark.parametrize(
    ("connected", "said"),
    [
        (False, "Ray at host:10001 is gone"),
        (True, r"no worker is left on Ray at host:10001 \(connection lost\)"),
    ],
)
def test_a_pass_ends_when_no_worker_is_left_and_says_whether_the_cluster_is_gone(
    connected: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def opened(reference: str) -> None:
        await asyncio.sleep(0)
        raise ConnectionError(reference)

    async def answered() -> None:
        cluster = SimpleNamespace(place=RayPlace("host:10001"), check=None)
        going = pool._Pass(cluster, [], [], None)  # type: ignore[arg-type]
        keepers = [asyncio.create_task(going.keep(None, "connection lost")) for _ in range(2)]
        try:
            await going._least_busy()
        finally:
            await asyncio.gather(*keepers)

    monkeypatch.setattr(pool, "result_of", opened)
    monkeypatch.setattr("ray.is_initialized", lambda: connected)
    with pytest.raises(PassEndedError, match=said):
        asyncio.run(answered())


def test_a_question_with_which_workers_die_again_and_again_ends_the_pass(tmp_path: Path) -> None:
    tries = []

    async def dies(*_: object) -> None:
        tries.append(1)
        raise WorkerLostError

    async def answered() -> None:
        with RunStore(tmp_path / "R") as store:
            part = Part(store, None, get_task("branches"))  # type: ignore[arg-type]
            going = pool._Pass(SimpleNamespace(place=RayPlace()), [part], [], None)  # type: ignore[arg-type]
            going._links = [SimpleNamespace(load=0, answered=dies)]  # type: ignore[arg-type]
            await going.answer(0, next(store.pending()))

    question = tmp_path / "q.jsonl"
    question.write_text(json.dumps({"id": "q0", "question": "?", "answers": {"default": ["A"]}}))
    spec = RunSpec("branches", "here", "d", {}, {}, "", 1, "0")
    create_run(tmp_path / "R", spec, load_questions(str(question)).questions)
    with pytest.raises(PassEndedError, match="5 workers died, one after the other, with question"):
        asyncio.run(answered())
    assert len(tries) == 5


def test_a_worker_that_dies_after_the_run_is_not_complained_about() -> None:
    complaints: list[Any] = []

    async def end_the_run_first() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, complaint: complaints.append(complaint))
        said = loop.create_future()
        polled = SimpleNamespace(remote=lambda: said)
        link = WorkerLink(SimpleNamespace(poll=polled), [], [], Restraints())
        serving = asyncio.create_task(link.serve())
        await asyncio.sleep(0)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        said.set_exception(RuntimeError("the worker died"))
        del link
        for _ in range(3):
            await asyncio.sleep(0)
        gc.collect()

    asyncio.run(end_the_run_first())
    assert complaints == []


def test_a_head_is_gone_when_it_refuses_connections_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = iter([True, True, True, False, True, True, True, True])
    monkeypatch.setattr(connection, "_BETWEEN_LOOKS", 0.0)
    monkeypatch.setattr(connection, "_is_refused", lambda _: next(looks))
    asyncio.run(connection.until_gone("host:1"))
    assert not list(looks)


def test_only_a_refusal_says_that_a_head_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    port = unused_port()
    address = f"127.0.0.1:{port}"
    with socket.create_server(("127.0.0.1", port)):
        assert not connection._is_refused(address)
    assert connection._is_refused(address)

    def without_a_port(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(connection.socket, "create_connection", without_a_port)
    assert not connection._is_refused(address)
