"""A judge grades free text: how well a predicted condition or answer stands for a gold one.

A grade is the mean that the judge expects (G-Eval, Liu et al. 2023, section 2.3): with p(k) the
probability of the integer k as its reply,

    grade = sum(k p(k)) / sum(p(k)) / 10,    k = 0 ... 10,

where the server tells the likeliest tokens, else the mean of several replies. `grade_items` asks
for the grades of a run's items.
"""

from __future__ import annotations

import functools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from branchwise.agents.journal import CallKey
from branchwise.agents.reply import Completion, ModelError, Reply, ReplyToken
from branchwise.base.text import one_line
from branchwise.eval.items import AnsweredItem, Graded
from branchwise.eval.judging.consultant import (
    DECLINED,
    Consultant,
    Ended,
    ModelReport,
    ReportedItem,
    RequestProgress,
)
from branchwise.eval.properties import NOTHING, ConditionalAnswer, PropertyGrade, PropertyPair
from branchwise.eval.scoring_choice import GradedPairs
from branchwise.eval.tasks import Task
from branchwise.graphs.ledger import RoleUsage

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

HIGHEST = 10
SAMPLES = 5
"""Replies that a grade is the mean of, where the server gives no probabilities."""
TOP_LOGPROBS = 20
NUMBER_ALONE = 8
"""Tokens of a reply that is a number alone, at most."""
GRADING = {"temperature": 1.0, "top_logprobs": TOP_LOGPROBS}
"""Decoding of the calls, unless the user sets another: replies must differ to be samples."""
_MAX_TEXT = 4_000
_GRADE = re.compile(
    r"[\s*_`\"'.:]*(?:(?:grade|score|rating)[\s*_`\"'.:]+)?(\d{1,6})"
    r"(\s*/\s*10|\s+out\s+of\s+10)?[\s*_`\"'.]*",
    re.IGNORECASE,
)

GradePrompt = Literal["grade_condition", "grade_answer"]
GradingReply = Reply | Completion
"""A reply, fresh or kept."""


class GradeRequest(NamedTuple):
    """Two texts to compare: the gold one and the predicted one, in answer to a question."""

    prompt: GradePrompt
    question: str
    gold: str
    predicted: str
    is_surplus: bool = False

    @property
    def is_decided(self) -> bool:
        """Whether a text is empty, other than what a surplus prediction is graded against."""
        return not self.predicted.strip() or not (self.gold.strip() or self.is_surplus)

    @property
    def message(self) -> str:
        part = self.prompt.removeprefix("grade_")
        texts = (self.question, self.gold, self.predicted)
        names = ("Question", f"Reference {part}", f"Given {part}")
        lines = zip(names, texts, strict=True)
        return "\n".join(f"{name}: {one_line(text)[:_MAX_TEXT]}" for name, text in lines)


@dataclass(frozen=True)
class Grade:
    """A grade, 0 to 1; None if no reply could be used, and `problem` says why. `samples`: usable
    replies that it is the mean of, 0 where it comes of probabilities. `failed`: a call got no
    reply, which the next scoring repeats."""

    value: float | None
    samples: int = 0
    problem: str | None = None
    failed: bool = False

    @property
    def is_usable(self) -> bool:
        return self.value is not None


@dataclass(frozen=True)
class Demand:
    """What a judge is to be asked: `once`, at most, where its server gives probabilities, else up
    to `samples` times. `bounded`: its replies have a limit of tokens, else they are numbers alone.
    """

    spec: str
    role: str
    once: RoleUsage
    samples: int
    bounded: bool

    @property
    def most(self) -> RoleUsage:
        """Every sample of every request."""
        once, n = self.once, self.samples
        return RoleUsage(once.calls * n, once.input * n, once.output * n)


def samples_at(decoding: Mapping[str, Any]) -> int:
    """Replies that a grade takes at most: without randomness all would be the same."""
    return 1 if decoding.get("temperature") == 0 else SAMPLES


Announce = Callable[[Demand], None]
"""Is told before anything is sent."""


class Grader(Consultant):
    """A model that grades, `first` the number of its first sample: others measure it anew."""

    first = 0

    @property
    def samples(self) -> int:
        return samples_at(self._caller.decoding.model_dump())

    def known(self, request: GradeRequest) -> Grade | None:
        """The grade of a decided request, or by kept replies; None where the model must be
        asked."""
        if request.is_decided:
            is_same = request.gold.strip() == request.predicted.strip()
            return Grade(float(is_same and not request.is_surplus))
        return self.kept(
            self.key(request), lambda replies: grade_by(replies, self.samples), first=self.first
        )

    async def grade_each(
        self,
        requests: Iterable[GradeRequest],
        *,
        concurrency: int,
        announce: Announce | None = None,
        progress: RequestProgress | None = None,
    ) -> dict[GradeRequest, Grade]:
        """The grade of each distinct request; `announce` is told what they take, if anything,
        before the first is sent. Raises what `grade` raises."""
        known: dict[GradeRequest, Grade] = {}
        asked: list[GradeRequest] = []
        for request in dict.fromkeys(requests):
            if (grade := self.known(request)) is None:
                asked.append(request)
            else:
                known[request] = grade
        if asked and announce:
            announce(self._demand(asked))
        grades = await self.each(asked, self.grade, concurrency=concurrency, progress=progress)
        return known | grades

    def _demand(self, asked: Sequence[GradeRequest]) -> Demand:
        # Every token is a byte of its text at least, which makes up for a server's template.
        messages = (message for request in asked for message in self._messages(request))
        read = sum(len(str(message.content).encode("utf-8", "replace")) for message in messages)
        limit = self._caller.decoding.max_tokens
        once = RoleUsage(len(asked), read, len(asked) * (limit or NUMBER_ALONE))
        return Demand(self.spec, self._role, once, self.samples, limit is not None)

    async def grade(self, request: GradeRequest) -> Grade:
        """The grade of what is not decided; only what is not kept is asked for.

        Raises:
            ModelError: every other request would fail as well.
            InputError: the model cannot be asked at all.
        """
        messages, replies = self._messages(request), list[Reply]()
        while (grade := grade_by(replies, self.samples)) is None:
            try:
                replies.append(await self.ask(messages, sample=self.first + len(replies)))
            except ModelError as error:
                if error.is_everywhere:
                    raise
                return Grade(None, problem=f"the model failed: {error}", failed=True)
        return grade

    def key(self, request: GradeRequest) -> CallKey:
        return self._caller.key(self._messages(request), role=self._role)

    def _messages(self, request: GradeRequest) -> list[BaseMessage]:
        from langchain_core.messages import HumanMessage

        return [self._instructions[request.prompt], HumanMessage(request.message)]

    @functools.cached_property
    def _instructions(self) -> Mapping[GradePrompt, BaseMessage]:
        from langchain_core.messages import SystemMessage

        return {name: SystemMessage(self.prompts.render(name)) for name in get_args(GradePrompt)}


def grade_by(replies: Sequence[GradingReply], samples: int) -> Grade | None:
    """The grade by these replies: the first with probabilities decides, or else the mean of
    `samples` of them. None where one more is needed."""
    if not replies:
        return None
    last = read_grade(replies[-1])
    if isinstance(last, int):
        written = _GRADE.fullmatch(replies[-1].text.strip())
        out_of = bool(written and written[2])
        if (expected := expected_grade(replies[-1].tokens, last, out_of=out_of)) is not None:
            return Grade(expected)
    if len(replies) < samples and replies[-1].finish not in DECLINED:
        return None
    read = [read_grade(result) for result in replies]
    grades = [result for result in read if isinstance(result, int)]
    if grades:
        return Grade(sum(grades) / len(grades) / HIGHEST, samples=len(grades))
    return Grade(None, problem=next(result for result in read if isinstance(result, str)))


def read_grade(reply: GradingReply) -> int | str:
    """The integer of a reply, or why there is none: only a whole number is taken, not of a reply
    that was cut, since 1 may be the beginning of 10."""
    if declined := DECLINED.get(reply.finish):
        return declined
    text = reply.text
    match = _GRADE.fullmatch(text.strip())
    if match is None or reply.finish == "length":
        shown = f"{one_line(text)[:80]!r}" if text.strip() else "nothing"
        cut = " (cut at the limit of tokens)" if reply.finish == "length" else ""
        return f"the judge replied {shown}{cut}, which is not a whole number"
    if int(match[1]) > HIGHEST:
        return f"the judge replied {match[1]}, which is not from 0 to {HIGHEST}"
    return int(match[1])


def expected_grade(
    tokens: Sequence[ReplyToken], number: int, *, out_of: bool = False
) -> float | None:
    """The expected grade, 0 to 1, from the probabilities where the integer `number` stands; None
    where they are not known. Where 10 is two tokens, the second says how the first is shared
    between 1 and 10. `out_of`: the reply ends in `/10`, whose 10 is not the grade."""
    places = list(_places(tokens, str(number)))
    if not places:
        return None
    last_is_ten = out_of and number == HIGHEST and len(places) > 1
    place = places[1] if last_is_ten else places[0]
    weights: dict[int, float] = defaultdict(float)
    for text, logprob in tokens[place].alternatives:
        word = text.strip()
        if word.isascii() and word.isdigit() and len(word) <= 2 and int(word) <= HIGHEST:
            weights[int(word)] += math.exp(logprob)
    if tokens[place].text.strip() != str(number):
        ten = math.fsum(math.exp(p) for text, p in tokens[place + 1].alternatives if text == "0")
        weights[HIGHEST] += weights[1] * min(ten, 1.0)
        weights[1] *= max(0.0, 1.0 - ten)
    total = math.fsum(weights.values())
    if not total:
        return None
    return math.fsum(value * weight for value, weight in weights.items()) / total / HIGHEST


def _places(tokens: Sequence[ReplyToken], number: str) -> Iterator[int]:
    """Where the integer begins, the last first: places whose token, or two, are it."""
    for at in reversed(range(len(tokens))):
        text = tokens[at].text.strip()
        two = text + tokens[at + 1].text.strip() if text and at + 1 < len(tokens) else ""
        if text == number or (len(number) == len("10") and two == number):
            yield at


@dataclass(frozen=True, kw_only=True)
class GradeReport(ModelReport):
    """What the judge did. `pairs`: which were to be graded. `sampled`: grades that are means of
    several replies. `ungraded`: items that lack grades, which leaves them unscored."""

    pairs: GradedPairs
    sampled: int
    ungraded: tuple[ReportedItem, ...]

    @property
    def own(self) -> Mapping[str, Any]:
        return {
            "pairs": self.pairs,
            "sampled": self.sampled,
            "ungraded": [item.to_json() for item in self.ungraded],
        }


_PairRequests = tuple[PropertyPair, GradeRequest, GradeRequest]
"""A pair of properties, and the requests of its condition and its answer."""


async def grade_items(
    items: Sequence[AnsweredItem],
    grader: Grader,
    task: Task,
    *,
    pairs: GradedPairs = "all",
    concurrency: int = 8,
    announce: Announce | None = None,
    progress: RequestProgress | None = None,
) -> tuple[list[AnsweredItem], GradeReport]:
    """The items with their grades. A request that fails alone leaves its item without.

    Raises:
        ModelError: no request can be answered (a refused key, a spent quota, an unknown model).
        InputError: the model cannot be asked, and not everything is kept.
    """
    wanted = [list(_requests_of(item, task, pairs)) for item in items]
    requests = [r for each in wanted for _, *requested in each for r in requested]
    grades = await grader.grade_each(
        requests, concurrency=concurrency, announce=announce, progress=progress
    )
    graded, ungraded = list[AnsweredItem](), list[ReportedItem]()
    for item, each in zip(items, wanted, strict=True):
        own = _graded(each, grades)
        graded.append(replace(item, graded=own))
        if own.missing:
            why = f"{own.missing} without a grade: {own.problem}"
            ungraded.append(ReportedItem(item.question.id, item.epoch, why))
    asked = {request: grade for request, grade in grades.items() if not request.is_decided}
    report = GradeReport(
        model=grader.model,
        pairs=pairs,
        asked=sum(map(bool, wanted)),
        ended=Ended.of(asked.values()),
        sampled=sum(bool(grade.samples) for grade in asked.values()),
        ungraded=tuple(ungraded),
        consulted=grader.consulted,
    )
    return graded, report


def property_requests(
    items: Iterable[AnsweredItem], task: Task, pairs: GradedPairs = "all"
) -> tuple[GradeRequest, ...]:
    """The different requests that grading the items' properties takes, without what is decided."""
    every = (r for item in items for _, *both in _requests_of(item, task, pairs) for r in both)
    return tuple(dict.fromkeys(request for request in every if not request.is_decided))


def _requests_of(item: AnsweredItem, task: Task, pairs: GradedPairs) -> Iterator[_PairRequests]:
    # A failed item is scored as an empty prediction.
    for pair, given, wanted in task.graded_pairs(item.as_scored, pairs):
        yield pair, *grade_requests(item.question.question, given, wanted)


def grade_requests(
    question: str, given: ConditionalAnswer, wanted: ConditionalAnswer
) -> tuple[GradeRequest, GradeRequest]:
    """How well a predicted property stands for a gold one: its condition, and its answer."""
    is_surplus = wanted == NOTHING
    return (
        GradeRequest("grade_condition", question, wanted.condition, given.condition, is_surplus),
        GradeRequest("grade_answer", question, wanted.answers[0], given.answers[0], is_surplus),
    )


def _graded(wanted: Sequence[_PairRequests], by_request: Mapping[GradeRequest, Grade]) -> Graded:
    grades, problems = {}, []
    for pair, condition, answer in wanted:
        both = by_request[condition], by_request[answer]
        problems += [grade.problem or "no grade" for grade in both if grade.value is None]
        values = [grade.value for grade in both if grade.value is not None]
        if len(values) == len(both):
            grades[pair] = PropertyGrade(*values)
    return Graded(grades, len(problems), problems[0] if problems else None)
