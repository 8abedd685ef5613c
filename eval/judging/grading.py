"""A judge grades free text: how well a predicted condition or answer stands for a gold one.

A grade is the mean that the judge expects (G-Eval, Liu et al. 2023, section 2.3): with p(k) the
probability of the integer k as its reply,

    grade = sum(k p(k)) / sum(p(k)) / 10,    k = 0 ... 10,

where the server tells the likeliest tokens, else the mean of several replies.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from branchwise.agents.caller import ModelError, Reply
from branchwise.agents.reply import ReplyToken
from branchwise.corpora.text import one_line
from branchwise.eval.judging.consultant import DECLINED, Consultant, concerns_all

HIGHEST = 10
SAMPLES = 5
"""Replies that a grade is the mean of, where the server gives no probabilities."""
TOP_LOGPROBS = 20
GRADING = {"temperature": 1.0, "top_logprobs": TOP_LOGPROBS}
"""Decoding of the calls, unless the user sets another: replies must differ to be samples."""
_MAX_TEXT = 4_000
_GRADE = re.compile(
    r"[\s*_`\"'.:]*(?:(?:grade|score|rating)[\s*_`\"'.:]+)?(\d{1,6})"
    r"(?:\s*/\s*10|\s+out\s+of\s+10)?[\s*_`\"'.]*",
    re.IGNORECASE,
)

GradePrompt = Literal["grade_condition", "grade_answer"]


class GradeRequest(NamedTuple):
    """Two texts to compare: the gold one and the predicted one, in answer to a question."""

    prompt: GradePrompt
    question: str
    gold: str
    predicted: str

    @property
    def is_decided(self) -> bool:
        """Whether a text is empty, so that there is nothing to ask: two of them agree wholly."""
        return not self.gold.strip() or not self.predicted.strip()

    @property
    def message(self) -> str:
        """What the judge reads, after its prompt."""
        what = self.prompt.removeprefix("grade_")
        parts = {
            "Question": self.question,
            f"Reference {what}": self.gold,
            f"Given {what}": self.predicted,
        }
        return "\n".join(f"{name}: {one_line(text)[:_MAX_TEXT]}" for name, text in parts.items())


@dataclass(frozen=True)
class Grade:
    """A grade, 0 to 1; None if no reply could be used, and `problem` says why.

    `samples`: usable replies that it is the mean of; 0 where it comes of probabilities. `failed`: a
    call got no reply; this is not kept, and the next scoring repeats it.
    """

    value: float | None
    samples: int = 0
    problem: str | None = None
    failed: bool = False

    @property
    def is_usable(self) -> bool:
        return self.value is not None


class Grader(Consultant):
    """A model that grades, `first` the number of its first sample: others measure it anew."""

    first = 0

    async def grade(self, request: GradeRequest) -> Grade:
        """The grade; what is decided is not asked about.

        Raises:
            ModelError: every other request would fail as well.
            InputError: the model cannot be asked at all.
        """
        if request.is_decided:
            return Grade(float(request.gold.strip() == request.predicted.strip()))
        grades: list[int] = []
        problem: str | None = None
        for number in range(self.first, self.first + SAMPLES):
            try:
                reply = await self._reply(request, number)
            except ModelError as error:
                if concerns_all(error):
                    raise
                return Grade(None, problem=f"the model failed: {error}", failed=True)
            said = read_grade(reply)
            if isinstance(said, int):
                expected = expected_grade(reply.tokens, said)
                if expected is not None:
                    return Grade(expected)
                grades.append(said)
            else:
                problem = problem or said
                if reply.finish in DECLINED:
                    break
        if not grades:
            return Grade(None, problem=problem)
        return Grade(sum(grades) / len(grades) / HIGHEST, samples=len(grades))

    async def _reply(self, request: GradeRequest, sample: int) -> Reply:
        from langchain_core.messages import HumanMessage, SystemMessage

        prompt = SystemMessage(self.prompts.render(request.prompt))
        return await self.ask([prompt, HumanMessage(request.message)], sample=sample)


def read_grade(reply: Reply) -> int | str:
    """The integer of a reply, or why there is none: nothing but a whole number is taken."""
    if declined := DECLINED.get(reply.finish):
        return declined
    text = reply.message.text
    found = _GRADE.fullmatch(text.strip())
    if found is None:
        said = f"{one_line(text)[:80]!r}" if text.strip() else "nothing"
        cut = " (cut at the limit of tokens)" if reply.finish == "length" else ""
        return f"the judge replied {said}{cut}, which is not a whole number"
    if int(found[1]) > HIGHEST:
        return f"the judge replied {found[1]}, which is not from 0 to {HIGHEST}"
    return int(found[1])


def expected_grade(tokens: Sequence[ReplyToken], said: int) -> float | None:
    """The expected grade, 0 to 1, from the probabilities at the place of the integer `said`.

    None where they are not known. Where 10 is written as two tokens, the probability of the first
    is shared between 1 and 10 as the second says.
    """
    place = _place(tokens, str(said))
    if place is None:
        return None
    weights = _weights(tokens[place])
    if tokens[place].text.strip() != str(said):
        ten = math.fsum(math.exp(p) for text, p in tokens[place + 1].alternatives if text == "0")
        weights[HIGHEST] += weights[1] * min(ten, 1.0)
        weights[1] *= max(0.0, 1.0 - ten)
    total = math.fsum(weights.values())
    if not total:
        return None
    return math.fsum(value * weight for value, weight in weights.items()) / total / HIGHEST


def _place(tokens: Sequence[ReplyToken], said: str) -> int | None:
    """Where the integer begins: the last place whose token, or two, are it."""
    for at in reversed(range(len(tokens))):
        if tokens[at].text.strip() == said:
            return at
        two = tokens[at].text.strip() + (tokens[at + 1].text if at + 1 < len(tokens) else "")
        if len(said) == len("10") and two.strip() == said:
            return at
    return None


def _weights(token: ReplyToken) -> dict[int, float]:
    """The probabilities of the integers at one place."""
    weights: dict[int, float] = defaultdict(float)
    for text, logprob in token.alternatives:
        word = text.strip()
        if word.isascii() and word.isdigit() and len(word) <= 2 and int(word) <= HIGHEST:
            weights[int(word)] += math.exp(logprob)
    return weights
