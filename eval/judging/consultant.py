"""Asking one model in one role about many things: checked once, cached and counted.

Errors before the first request name the role's option. Replies are kept by request and sample
number (`Judgements`), so that none is asked for twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from branchwise.agents.caller import ModelCaller
from branchwise.agents.journal import CallKey, Journal, Slot
from branchwise.agents.reply import BY_RESPONSES, Completion, Reply
from branchwise.agents.spec import REPLAY_OFFER, ModelSpec, check_ready
from branchwise.base.errors import InputError
from branchwise.graphs.ledger import RoleUsage

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

Ready = Callable[[ModelSpec], None]
"""Checks before the first request whether the model can be used at all; raises InputError."""
RequestProgress = Callable[[int, int], None]
"""Gets the number of finished distinct requests and of all: at first, after each, and now and then
in between."""
SECONDS_BETWEEN_SIGNS = 1.0
DECLINED = {"refusal": "the model refused", "content_filter": "the reply was filtered"}
"""By how a reply ended: why there is nothing to read in it."""

_Request = TypeVar("_Request")
_Outcome = TypeVar("_Outcome")


def role_spec(role: str, text: str) -> ModelSpec:
    """The model that `--matcher` or `--judge` names. Raises InputError if it names none."""
    try:
        spec = ModelSpec.parse(text)
    except InputError as error:
        raise _of_role(error, role) from None
    if spec.provider == "replay":
        raise no_replay(role)
    return spec


def no_replay(role: str) -> InputError:
    return InputError(
        f"a replay cannot be the {role}, whose replies are kept by themselves",
        where=f"--{role}",
        remedy=f"name a model, for example --{role} openai:gpt-6-luna",
    )


def check_role(role: str, spec: ModelSpec, ready: Ready = check_ready) -> None:
    """`ready`, with remedies that name the role's option, without `offline`, which cannot judge."""
    try:
        ready(spec)
    except InputError as error:
        raise _of_role(error, role) from None


def _of_role(error: InputError, role: str) -> InputError:
    remedy = (error.remedy or "").replace("--model", f"--{role}").replace(REPLAY_OFFER, "")
    for offer in (", or use offline", ", or offline"):
        if remedy.endswith(offer):
            remedy = " or ".join(remedy.removesuffix(offer).rsplit(", ", 1))
    return InputError(error.what, where=error.where or f"--{role}", remedy=remedy)


class Judgements(Journal, Protocol):
    """A journal by request digest and sample number: equal requests are one, without a trace."""

    def recall(self, key: CallKey, sample: int = 0) -> Slot:
        """What is kept of a request; `sample` tells repeated measurements of it apart."""
        ...


class MemoryJudgements:
    """Judgements kept as long as the object lives."""

    def __init__(self) -> None:
        self._kept: dict[tuple[CallKey, int], Mapping[str, Any]] = {}

    def recall(self, key: CallKey, sample: int = 0) -> Slot:
        return Slot(key, sample, self._kept.get((key, sample)))

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        self._kept[slot.key, slot.occurrence] = value

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        return None


class ReportedItem(NamedTuple):
    """One item, by question id and epoch; `why` if there is a reason to give."""

    id: str
    epoch: int
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in self._asdict().items() if value is not None}


class _Ending(Protocol):
    @property
    def failed(self) -> bool: ...

    @property
    def is_usable(self) -> bool: ...


@dataclass(frozen=True)
class Ended:
    """How distinct requests ended: `failed` ones got no reply, `unusable` ones got replies that say
    nothing that was asked for, even after a repair."""

    requests: int = 0
    failed: int = 0
    unusable: int = 0

    @classmethod
    def of(cls, outcomes: Iterable[_Ending]) -> Ended:
        listed = list(outcomes)
        failed = sum(outcome.failed for outcome in listed)
        nothing = sum(not outcome.is_usable for outcome in listed)
        return cls(len(listed), failed, nothing - failed)


@dataclass(frozen=True)
class Consulted:
    """Model calls made now, and those with replies kept from earlier. `left_out`: optional fields
    that the server refuses; `remarks`: what is to be told of replies, with their number."""

    fresh: RoleUsage = field(default_factory=RoleUsage)
    cached: RoleUsage = field(default_factory=RoleUsage)
    left_out: tuple[str, ...] = ()
    remarks: Mapping[str, int] = field(default_factory=dict)

    def plus(self, reply: Reply) -> Consulted:
        if reply.replayed:
            return self.plus_kept(reply, reply.seconds)
        fresh = self.fresh.plus(reply.usage, reply.seconds)
        return replace(self._with(reply), fresh=fresh)

    def plus_kept(self, reply: Completion | Reply, seconds: float) -> Consulted:
        return replace(self._with(reply), cached=self.cached.plus(reply.usage, seconds))

    def _with(self, reply: Completion | Reply) -> Consulted:
        left_out = tuple(dict.fromkeys((*self.left_out, *reply.left_out)))
        remarks = Counter(self.remarks)
        if reply.remark:
            remarks[reply.remark] += 1
        if reply.api == "responses":
            remarks[BY_RESPONSES] += 1
        return replace(self, left_out=left_out, remarks=remarks)

    def to_json(self) -> dict[str, Any]:
        left_out = {"left_out": list(self.left_out)} if self.left_out else {}
        remarks = {"remarks": dict(self.remarks)} if self.remarks else {}
        return {"fresh": self.fresh.record(), "cached": self.cached.record(), **left_out, **remarks}


@dataclass(frozen=True, kw_only=True)
class ModelReport:
    """What a model that takes part in scoring did. `asked`: items with something to ask about; a
    request may serve several. `ended`: how the distinct requests ended."""

    model: str
    asked: int
    ended: Ended
    consulted: Consulted

    @property
    def requests(self) -> int:
        return self.ended.requests

    @property
    def brought_nothing(self) -> bool:
        """Whether a request was made and no reply could be used."""
        return 0 < self.requests == self.ended.failed + self.ended.unusable

    @property
    def own(self) -> Mapping[str, Any]:
        """What only this role's report tells; JSON-serialisable."""
        return {}

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "asked": self.asked,
            "requests": self.ended.requests,
            "requests_failed": self.ended.failed,
            "requests_unusable": self.ended.unusable,
            **self.own,
            "calls": self.consulted.to_json(),
        }


class Consultant:
    """A model in one role (`matcher`, `judge`), and what asking it took. `ready` is called before
    the first request without a kept reply: scoring again needs neither server nor key."""

    def __init__(
        self, caller: ModelCaller, judgements: Judgements, role: str, ready: Ready = check_ready
    ) -> None:
        self._caller, self._role = caller, role
        self._check = cache(lambda: check_role(role, caller.spec, ready))
        self._judgements = judgements
        self.prompts, self.model = caller.prompts, caller.spec.model
        self.spec = str(caller.spec)
        self.consulted = Consulted()

    async def ask(
        self,
        messages: Sequence[BaseMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        sample: int = 0,
    ) -> Reply:
        """The model's reply: the kept one of this sample number, if there is one."""
        journal = _Sample(self._judgements, sample, self._check)
        reply = await self._caller.ask(messages, schema=schema, role=self._role, journal=journal)
        self.consulted = self.consulted.plus(reply)
        return reply

    def kept(
        self,
        key: CallKey,
        read: Callable[[Sequence[Completion]], _Outcome | None],
        *,
        first: int = 0,
    ) -> _Outcome | None:
        """What `read` makes of the replies kept under a key, given one more while it returns None;
        None where these are not enough, and then none is counted."""
        replies: list[Completion] = []
        consulted = self.consulted
        while (outcome := read(replies)) is None:
            value = self._judgements.recall(key, first + len(replies)).value
            if value is None:
                return None
            replies.append(Completion.from_payload(value))
            consulted = consulted.plus_kept(replies[-1], value["seconds"])
        self.consulted = consulted
        return outcome

    async def each(
        self,
        requests: Iterable[_Request],
        consult: Callable[[_Request], Awaitable[_Outcome]],
        *,
        concurrency: int,
        progress: RequestProgress | None = None,
    ) -> dict[_Request, _Outcome]:
        """What `consult` makes of each request; equal ones once, `concurrency` at a time. Raises
        what it raises, at once, and InputError for a `concurrency` below 1."""
        if concurrency < 1:
            raise InputError(f"concurrency is {concurrency}", remedy="give a number of at least 1")
        distinct = list(dict.fromkeys(requests))
        outcomes: dict[_Request, _Outcome] = {}
        pending = iter(distinct)

        def report() -> None:
            if progress and distinct:
                progress(len(outcomes), len(distinct))

        async def work() -> None:
            for request in pending:
                outcomes[request] = await consult(request)
                report()

        async def tell() -> None:
            # A server may take minutes for the first.
            while True:
                await asyncio.sleep(SECONDS_BETWEEN_SIGNS)
                report()

        report()
        workers = [asyncio.ensure_future(work()) for _ in range(min(concurrency, len(distinct)))]
        tasks = [*workers, asyncio.ensure_future(tell())]
        try:
            await asyncio.gather(*workers)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return outcomes


class _Sample:
    """The judgements of one sample number; calls `check` before a call without a kept reply."""

    def __init__(self, judgements: Judgements, number: int, check: Callable[[], None]) -> None:
        self._judgements, self._number, self._check = judgements, number, check

    def recall(self, key: CallKey) -> Slot:
        slot = self._judgements.recall(key, self._number)
        if slot.value is None:
            self._check()
        return slot

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        await self._judgements.keep(slot, value)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        self._judgements.event(kind, data)
