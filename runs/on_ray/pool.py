"""The engine that answers items on Ray: actors on this machine's cores, or on a cluster's.

The run folder, its queue of items and its one writer stay in this process. A worker that dies gives
its items back, and another takes its place; Ray itself restarts and repeats nothing.
"""

import asyncio
import pickle
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from branchwise.agents.outages import PATIENCE, PassEndedError
from branchwise.agents.restraints import Restraints
from branchwise.base.errors import InputError
from branchwise.runs.answering import HasAnswers
from branchwise.runs.on_ray.connection import (
    OPTION,
    RayPlace,
    address_of_head,
    one_line_of,
    until_gone,
)
from branchwise.runs.on_ray.link import WorkerLink, WorkerLostError, result_of
from branchwise.runs.on_ray.messages import Opening, WorkerOpened, WorkerSystem
from branchwise.runs.on_ray.worker import Worker, sources_of
from branchwise.runs.runner import AnswerItem, Part
from branchwise.runs.store import PendingItem

_STRAGGLERS = 2.0
"""Seconds for which those that open later than the first are waited for, to notice refusals."""
_MOST_DEATHS = 5
"""Workers that may die with an item that gets no further, or one after the other while opening:
without a bound the pass would go on for ever."""


class RayPool:
    """An engine (`runs.runner.Engine`) whose workers are opened before a run folder is made."""

    def __init__(
        self,
        place: RayPlace,
        count: int,
        systems: Sequence[WorkerSystem],
        identities: Sequence[Mapping[str, Any]],
        restraints: Restraints,
    ) -> None:
        files: dict[str, bytes] = {}
        for system in systems:
            files |= sources_of(system.system)
        self.place, self._identities, self._restraints = place, identities, restraints
        outages = restraints.outages
        opening = Opening(
            systems,
            files,
            outages.patience if outages else PATIENCE,
            restraints.limits is not None,
            restraints.allowance is not None,
            str(Path.cwd()),
            [path for path in sys.path if path],
        )
        self._opening = pickle.dumps(opening)
        self._begun = [self.worker() for _ in range(count)]

    @classmethod
    @contextmanager
    def opened(
        cls,
        place: RayPlace,
        systems: Sequence[WorkerSystem],
        identities: Sequence[Mapping[str, Any]],
        restraints: Restraints,
    ) -> Iterator["RayPool"]:
        """A pool whose first workers can answer as `identities` do here. Raises InputError."""
        with place.connected() as count:
            pool = cls(place, count, systems, identities, restraints)
            pool._check_first()
            yield pool

    def worker(self) -> tuple[Any, Any]:
        import ray

        once = {"max_restarts": 0, "max_task_retries": 0}
        remote = ray.remote(Worker).options(num_cpus=1, scheduling_strategy="SPREAD", **once)
        actor = remote.remote()
        return actor, actor.open.remote(version("branchwise"), self._opening)

    def _check_first(self) -> None:
        import ray

        try:
            for _ in range(_MOST_DEATHS):
                # Of those that have opened soon after the first.
                opened = [reference for _, reference in self._begun]
                ray.wait(opened, num_returns=1)
                ready, _ = ray.wait(opened, num_returns=len(opened), timeout=_STRAGGLERS)
                deaths = [death for worker in ready if (death := self._death(worker))]
                if len(deaths) < len(self._begun):
                    return
                self._begun = [self.worker() for _ in self._begun]
            raise deaths[0]
        except InputError:
            raise
        except Exception as error:
            problem = f"a worker on {self.place.words} did not start ({one_line_of(error)})"
            remedy = "see that every node has branchwise, and memory enough"
            raise InputError(problem, where=OPTION, remedy=remedy) from error

    def _death(self, opened: Any) -> Exception | None:
        import ray
        from ray.exceptions import RayActorError

        try:
            self.check(ray.get(opened))
            return None
        except RayActorError as error:
            return cast(Exception, error)

    def check(self, opened: WorkerOpened) -> None:
        if opened.version != (ours := version("branchwise")):
            problem = f"node {opened.node} has branchwise {opened.version}, and this is {ours}"
            remedy = f"on every node: pip install 'branchwise[ray]=={ours}'"
            raise InputError(problem, where=OPTION, remedy=remedy)
        if opened.refusal is not None:
            raise InputError(
                f"node {opened.node}: {opened.refusal}",
                where=OPTION,
                remedy="every node needs what the system names, at the same path; or serve it "
                "(`branchwise serve retrieve`) and search with --retriever http:URL",
            )
        for here, there in zip(self._identities, opened.identities, strict=True):
            changed = sorted(k for k in here.keys() | there.keys() if here.get(k) != there.get(k))
            if changed:
                raise InputError(
                    f"node {opened.node} would answer as another system "
                    f"(different: {', '.join(changed)})",
                    where=OPTION,
                    remedy="give every node the same corpora, indexes, graphs and packages",
                )

    @asynccontextmanager
    async def started(
        self, parts: Sequence[Part], has_answers: Sequence[HasAnswers]
    ) -> AsyncIterator[AnswerItem]:
        """Answer items until the pass ends; then the workers end, too."""
        going = _Pass(self, parts, has_answers, self._restraints)
        keepers = [asyncio.ensure_future(going.keep(*worker)) for worker in self._begun]
        keepers.append(asyncio.ensure_future(going.watch_head()))
        try:
            yield going.answer
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)


class _Pass:
    def __init__(
        self,
        pool: RayPool,
        parts: Sequence[Part],
        has_answers: Sequence[HasAnswers],
        restraints: Restraints,
    ) -> None:
        self._pool, self._has_answers, self._restraints = pool, has_answers, restraints
        self._stores = [part.store for part in parts]
        self._links: set[WorkerLink] = set()
        self._gone = PassEndedError(f"{pool.place.words} is gone")
        self._places = 0
        self._failure: Exception | None = None
        self._changed = asyncio.Event()

    async def answer(self, part: int, pending: PendingItem) -> dict[str, Any]:
        """Implements `runs.runner.AnswerItem`: by the worker that has the fewest items."""
        recorded, deaths = -1, 0
        while True:
            link = await self._least_busy()
            beginning = self._stores[part].beginning(pending)
            deaths = deaths + 1 if len(beginning.recorded) == recorded else 0
            recorded = len(beginning.recorded)
            if deaths >= _MOST_DEATHS:
                raise PassEndedError(
                    f"{deaths} workers died, one after the other, with question "
                    f"{pending.question.id!r}, which got no further"
                )
            try:
                return await link.answered(part, pending, beginning)
            except WorkerLostError:
                pending = pending._replace(resumed=True)

    async def _least_busy(self) -> WorkerLink:
        while True:
            if self._failure:
                raise self._failure
            if self._links:
                return min(self._links, key=lambda link: link.load)
            self._changed.clear()
            await self._changed.wait()

    async def keep(self, actor: Any, opened: Any) -> None:
        """Let a worker serve, and another in its place when it dies, until this is cancelled."""
        from ray.exceptions import RayActorError

        deaths = 0
        self._places += 1
        while True:
            try:
                self._pool.check(await result_of(opened))
                deaths = 0
                await self._serve(actor)
            except InputError as refusal:
                return await self._fail(PassEndedError(str(refusal)))
            except Exception as death:  # noqa: BLE001 - of Ray and gRPC; a refusal is the pool's own
                deaths += 1
                if deaths >= _MOST_DEATHS or not isinstance(death, RayActorError):
                    return await self._lose(death)
            try:
                actor, opened = self._pool.worker()
            except Exception as lost:  # noqa: BLE001
                return await self._lose(lost)

    async def watch_head(self) -> None:
        """End the pass when Ray's head is gone, before Ray ends this process."""
        if (address := address_of_head()) is not None:
            await until_gone(address)
            await self._fail(self._gone)

    async def _serve(self, actor: Any) -> None:
        link = WorkerLink(actor, self._stores, self._has_answers, self._restraints)
        self._links.add(link)
        self._changed.set()
        try:
            await link.serve()
        except asyncio.CancelledError:
            self._links.discard(link)
            await link.stopped()
            raise
        except Exception:
            self._links.discard(link)
            await link.lost(WorkerLostError())
            raise

    async def _lose(self, error: Exception) -> None:
        self._places -= 1
        if not self._places:
            import ray

            reason = f"no worker is left on {self._pool.place.words} ({one_line_of(error)})"
            await self._fail(PassEndedError(reason) if ray.is_initialized() else self._gone)

    async def _fail(self, error: Exception) -> None:
        self._failure = error
        self._changed.set()
        # Others may be lost meanwhile.
        for link in list(self._links):
            await link.lost(error)
