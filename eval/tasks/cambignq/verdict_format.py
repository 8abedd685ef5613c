"""`{"reasoning": str, "ambiguous": bool}`: whether a question has more than one reading."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from branchwise.agents.prediction import (
    AnswerFormat,
    FormatError,
    Prediction,
    is_exactly,
    reasoning_of,
)
from branchwise.graphs.flows.pipeline import VERDICT

_SAID = {"true": True, "yes": True, "ambiguous": True}
_SAID |= {"false": False, "no": False, "unambiguous": False, "not ambiguous": False}


class _ExactVerdict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    reasoning: str = ""
    ambiguous: bool


class VerdictFormat(AnswerFormat):
    """A verdict in place of answers: `task_output` is `{"ambiguous": bool}`."""

    name: str = "ambiguity"
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, VERDICT: {"type": "boolean"}},
        "required": ["reasoning", VERDICT],
        "additionalProperties": False,
    }

    def fits(self, data: object) -> bool:
        return is_exactly(_ExactVerdict, data)

    def read(self, data: object, fragments: Sequence[str] = ()) -> Prediction:
        """Also: "yes", "no" and the like in place of true and false, in any case of letters, and
        the object in a list or an object of its own."""
        while not isinstance(data, Mapping) or VERDICT not in data:
            inner = list(data.values()) if isinstance(data, Mapping) else data
            if not isinstance(inner, list) or len(inner) != 1:
                raise FormatError(f'the answer has no key "{VERDICT}"')
            data = inner[0]
        said = data[VERDICT]
        verdict = said if isinstance(said, bool) else _SAID.get(str(said)[:20].strip(" .").lower())
        if verdict is None:
            raise FormatError(f'"{VERDICT}" is neither true nor false')
        return Prediction(reasoning=reasoning_of(data), task_output={VERDICT: verdict})
