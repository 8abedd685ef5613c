"""The shapes in which models answer, and how each is read into a prediction."""

from branchwise.agents.answer_format import AnswerFormat
from branchwise.agents.format_error import FormatError
from branchwise.base.registry import Registry

__all__ = ["FORMATS", "AnswerFormat", "FormatError"]

FORMATS: Registry[AnswerFormat] = Registry()
"""Those of all tasks, by their names."""
