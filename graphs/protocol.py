"""Protocols and hints: how a question is put where there are several ways (CondAmbigQA, CAmbigNQ,
MDCR)."""

from typing import Literal

QuestionProtocol = Literal["conditions", "standard", "guided", "closed", "answers", "gold-answers"]
"""Of answers in free text: passages, and the model finds the conditions / passages, and no word of
conditions / passages and the gold conditions / the question alone. Of ambiguity: all answers are
asked for, and several of them mean that the question is ambiguous. Of clarification questions:
the gold answers are told."""
DEFAULT_PROTOCOL: QuestionProtocol = "conditions"
"""What each task has: its own way to put its questions."""
QuestionHints = Literal["none", "documents", "values", "relations", "all"]
"""Of conditional answers, what of the gold is told: nothing / the sentences that state conditions,
once more by themselves / the value of each condition that the scenario mentions / how conditions of
different documents are related / all three."""
DEFAULT_HINTS: QuestionHints = "none"


def tells(hints: QuestionHints, hint: QuestionHints) -> bool:
    """Whether `hints` has one of the three."""
    return hints in (hint, "all")
