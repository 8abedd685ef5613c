"""Protocols: how a question is put where there are several ways (CondAmbigQA, CAmbigNQ)."""

from typing import Literal

QuestionProtocol = Literal["conditions", "standard", "guided", "closed", "answers", "gold-answers"]
"""Of answers in free text: passages, and the model finds the conditions / passages, and no word of
conditions / passages and the gold conditions / the question alone. Of ambiguity: all answers are
asked for, and several of them mean that the question is ambiguous. Of clarification questions:
the gold answers are told."""
DEFAULT_PROTOCOL: QuestionProtocol = "conditions"
"""What each task has: its own way to put its questions."""
