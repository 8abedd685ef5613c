"""The actor that answers items: agents of a pass's systems, and a channel to who writes the run.

Keys do not travel, since Ray encrypts nothing by itself: nodes have their own in the environment.
"""

import asyncio
import os
import pickle
import resource
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.outages import Outages, PassEndedError
from branchwise.agents.restraints import Restraints
from branchwise.base.errors import InputError
from branchwise.base.plugins.sources import import_file
from branchwise.base.plugins.specs import is_mcp, is_plugin, parse_spec
from branchwise.base.process import search_rarely
from branchwise.corpora.open import is_plugin_retriever
from branchwise.corpora.scratch import Scratch
from branchwise.eval.tasks import get_task
from branchwise.graphs.system import System
from branchwise.runs.answering import Answering, status_of
from branchwise.runs.on_ray.messages import (
    Channel,
    Gone,
    Granted,
    ItemCommits,
    ItemEnded,
    Opening,
    SharedAllowance,
    SharedLimits,
    StartItem,
    Stopped,
    WorkerOpened,
    WorkerSystem,
    packed,
    unpacked,
)
from branchwise.runs.runner import Gate
from branchwise.runs.store.run_store import ItemJournal
from branchwise.runs.studies.shared import SharedSources, open_agent

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent


def sources_of(system: System) -> dict[str, bytes]:
    """By path, the files of a system's plug-ins with what they import, and its prompts."""
    sources: dict[str, bytes] = {}
    named = [*(system.tools or ()), *system.nodes]
    if is_plugin_retriever(system.retriever):
        named.append(str(system.retriever))
    for file in filter(None, map(_file_of, named)):
        sources |= {str(path): path.read_bytes() for path in import_file(file).digests}
    if system.prompts:
        prompts = Path(system.prompts).rglob("*.md")
        sources |= {str(path): path.read_bytes() for path in prompts if path.is_file()}
    return sources


def laid_out(system: System, files: Mapping[str, bytes], room: Scratch) -> System:
    """The system with its sources where they are here. Writes those that are not, into the room."""
    if all(_is_here(Path(path), body) for path, body in files.items()):
        return system
    root = room.folder
    for path, body in files.items():
        place = root / path.lstrip("/")
        if not _is_here(place, body):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)

    def moved(spec: str) -> str:
        return str(root / spec.lstrip("/")) if _file_of(spec) else spec

    changes: dict[str, object] = {"nodes": tuple(map(moved, system.nodes))}
    if system.tools is not None:
        changes["tools"] = tuple(map(moved, system.tools))
    if system.retriever is not None and is_plugin_retriever(system.retriever):
        changes["retriever"] = moved(system.retriever)
    if system.prompts is not None:
        changes["prompts"] = str(root / system.prompts.lstrip("/"))
    return system.model_copy(update=changes)


def _file_of(spec: str) -> Path | None:
    return parse_spec(spec).file if is_plugin(spec) and not is_mcp(spec) else None


def _is_here(path: Path, body: bytes) -> bool:
    try:
        return path.read_bytes() == body
    except OSError:
        return False


_BETWEEN_OUTAGES = 1.0  # seconds


class Worker:
    """Answers items on a node. All methods are coroutines of one event loop, which Ray runs."""

    def __init__(self) -> None:
        search_rarely()
        self._channel = Channel()
        self._room = Scratch("branchwise-sources-")
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
        limits = SharedLimits(self._channel) if opening.has_limits else None
        allowance = SharedAllowance(self._channel) if opening.has_allowance else None
        restraints = Restraints(limits, allowance, outages)
        self._sources = SharedSources()
        for asked in opening.systems:
            system = laid_out(asked.system, opening.files, self._room)
            agent = open_agent(system, get_task(asked.task), restraints, self._sources)
            self._agents.append((asked, agent))
        self._begin(self._tell_outages(outages))

    async def deliver(self, body: bytes) -> None:
        for message in unpacked(body):
            if isinstance(message, Granted):
                self._channel.hear(message)
            else:
                self._begin(self._run(message))

    async def poll(self) -> bytes:
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
            _, answered = await self._channel.call("has_answers", item=start.item)
            return bool(answered)

        answering = Answering(agent, get_task(system.task), system.name, has_answers)
        journal = ItemJournal(ItemCommits(self._channel, start.item), start.beginning)
        try:
            record = await answering.record_of(start.question, journal, journal.opening)
        except PassEndedError as error:
            self._channel.say(Stopped(start.item, PassEndedError(str(error))))
        except Exception as error:  # noqa: BLE001 - raised again where the run is written
            cause = RuntimeError(f"{type(error).__name__}: {error}")
            self._channel.say(Stopped(start.item, cause))
        else:
            ending = journal.ending(status_of(record), record)
            self._channel.say(ItemEnded(start.item, ending, record))

    async def _tell_outages(self, outages: Outages) -> None:
        before: list[Any] = []
        while True:
            await asyncio.sleep(_BETWEEN_OUTAGES)
            if (now := outages.now()) or before:
                self._channel.say(Gone(now))
            before = now


def _be_as_there(opening: Opening) -> None:
    if Path(opening.folder).is_dir():
        os.chdir(opening.folder)
    sys.path += [path for path in opening.search_path if path not in sys.path]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
