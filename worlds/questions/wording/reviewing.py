"""A model judges templates before entities are chosen, and questions once they are worded."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.files import first_problem
from branchwise.base.text import one_line
from branchwise.worlds.questions.wording.prompts import fill
from branchwise.worlds.questions.wording.text_model import TextModel

MAX_REASON = 300
MAX_REPEATED = 2_000
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Review:
    """What a reviewer said. `readable` is False where two replies held no verdict: not valid."""

    valid: bool
    reason: str
    readable: bool = True


class _Reply(BaseModel):
    """The form of a verdict; anything beside it is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    verdict: Literal["Valid", "Invalid"]
    reason: str


class Reviewer:
    """Judges by a model. Every method raises TextModelError where the model does not answer:
    an unreviewed question must not pass as reviewed, nor be dropped as bad."""

    def __init__(self, model: TextModel) -> None:
        self._model = model

    def judge_template(self, steps: Sequence[str]) -> Review:
        """Whether questions of this pattern can make sense; `steps` name types, no entities."""
        return self._ask(fill("review_template", steps="\n".join(steps), form=_form()))

    def judge(self, question: str, steps: Sequence[str], answers: Sequence[str]) -> Review:
        """Whether question, plan and answers (of one branch) belong together."""
        return self._ask(
            fill(
                "review_question",
                question=json.dumps(question, ensure_ascii=False),
                steps="\n".join(steps),
                answers=json.dumps(list(answers), ensure_ascii=False),
                form=_form(),
            )
        )

    def _ask(self, prompt: str) -> Review:
        reply = self._model.complete(prompt)
        verdict = _read(reply)
        if isinstance(verdict, Review):
            return verdict
        shown = reply[:MAX_REPEATED]
        again = fill("repair_verdict", prompt=prompt, problem=verdict, reply=shown, form=_form())
        repaired = _read(self._model.complete(again))
        if isinstance(repaired, Review):
            return repaired
        return Review(False, UNREADABLE, readable=False)


def _read(reply: str) -> Review | str:
    """The verdict in a reply, or what is wrong with the reply."""
    try:
        read = _Reply.model_validate_json(reply.strip())
    except ValidationError as error:
        return first_problem(error)
    return Review(read.verdict == "Valid", one_line(read.reason)[:MAX_REASON])


def _form() -> str:
    return fill("verdict_form")
