"""What an agent emits: branch-keyed entities, as every task reads them."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict


class Prediction(BaseModel):
    """A parsed answer.

    `answers` maps a branch name to its entities (`default` for a single reading), `citations` a
    branch name to passage ids where the task asks for them; `task_output` is for tasks whose
    answer is not a set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reasoning: str = ""
    answers: Mapping[str, tuple[str, ...]] = {}
    citations: Mapping[str, tuple[str, ...]] = {}
    task_output: Any = None
