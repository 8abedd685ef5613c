"""A model puts a plan into words; the grammar's wording stays wherever the model strays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from branchwise.corpora.synthesis.faithful import MAX_WORDS, Problem, StrayError, check
from branchwise.corpora.synthesis.plans import Plan
from branchwise.corpora.synthesis.prompts import fill
from branchwise.corpora.synthesis.text_model import TextModel, TextModelError

_QUOTES = {'"': '"', "“": "”"}


@dataclass(frozen=True)
class Written:
    """A question's text. Where the grammar wrote it, `problem` says why (one of a few, to be
    counted) and `detail` what of."""

    text: str
    by: Literal["model", "grammar"]
    problem: Problem | None = None
    detail: str = ""


class Writer:
    """Words questions by a model, one call each."""

    def __init__(self, model: TextModel) -> None:
        self._model = model

    def question(
        self, plan: Plan, steps: Sequence[str], name: Callable[[str], str], fallback: str
    ) -> Written:
        """The plan as a question: the model's if it kept to the plan, else `fallback`.

        `steps` are the numbered steps in words, and `name` gives what they call an entity.
        """
        names = list(dict.fromkeys(name(entity) for entity in plan.entities()))
        prompt = fill(
            "write_question", steps="\n".join(steps), names="; ".join(names), most=str(MAX_WORDS)
        )
        try:
            text = _bare(self._model.complete(prompt))
            check(text, plan, steps, names)
        except TextModelError as error:
            return Written(fallback, "grammar", "no reply", str(error))
        except StrayError as strayed:
            return Written(fallback, "grammar", strayed.problem, strayed.detail)
        return Written(text, "model")


def _bare(reply: str) -> str:
    """A reply without blanks and quotation marks around it."""
    text = reply.strip()
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text.count(text[0]) <= 2:
        text = text[1:-1].strip()
    return text
