"""Protocols and hints: how a question is put where there are several ways (CondAmbigQA, CAmbigNQ,
MDCR)."""

from typing import Literal

QuestionProtocol = Literal[
    "conditions",
    "standard",
    "guided",
    "closed",
    "answers",
    "answers-to-detect",
    "answers-to-ask",
    "gold-answers",
    "gold-question",
    "dialogue",
]
"""Of answers in free text: passages, and the model finds the conditions / passages, and no word of
conditions / passages and the gold conditions / the question alone. Of ambiguity and questions back:
all answers are listed first, and tell whether the question is ambiguous and what is asked back /
only the former / only the latter; the gold answers are told / the gold question is asked back, and
an option stands behind the question / the same, and an option is the user's next turn."""
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
