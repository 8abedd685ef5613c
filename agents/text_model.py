"""A model spec as the plain text model that writes and reviews questions."""

from __future__ import annotations

import asyncio
from typing import Self

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reply import ModelError
from branchwise.agents.spec import ModelSpec, check_ready
from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.worlds.questions.wording.writing import TextModelError


class SpecTextModel:
    """Asks a spec's model, one request at a time, with the retries of agents' calls.

    Blocking, for one thread that runs no event loop. Close it, or use it in a `with` statement.
    """

    def __init__(self, caller: ModelCaller) -> None:
        self._caller = caller
        self._runner = asyncio.Runner()

    @classmethod
    def of_spec(cls, spec: str, decoding: Decoding | None = None, keys: Keys = NO_KEYS) -> Self:
        """A model as the user writes it. Raises InputError where it cannot be asked at all."""
        parsed = ModelSpec.parse(spec)
        if parsed.provider == "replay":
            raise InputError("a run has no recorded replies to this", remedy="name another model")
        check_ready(parsed, keys)
        return cls(ModelCaller(parsed, decoding or Decoding(), Prompts.load(), keys=keys))

    def complete(self, prompt: str, system: str = "") -> str:
        """The reply's text without thoughts, perhaps empty. Raises TextModelError if none came."""
        from langchain_core.messages import HumanMessage, SystemMessage

        messages = [*([SystemMessage(system)] if system else []), HumanMessage(prompt)]
        asking = self._caller.ask(messages, role="writer", journal=MemoryJournal())
        try:
            return self._runner.run(asking).text
        except ModelError as error:
            raise TextModelError(str(error)) from None

    def close(self) -> None:
        """Close connections and event loop."""
        self._runner.run(self._caller.aclose())
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
