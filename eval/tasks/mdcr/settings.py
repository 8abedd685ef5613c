"""What a system may be asked for in MDCR's questions alone."""

from typing import Annotated, Literal

from branchwise.base.setting import Setting
from branchwise.eval.tasks.settings import ShotSettings

QuestionHints = Literal["none", "documents", "values", "relations", "all"]
"""What of the gold is told: nothing / the sentences that state conditions, once more by themselves
/ the value of each condition that the scenario mentions / how conditions of different documents are
related / all three."""


def tells(hints: QuestionHints, hint: QuestionHints) -> bool:
    """Whether `hints` has one of the three."""
    return hints in (hint, "all")


class MDCRSettings(ShotSettings):
    """`reasoning`: whether to reason in steps first; `hints`: what of the gold is told."""

    reasoning: Annotated[
        Literal["off", "steps"],
        Setting(
            "Conditional answers: answer at once, or reason in steps before.", "Model", of_task=True
        ),
    ] = "off"
    hints: Annotated[
        QuestionHints,
        Setting(
            "Conditional answers: what is told of the gold. Documents: their sentences that state "
            "conditions; values of mentioned conditions; relations; or all three.",
            "Model",
            of_task=True,
        ),
    ] = "none"
