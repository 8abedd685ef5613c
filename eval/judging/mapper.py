"""Asking a model for mappings: cached, repaired once, without raising for a single request's
failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from branchwise.agents.caller import ModelError, Reply
from branchwise.agents.format_error import FormatError
from branchwise.eval.judging.consultant import (
    DECLINED,
    Consultant,
    RequestProgress,
)
from branchwise.eval.judging.mapping import Indices, MappingRequest, read_mapping

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

    @property
    def is_usable(self) -> bool:
        return self.indices is not None


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
            if error.is_everywhere:
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
