"""The shapes in which models answer, and how each is read into a prediction."""

from collections.abc import Mapping
from types import MappingProxyType

from branchwise.agents.answer_format import AnswerFormat
from branchwise.agents.answers_format import AnswersFormat
from branchwise.agents.branches_format import BranchesFormat
from branchwise.agents.clarification_format import ClarificationFormat
from branchwise.agents.conditions_format import ConditionsFormat
from branchwise.agents.format_error import FormatError
from branchwise.agents.mdcr_format import MDCRFormat
from branchwise.agents.verdict_format import VerdictFormat

__all__ = ["FORMATS", "AnswerFormat", "FormatError"]

FORMATS: Mapping[str, AnswerFormat] = MappingProxyType(
    {
        one.name: one
        for one in (
            BranchesFormat(),
            ConditionsFormat(),
            AnswersFormat(),
            VerdictFormat(),
            ClarificationFormat(),
            MDCRFormat(),
        )
    }
)
