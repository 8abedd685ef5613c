"""The shapes in which models answer, and how each is read into a prediction."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from branchwise.agents.answers_format import AnswersFormat
from branchwise.agents.branches_format import BranchesFormat
from branchwise.agents.clarification_format import ClarificationFormat
from branchwise.agents.conditions_format import ConditionsFormat
from branchwise.agents.format_error import FormatError
from branchwise.agents.prediction import Prediction
from branchwise.agents.verdict_format import VerdictFormat

__all__ = ["FORMATS", "AnswerFormat", "FormatError"]


class AnswerFormat(Protocol):
    """One shape of answers."""

    @property
    def name(self) -> str:
        """Its key in `FORMATS`."""
        ...

    @property
    def cites(self) -> bool:
        """Whether answers name the passages that support them."""
        ...

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema of the shape that prompts ask for; JSON-serialisable."""
        ...

    def fits(self, data: object) -> bool:
        """Whether `data` is exactly of that shape."""
        ...

    def read(self, data: object, fragments: Sequence[str] = ()) -> Prediction:
        """The prediction in `data`, common variants of the shape included.

        `fragments`: ids of the passages that were given to the model as 1, 2, ...

        Raises:
            FormatError: `data` holds no answer.
        """
        ...


FORMATS: Mapping[str, AnswerFormat] = MappingProxyType(
    {
        one.name: one
        for one in (
            BranchesFormat(),
            ConditionsFormat(),
            AnswersFormat(),
            VerdictFormat(),
            ClarificationFormat(),
        )
    }
)
