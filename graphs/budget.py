"""What an item may spend."""

from collections.abc import Collection
from functools import partial
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from branchwise.base.numbers import MOST_SECONDS
from branchwise.base.setting import NamedSettings, Setting

PANEL = "Budget"
_budget = partial(Setting, panel=PANEL)


class Budget(BaseModel, metaclass=NamedSettings):
    """What one item may spend. When any part is spent, the agent is told to answer.

    `turns`: model turns, the answering one included. `calls`: tool calls. `tokens`: input and
    output of all model calls. `seconds`: time spent asking; replayed calls take none. Where an item
    has several conversations, each has all turns and calls. `calls_per_reading`: tool calls for
    each reading of the question, `calls` at most.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: Annotated[
        int,
        Field(ge=1, le=1000),
        _budget("Model turns an item, or each stage of it.", word="max_turns"),
    ] = 12
    calls: Annotated[
        int,
        Field(ge=0, le=10_000),
        _budget("Tool calls an item, or each stage of it.", word="max_calls"),
    ] = 24
    calls_per_reading: Annotated[
        int | None,
        Field(ge=1, le=10_000),
        _budget(
            "Tool calls for each reading, --max-calls at most: the budget follows the question."
        ),
    ] = None
    tokens: Annotated[
        int, Field(ge=1, le=10**12), _budget("Tokens an item.", word="max_tokens_total")
    ] = 400_000
    seconds: Annotated[
        float, Field(gt=0, le=MOST_SECONDS), _budget("Seconds an item.", word="max_seconds")
    ] = 600.0

    def of(self, readings: Collection[str]) -> Self:
        """The budget of a question of which these readings are known; none: as it stands."""
        if self.calls_per_reading is None or not readings:
            return self
        calls = min(self.calls, self.calls_per_reading * len(readings))
        return self.model_copy(update={"calls": calls})

    def part(self, of: int, tokens: int) -> Self:
        """The budget of each of so many readings that are answered apart: its calls, or an equal
        part of all, rounded up, and of `tokens`, those that are left."""
        calls = min(self.calls, self.calls_per_reading or -(-self.calls // of))
        part = {"calls": calls, "calls_per_reading": None, "tokens": tokens // of}
        return self.model_copy(update=part)

    @property
    def stated_by(self) -> str:
        """The prompt that states it at the start."""
        return "budget" if self.calls_per_reading is None else "budget_per_reading"
