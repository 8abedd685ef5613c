"""The actor that answers items: agents of a pass's systems, and a channel to who writes the run."""

import asyncio
import os
import pickle
import resource
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.outages import Outages, PassEndedError
from branchwise.agents.restraints import Restraints
from branchwise.base.errors import InputError
from branchwise.base.process import search_rarely
from branchwise.eval.tasks import get_task
from branchwise.runs.answering import Answering, status_of
from branchwise.runs.on_ray.channel import Channel, ItemCommits
from branchwise.runs.on_ray.messages import (
    Gone,
    Granted,
    ItemEnded,
    Opening,
    StartItem,
    Stopped,
    WorkerOpened,
    WorkerSystem,
    packed,
    unpacked,
)
from branchwise.runs.on_ray.restraints import SharedAllowance, SharedLimits
from branchwise.runs.on_ray.shipping import laid_out, room_for_sources
from branchwise.runs.runner import Gate
from branchwise.runs.store.run_store import ItemJournal
from branchwise.runs.studies.shared import SharedSources, open_agent

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent
    from branchwise.runs.studies.shared import SharedSources

_BETWEEN_OUTAGES = 1.0
"""Seconds between two looks at which servers are gone."""


class Worker:
    """Answers items on a node. All methods are coroutines of one event loop, which Ray runs."""

    def __init__(self) -> None:
        search_rarely()
        self._channel = Channel()
        self._room = room_for_sources()
        self._agents: list[tuple[WorkerSystem, Agent]] = []
        self._sources: SharedSources | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._gate = Gate()

    async def open(self, asked_by: str, body: bytes) -> WorkerOpened:
        """Open the systems of a pickled `Opening`, where this is the version that asks."""
        from ray.util import get_node_ip_address

        opened = WorkerOpened(get_node_ip_address(), version("branchwise"))
        if opened.version != asked_by:
            return opened
        opening = pickle.loads(body)  # noqa: S301 - of our own processes
        _be_as_there(opening)
        try:
            self._open(opening)
        except InputError as error:
            self._room.remove()
            return opened._replace(refusal=str(error))
        return opened._replace(identities=[agent.identity for _, agent in self._agents])

    def _open(self, opening: Opening) -> None:
        outages = Outages(opening.patience)
        restraints = Restraints(
            SharedLimits(self._channel) if opening.has_limits else None,
            SharedAllowance(self._channel) if opening.has_allowance else None,
            outages,
        )
        self._sources = SharedSources()
        for one in opening.systems:
            system = laid_out(one.system, opening.files, self._room)
            agent = open_agent(system, get_task(one.task), restraints, self._sources)
            self._agents.append((one, agent))
        self._begin(self._tell_outages(outages))

    async def deliver(self, body: bytes) -> None:
        """Take messages."""
        for message in unpacked(body):
            if isinstance(message, Granted):
                self._channel.hear(message)
            else:
                self._begin(self._run(message))

    async def poll(self) -> bytes:
        """The next batch of messages."""
        return packed(await self._channel.batch())

    async def stop(self) -> bytes:
        """Give up what is running, let go of what is open; returns the last messages."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        for _, agent in self._agents:
            await agent.aclose()
        if self._sources:
            self._sources.close()
        self._room.remove()
        return packed(self._channel.close())

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, start: StartItem) -> None:
        await self._gate.passed()
        system, agent = self._agents[start.part]

        async def has_answers() -> bool:
            _, found = await self._channel.call("has_answers", item=start.item)
            return bool(found)

        answering = Answering(agent, get_task(system.task), system.name, has_answers)
        commits = ItemCommits(self._channel, start.item)
        journal = ItemJournal(commits, start.beginning)
        try:
            record = await answering.record_of(start.question, journal, journal.opening)
        except PassEndedError as error:
            self._channel.say(Stopped(start.item, PassEndedError(str(error))))
        except Exception as error:  # noqa: BLE001 - raised again where the run is written
            told = RuntimeError(f"{type(error).__name__}: {error}")
            self._channel.say(Stopped(start.item, told))
        else:
            ending = journal.ending(status_of(record), record)
            self._channel.say(ItemEnded(start.item, ending, record))

    async def _tell_outages(self, outages: Outages) -> None:
        told: list[Any] = []
        while True:
            await asyncio.sleep(_BETWEEN_OUTAGES)
            if (now := outages.now()) or told:
                self._channel.say(Gone(now))
            told = now


def _be_as_there(opening: Opening) -> None:
    """The working directory and modules of the process that asks, as far as they are here, and as
    many connections as the system allows."""
    if Path(opening.folder).is_dir():
        os.chdir(opening.folder)
    sys.path += [path for path in opening.search_path if path not in sys.path]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
