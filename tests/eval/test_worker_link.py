"""A worker on Ray, seen from the process that writes the run; Ray itself is not needed."""

import asyncio
import gc
from types import SimpleNamespace
from typing import Any

from branchwise.agents.restraints import Restraints
from branchwise.runs.on_ray.link import WorkerLink


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
