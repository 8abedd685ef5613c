"""Protocols: how a question with answers in free text is put (CondAmbigQA)."""

from typing import Literal

QuestionProtocol = Literal["conditions", "standard", "guided", "closed"]
"""Passages, and the model finds the conditions / passages, and no word of conditions / passages
and the gold conditions / the question alone."""
DEFAULT_PROTOCOL: QuestionProtocol = "conditions"
