"""Asking a model for mappings: cached, repaired once, without raising for a single request's
failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from branchwise.agents.caller import ModelError, Reply
from branchwise.agents.format_error import FormatError
from branchwise.eval.judging.consultant import (
    DECLINED,
    Consultant,
    RequestProgress,
    concerns_all,
)
from branchwise.eval.judging.mapping import Indices, MappingRequest, read_mapping


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


class Mapper(Consultant):
    """A model that maps; the prompt of its role (`matcher`, `judge`) has the role's name."""

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
        return await self.each(requests, self.map, concurrency=concurrency, progress=progress)

    async def map(self, request: MappingRequest) -> MappingOutcome:
        """One call, and a second if the first reply cannot be used."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

        prompts = self.prompts
        messages = [SystemMessage(prompts.render(self._role)), HumanMessage(request.message)]
        try:
            reply = await self.ask(messages, schema=request.schema)
            first = _read(reply, request)
            if first.indices is not None or reply.finish in DECLINED:
                return first
            schema = orjson.dumps(request.schema).decode()
            note = prompts.render(REPAIR, problem=first.problem or "", schema=schema)
            said = AIMessage(reply.message.text[:_MAX_RETURNED] or "(no answer)")
            reply = await self.ask([*messages, said, HumanMessage(note)], schema=request.schema)
        except ModelError as error:
            if concerns_all(error):
                raise
            return MappingOutcome(None, f"the model failed: {error}", failed=True)
        second = _read(reply, request)
        return MappingOutcome(second.indices, second.problem, repaired=second.indices is not None)


def _read(reply: Reply, request: MappingRequest) -> MappingOutcome:
    if declined := DECLINED.get(reply.finish):
        return MappingOutcome(None, declined)
    try:
        return MappingOutcome(read_mapping(reply.message.text, request))
    except FormatError as error:
        cut = " (it was cut at the limit of tokens)" if reply.finish == "length" else ""
        return MappingOutcome(None, f"{error}{cut}")
