"""`{"reasoning": str, "clarification_question": str}`: which reading of a question is meant."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from branchwise.agents.prediction import (
    AnswerFormat,
    FormatError,
    Prediction,
    is_exactly,
    reasoning_of,
    text_of,
)
from branchwise.base.text import one_line
from branchwise.graphs.flows.pipeline import CLARIFICATION

MAX_CLARIFICATION = 20_000


class _ExactClarification(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    reasoning: str = ""
    clarification_question: str


class ClarificationFormat(AnswerFormat):
    """A question back in place of answers: `task_output` is `{"clarification_question": str}`.

    Any text is read: whether it is of the form (`corpora/clarification.py`) is for scores to say.
    """

    name: str = "clarification"
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, CLARIFICATION: {"type": "string"}},
        "required": ["reasoning", CLARIFICATION],
        "additionalProperties": False,
    }

    def fits(self, data: object) -> bool:
        return is_exactly(_ExactClarification, data)

    def read(self, data: object, fragments: Sequence[str] = ()) -> Prediction:
        """Also: the object in a list or an object of its own."""
        while not isinstance(data, Mapping) or CLARIFICATION not in data:
            inner = list(data.values()) if isinstance(data, Mapping) else data
            if not isinstance(inner, list) or len(inner) != 1:
                raise FormatError(f'the answer has no key "{CLARIFICATION}"')
            data = inner[0]
        text = one_line(text_of(data[CLARIFICATION], MAX_CLARIFICATION) or "")
        if not text:
            raise FormatError(f'"{CLARIFICATION}" is not a text, or is empty')
        return Prediction(reasoning=reasoning_of(data), task_output={CLARIFICATION: text})
