"""Asking a model for mappings: cached, repaired once, without raising for a single request's
failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from branchwise.agents.caller import ModelCaller, ModelError, Reply
from branchwise.agents.format_error import FormatError
from branchwise.agents.journal import CallKey, Slot
from branchwise.agents.spec import check_ready
from branchwise.corpora.errors import InputError
from branchwise.eval.judging.mapping import Indices, MappingRequest, read_mapping
from branchwise.eval.judging.readiness import Ready, check_role
from branchwise.eval.store.judgements import Judgements
from branchwise.graphs.ledger import RoleUsage

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


class ReportedItem(NamedTuple):
    """One item, by question id and epoch; `why` if there is a reason to give."""

    id: str
    epoch: int
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Without fields that are empty."""
        return {key: value for key, value in self._asdict().items() if value is not None}


REPAIR = "mapping_repair"
_MAX_RETURNED = 20_000
"""Characters of an unusable reply that are sent back with the request to repair it."""
_DECLINED = {"refusal": "the model refused", "content_filter": "the reply was filtered"}

RequestProgress = Callable[[int, int], None]
"""Gets the number of finished distinct requests and of all: at first, after each, and now and then
in between."""
SECONDS_BETWEEN_SIGNS = 1.0


@dataclass(frozen=True)
class MappingOutcome:
    """The result of a request. `indices` is None if no reply could be used; `problem` says why.

    `repaired`: the first reply was unusable, the second was not. `failed`: a call got no reply;
    this is not kept, and the next scoring repeats it.
    """

    indices: Indices | None
    problem: str | None = None
    repaired: bool = False
    failed: bool = False


@dataclass(frozen=True)
class Ended:
    """How distinct requests ended: `failed` ones got no reply, `unusable` ones got replies that are
    not a mapping, even after the repair."""

    requests: int = 0
    failed: int = 0
    unusable: int = 0

    @classmethod
    def of(cls, found: Iterable[MappingOutcome]) -> Ended:
        listed = list(found)
        failed = sum(mapped.failed for mapped in listed)
        nothing = sum(mapped.indices is None for mapped in listed)
        return cls(len(listed), failed, nothing - failed)

    @property
    def brought_nothing(self) -> bool:
        """Whether a request was made and no reply could be used."""
        return 0 < self.requests == self.failed + self.unusable


@dataclass(frozen=True)
class Consulted:
    """Model calls made now, and those with replies kept from earlier.

    `left_out`: optional fields that requests of either omitted because the server refuses them.
    """

    fresh: RoleUsage = field(default_factory=RoleUsage)
    cached: RoleUsage = field(default_factory=RoleUsage)
    left_out: tuple[str, ...] = ()

    def plus(self, reply: Reply) -> Consulted:
        """With one more reply."""
        left_out = tuple(dict.fromkeys((*self.left_out, *reply.left_out)))
        if reply.replayed:
            return Consulted(self.fresh, self.cached.plus(reply.usage, reply.seconds), left_out)
        return Consulted(self.fresh.plus(reply.usage, reply.seconds), self.cached, left_out)

    def to_json(self) -> dict[str, Any]:
        """Calls, tokens and seconds of both, and what the requests lacked."""
        left_out = {"left_out": list(self.left_out)} if self.left_out else {}
        return {"fresh": _record(self.fresh), "cached": _record(self.cached), **left_out}


class Mapper:
    """Asks one model in one role (`matcher`, `judge`), whose prompt has the role's name.

    `ready` is called before the first request without a kept reply, so that scoring again needs
    neither server nor key.
    """

    def __init__(
        self, caller: ModelCaller, judgements: Judgements, role: str, ready: Ready = check_ready
    ) -> None:
        self._caller, self._role = caller, role
        self._journal = _Checked(judgements, lambda: check_role(role, caller.spec, ready))
        self.consulted = Consulted()

    async def map_each(
        self,
        requests: Iterable[MappingRequest],
        *,
        concurrency: int,
        progress: RequestProgress | None = None,
    ) -> Mapping[MappingRequest, MappingOutcome]:
        """The result of each request; equal ones are sent once, `concurrency` at a time.

        Raises:
            ModelError: every other request would fail as well (a refused key, a spent quota, an
                unknown model). Replies so far are kept.
            InputError: the model cannot be asked at all, or `concurrency` is below 1.
        """
        if concurrency < 1:
            raise InputError(f"concurrency is {concurrency}", remedy="give a number of at least 1")
        distinct = list(dict.fromkeys(requests))
        found: dict[MappingRequest, MappingOutcome] = {}
        pending = iter(distinct)

        async def work() -> None:
            for request in pending:
                found[request] = await self.map(request)
                if progress:
                    progress(len(found), len(distinct))

        workers = [asyncio.ensure_future(work()) for _ in range(min(concurrency, len(distinct)))]
        try:
            async with _signs_of_life(progress, found, len(distinct)):
                await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return found

    async def map(self, request: MappingRequest) -> MappingOutcome:
        """One call, and a second if the first reply cannot be used."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

        prompts = self._caller.prompts
        messages = [SystemMessage(prompts.render(self._role)), HumanMessage(request.message)]
        try:
            reply = await self._ask(messages, request)
            first = _read(reply, request)
            if first.indices is not None or reply.finish in _DECLINED:
                return first
            schema = orjson.dumps(request.schema).decode()
            note = prompts.render(REPAIR, problem=first.problem or "", schema=schema)
            said = AIMessage(reply.message.text[:_MAX_RETURNED] or "(no answer)")
            reply = await self._ask([*messages, said, HumanMessage(note)], request)
        except ModelError as error:
            if _concerns_all(error):
                raise
            return MappingOutcome(None, f"the model failed: {error}", failed=True)
        second = _read(reply, request)
        return MappingOutcome(second.indices, second.problem, repaired=second.indices is not None)

    async def _ask(self, messages: list[BaseMessage], request: MappingRequest) -> Reply:
        reply = await self._caller.ask(
            messages, schema=request.schema, role=self._role, journal=self._journal
        )
        self.consulted = self.consulted.plus(reply)
        return reply


class _Checked:
    """Calls `check` once, before the first call without a kept reply."""

    def __init__(self, judgements: Judgements, check: Callable[[], None]) -> None:
        self._judgements = judgements
        self._check: Callable[[], None] | None = check

    def recall(self, key: CallKey) -> Slot:
        slot = self._judgements.recall(key)
        if slot.value is None and self._check:
            self._check()
            self._check = None
        return slot

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        await self._judgements.keep(slot, value)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        self._judgements.event(kind, data)


@asynccontextmanager
async def _signs_of_life(
    progress: RequestProgress | None, found: Mapping[MappingRequest, MappingOutcome], total: int
) -> AsyncIterator[None]:
    """Also report waiting requests: a server may take minutes for the first."""
    if progress is None or not total:
        yield
        return
    told = progress
    told(0, total)

    async def tell() -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_SIGNS)
            told(len(found), total)

    telling = asyncio.ensure_future(tell())
    try:
        yield
    finally:
        telling.cancel()


def _read(reply: Reply, request: MappingRequest) -> MappingOutcome:
    if declined := _DECLINED.get(reply.finish):
        return MappingOutcome(None, declined)
    try:
        return MappingOutcome(read_mapping(reply.message.text, request))
    except FormatError as error:
        cut = " (it was cut at the limit of tokens)" if reply.finish == "length" else ""
        return MappingOutcome(None, f"{error}{cut}")


def _concerns_all(error: ModelError) -> bool:
    """Whether every other request would end the same way."""
    spent = error.kind == "rate_limit" and not error.retryable
    return spent or error.kind in ("auth", "not_found")


def _record(usage: RoleUsage) -> dict[str, Any]:
    return {**asdict(usage), "seconds": round(usage.seconds, 4)}
