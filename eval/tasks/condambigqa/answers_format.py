"""`{"answers": [{"answer", "citations"}]}`: answers in sentences that state no condition.

They are read like those with conditions (`conditions_format`), which may be left out there.
"""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from branchwise.agents.prediction import is_exactly
from branchwise.eval.tasks.condambigqa.conditions_format import ConditionsFormat


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    answer: str
    citations: list[str] = []


class _ExactAnswers(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    answers: list[_Answer]


class AnswersFormat(ConditionsFormat):
    """Answers in sentences, each with its citations where passages were seen."""

    name = "answers"
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "answers": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "answer": {"type": "string"},
                        "citations": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["answer"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["answers"],
        "additionalProperties": False,
    }

    def fits(self, data: object) -> bool:
        return is_exactly(_ExactAnswers, data)
