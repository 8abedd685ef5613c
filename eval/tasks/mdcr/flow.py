"""Conditional answers: which of several offers a user can have, and what else must be true (MDCR).

The documents are in the user's message, with or without tools.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from branchwise.eval.tasks.mdcr.format import MDCRFormat
from branchwise.eval.tasks.mdcr.settings import QuestionHints, tells
from branchwise.graphs.flows.flow import Flow, PromptSection

if TYPE_CHECKING:
    from branchwise.graphs.system import System


_HINTS: Mapping[QuestionHints, str] = {
    "documents": "stating",
    "values": "values",
    "relations": "relations",
}
"""The part of the example that tells each."""


class MDCRFlow(Flow):
    """The flow with the paper's settings: an example, reasoning in steps, hints."""

    @property
    def takes(self) -> frozenset[str]:
        return frozenset({"shots", "reasoning", "hints"})

    def sections(self, system: "System") -> tuple[PromptSection, ...]:
        """How to answer, then the example, with the hints that the questions have."""
        in_steps = system.asked("reasoning") == "steps"
        manner = PromptSection("mdcr_steps" if in_steps else "mdcr_at_once")
        if not system.asked("shots"):
            return (manner,)
        hints = [hint for hint in _HINTS if tells(system.asked("hints"), hint)]
        given = ["mdcr_example_documents", *(f"mdcr_example_{_HINTS[hint]}" for hint in hints)]
        answer = [*(["mdcr_example_reasoning"] if in_steps else []), "mdcr_example_answer"]
        values = {"given": tuple(given), "answer": tuple(answer)}
        return manner, PromptSection("mdcr_example", values)


MDCR = MDCRFlow(
    name="mdcr",
    format=MDCRFormat(),
    prompts={"search": "mdcr_with_tools", "given": "mdcr_given"},
    examples={1: "mdcr_example"},
)
