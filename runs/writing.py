"""A model that writes many texts: several at a time, its replies kept in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.refusals import ApiChoice
from branchwise.agents.reply import ModelError
from branchwise.agents.spec import check_ready
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.eval.judging.consultant import Consultant, RequestProgress, role_spec
from branchwise.runs.store.results import StoredJudgements

ROLE = "writer"
SUFFIX = ".replies.sqlite"


def replies_file(out: Path) -> Path:
    """Where the replies for a file are kept: beside it."""
    return out.with_name(out.name + SUFFIX)


class BulkWriter:
    """A writer's replies to prompts, kept at `replies`: what was answered once is not asked again,
    also by a later process. `fresh` and `kept` count them."""

    def __init__(
        self,
        spec: str,
        replies: Path,
        *,
        concurrency: int = 8,
        api: ApiChoice = "auto",
        keys: Keys = NO_KEYS,
    ) -> None:
        self._spec = role_spec(ROLE, spec)
        self._replies, self._concurrency, self._keys = replies, concurrency, keys
        self._decoding = Decoding(api=api)
        self.fresh = self.kept = 0

    def replies(
        self, prompts: Sequence[str], progress: RequestProgress | None = None
    ) -> list[str | None]:
        """The text of each reply; None where the model failed for it.

        Raises ModelError where it would fail for all others as well (a refused key, a spent quota,
        an unknown model), and InputError where it cannot be asked at all. What came is kept.
        """
        return asyncio.run(self._all(prompts, progress))

    async def _all(
        self, prompts: Sequence[str], progress: RequestProgress | None
    ) -> list[str | None]:
        caller = ModelCaller(self._spec, self._decoding, Prompts.load(), keys=self._keys)
        with StoredJudgements(self._replies) as judgements:
            ready = partial(check_ready, keys=self._keys)
            asking = Consultant(caller, judgements, ROLE, ready)
            try:
                said = await asking.each(
                    prompts,
                    lambda prompt: _reply(asking, prompt),
                    concurrency=self._concurrency,
                    progress=progress,
                )
            finally:
                self.fresh = asking.consulted.fresh.calls
                self.kept = asking.consulted.cached.calls
                await caller.aclose()
        return [said[prompt] for prompt in prompts]


async def _reply(asking: Consultant, prompt: str) -> str | None:
    from langchain_core.messages import HumanMessage

    try:
        reply = await asking.ask([HumanMessage(prompt)])
    except ModelError as error:
        if error.is_everywhere:
            raise
        return None
    return str(reply.message.text)
