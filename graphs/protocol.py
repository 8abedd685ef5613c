"""Protocols: how a question is put where there are several ways (CondAmbigQA, CAmbigNQ)."""

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
]
"""Of answers in free text: passages, and the model finds the conditions / passages, and no word of
conditions / passages and the gold conditions / the question alone. Of ambiguity and questions back:
all answers are listed first, and tell whether the question is ambiguous and what is asked back /
only the former / only the latter; the gold answers are told / the gold question is asked back."""
DEFAULT_PROTOCOL: QuestionProtocol = "conditions"
"""What each task has: its own way to put its questions."""
