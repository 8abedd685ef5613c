"""Questions worded by the grammar or by a model, and reviewed by a model.

A model's text is checked for what the plan's steps say, as far as names and numbers show it: the
grammar's wording stays wherever the model strays.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import first_problem
from branchwise.base.text import cut, one_line, printable
from branchwise.kg.schema import Schema
from branchwise.worlds.questions.drafts import RejectedError
from branchwise.worlds.questions.plans import Amount, Difference, Filter, GroupBy, Plan, PlanStep
from branchwise.worlds.questions.wording.grammar import Grammar
from branchwise.worlds.questions.wording.vocabulary import NameOf

_PROMPTS = Path(__file__).parent / "prompts"


def fill(name: str, **values: str) -> str:
    """The prompt NAME.md with its `$variables` filled in, once: values are not read again."""
    text = (_PROMPTS / f"{name}.md").read_text("utf-8").strip()
    return Template(text).substitute(values)


class TextModelError(Exception):
    """No text came back. The message is one line without secrets or addresses."""


class TextModel(Protocol):
    """A language model behind one blocking call; implemented over the agents' model specs."""

    def complete(self, prompt: str, system: str = "") -> str:
        """The reply to one user message. Raises TextModelError where there is none."""
        ...


MAX_REASON = 300
MAX_REPEATED, MAX_SHOWN = 2_000, 80
MAX_UNREADABLE = 10
"""Verdicts in a row that could not be read, after which no more are asked for."""
UNREADABLE = "the reviewer's verdict cannot be read"


@dataclass(frozen=True)
class Review:
    """What a reviewer said."""

    valid: bool
    reason: str


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    verdict: Literal["Valid", "Invalid"]
    reason: str


class Reviewer:
    """Judges by a model. Every method raises TextModelError where the model does not answer, for an
    unreviewed question must neither pass nor be dropped; RejectedError where neither its reply nor
    a second one holds a verdict; InputError where that happens ten times in a row."""

    def __init__(self, model: TextModel) -> None:
        self._model = model
        self._unreadable = 0

    def judge_template(self, steps: Sequence[str]) -> Review:
        """Whether questions of this pattern can make sense; `steps` name types, no entities."""
        return self._ask("review_template", steps)

    def judge(self, question: str, steps: Sequence[str], answers: Sequence[str]) -> Review:
        """Whether question, plan and answers (of one branch) belong together."""
        asked, given = (json.dumps(v, ensure_ascii=False) for v in (question, list(answers)))
        return self._ask("review_question", steps, question=asked, answers=given)

    def _ask(self, name: str, steps: Sequence[str], **values: str) -> Review:
        form = fill("verdict_form")
        asked = prompt = fill(name, steps="\n".join(steps), form=form, **values)
        replies: list[str] = []
        while len(replies) < 2:
            replies.append(self._model.complete(asked))
            try:
                read = _Verdict.model_validate_json(replies[-1].strip())
            except ValidationError as error:
                shown, fault = replies[0][:MAX_REPEATED], first_problem(error)
                asked = fill("repair_verdict", prompt=prompt, problem=fault, reply=shown, form=form)
            else:
                self._unreadable = 0
                return Review(read.verdict == "Valid", one_line(read.reason)[:MAX_REASON])
        self._unreadable += 1
        if self._unreadable >= MAX_UNREADABLE:
            raise InputError(
                f"{MAX_UNREADABLE} verdicts in a row cannot be read, the last: "
                f"{cut(printable(one_line(replies[0])), MAX_SHOWN)!r}",
                where="--reviewer",
                remedy="name a model that replies with the JSON object it is asked for",
            )
        raise RejectedError(UNREADABLE)


Problem = Literal[
    "no reply",
    "not one question",
    "too long",
    "drops a name",
    "adds a name",
    "drops a number",
    "adds a number",
    "drops a negation",
    "drops 'formerly'",
]
MAX_WORDS = 60
MAX_CHARACTERS = 600
_NAME = "\N{REPLACEMENT CHARACTER}"  # stands where a name was found
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=2
    )
}
_NUMBER = re.compile(rf"\d+(?:,\d{{3}})*(?:\.\d+)?|\b(?:{'|'.join(_NUMBER_WORDS)})\b", re.I)
_PLACE = re.compile(r"^\s*\d+[.):]")  # a step's own
_BREAK = re.compile(r"[.!?:]\s+\S")
NEGATION = re.compile(
    r"\b(?:not|never|no|nor|neither|none|without|except|excluding|apart from|aside from|"
    r"other than|leaving out)\b|n't\b",
    re.I,
)
"""What denies or takes away, in English."""
_FORMER = re.compile(r"\b(?:former|formerly|once|previous|previously|earlier|used to)\b", re.I)
# fmt: off
_OPENERS = frozenset((
    "which", "who", "what", "whose", "whom", "when", "where", "how", "name", "list", "the",
    "of", "in", "among", "at", "by", "for", "from", "to", "with", "on", "between", "across",
))
# fmt: on


class StrayError(Exception):
    """A text that does not keep to its plan; `detail` is the name, number or piece of text."""

    def __init__(self, problem: Problem, detail: str = "") -> None:
        super().__init__(f"{problem}: {detail}" if detail else problem)
        self.problem: Problem = problem
        self.detail = detail[:100]


def check(text: str, plan: Plan, steps: Sequence[str], names: Iterable[str]) -> None:
    """Raise StrayError unless the text is one question with all names and numbers of the plan's
    steps in words, no other name or number, a negation where something is taken away, and a word
    such as "formerly" where a step has one.

    Names in lower case (genres, kinds of things) may be inflected, all others stand unchanged.
    What relations the text speaks of is not seen here: that is a reviewer's part.
    """
    ordered = sorted(names, key=lambda name: (-len(name), name))
    rest = _plain(text)
    words = _without_names(rest, ordered)
    asked = [_without_names(_PLACE.sub("", _plain(step)), ordered) for step in steps]
    if "\n" in text or not words.isprintable() or not words.endswith("?") or _BREAK.search(words):
        raise StrayError("not one question", text)
    if len(text.split()) > MAX_WORDS or len(text) > MAX_CHARACTERS:
        raise StrayError("too long", f"{len(text.split())} words, {len(text)} characters")
    for name in ordered:
        if not name.islower():
            rest, count = _whole(name).subn(_NAME, rest)
            if not count:
                raise StrayError("drops a name", name)
    every = " ".join(asked)
    for name in ordered:
        # Each word of a name in lower case, perhaps with another ending: "comedies" for "comedy".
        for word in name.split() if name.islower() else ():
            stem = re.escape(word[:-1] if len(word) > 4 else word)
            inflected = re.compile(rf"\b{stem}", re.I)
            if inflected.search(every) and not inflected.search(words):
                raise StrayError("drops a name", name)
    # What begins like a name has to stand in the steps.
    known = set(re.findall(r"\w+", every))
    first, *others = re.findall(rf"[^\W\d_]\w*|{_NAME}", words)
    if first != _NAME and first.lower() not in _OPENERS | {word.lower() for word in known}:
        raise StrayError("adds a name", first)
    for word in others:
        if word != _NAME and not word[0].islower() and word not in known:
            raise StrayError("adds a name", word)
    wanted: set[str] = set()
    for step, in_words in zip(plan.steps, asked, strict=True):
        # Not the numbers by which steps refer to each other.
        places = {str(source + 1) for source in step.sources}
        wanted |= numbers_in(in_words) - places | _bounds(step) & places
    numbers = numbers_in(words)
    if dropped := sorted(wanted - numbers):
        raise StrayError("drops a number", dropped[0])
    if added := sorted(numbers - wanted):
        raise StrayError("adds a number", added[0])
    if any(isinstance(step, Difference) for step in plan.steps) and not NEGATION.search(words):
        raise StrayError("drops a negation")
    if any(_FORMER.search(step) for step in asked) and not _FORMER.search(words):
        raise StrayError("drops 'formerly'")


def _plain(text: str) -> str:
    return " ".join(text.translate(_STRAIGHT).split())


_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


def _without_names(text: str, names: Iterable[str]) -> str:
    """The text with its proper names replaced, longer ones first: one may be part of another."""
    for name in names:
        if not name.islower():
            text = _whole(name).sub(_NAME, text)
    return text


def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(_plain(name))}(?!\w)")


def _bounds(step: PlanStep) -> set[str]:
    if isinstance(step, GroupBy):
        return {str(step.at_least)}
    if isinstance(step, Filter) and isinstance(step.condition, Amount):
        bounds = (step.condition.least, step.condition.most)
        return {f"{bound:g}" for bound in bounds if bound is not None}
    return set()


def numbers_in(text: str) -> set[str]:
    """Numbers in figures: "1,200" as 1200, "three" as 3."""
    numbers = (match[0].lower().replace(",", "") for match in _NUMBER.finditer(text))
    return {_NUMBER_WORDS.get(number, number) for number in numbers}


_QUOTES = {'"': '"', "“": "”"}


@dataclass(frozen=True)
class Written:
    """A question's text. Where the grammar wrote it, `problem` says why, and `detail` what of."""

    text: str
    by: Literal["model", "grammar"]
    problem: Problem | None = None
    detail: str = ""


class ModelWriter:
    """Words questions by a model, one call each; where `sees_answers`, each reading's are shown."""

    def __init__(self, model: TextModel, *, sees_answers: bool = False) -> None:
        self._model = model
        self.sees_answers = sees_answers

    def question(
        self,
        plan: Plan,
        steps: Sequence[str],
        name: Callable[[str], str],
        fallback: str,
        answers: Sequence[Sequence[str]],
    ) -> Written:
        """The plan as a question: the model's if it keeps to the plan, else `fallback`. `steps`:
        numbered, in words, in which `name` names entities. `answers`: of each reading."""
        names = list(dict.fromkeys(name(entity) for entity in plan.entities()))
        shown = list(steps)
        if self.sees_answers:
            sets = "\n".join(json.dumps(list(own), ensure_ascii=False) for own in answers)
            shown += ["", fill("answers_seen", answers=sets)]
        given = {"steps": "\n".join(shown), "names": "; ".join(names)}
        prompt = fill("write_question", **given, most=str(MAX_WORDS))
        try:
            text = self._model.complete(prompt).strip()
            if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text.count(text[0]) <= 2:
                text = text[1:-1].strip()
            check(text, plan, steps, names)
        except TextModelError as error:
            return Written(fallback, "grammar", "no reply", str(error))
        except StrayError as strayed:
            return Written(fallback, "grammar", strayed.problem, strayed.detail)
        return Written(text, "model")


class _Choice(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    candidate: int


class EntityChooser:
    """Chooses by a model what a plan is about, one call each."""

    def __init__(self, model: TextModel) -> None:
        self._model = model

    def choice(self, steps: Sequence[str], candidates: Sequence[str]) -> int | None:
        """The index of the candidate that suits the steps, if any. Raises TextModelError."""
        listed = "\n".join(f"{n}. {one_line(text)}" for n, text in enumerate(candidates, start=1))
        prompt = fill("choose_entity", steps="\n".join(steps), candidates=listed)
        reply = self._model.complete(prompt)
        try:
            index = _Choice.model_validate_json(reply.strip()).candidate - 1
        except ValidationError:
            return None
        return index if 0 <= index < len(candidates) else None


class Verbalization(NamedTuple):
    """A question's text, who worded it, and its plan's numbered steps in words."""

    text: str
    by: Literal["grammar", "model"]
    steps: tuple[str, ...]


class Verbalizer:
    """The grammar, with a writer, a reviewer and a chooser of entities where there are models for
    them. `strayed` counts why a writer's text was left for the grammar's."""

    def __init__(
        self,
        schema: Schema,
        seed: int,
        writer: ModelWriter | None = None,
        reviewer: Reviewer | None = None,
        chooser: EntityChooser | None = None,
    ) -> None:
        self._worder = Grammar(schema, seed)
        self._writer = writer
        self._reviewer = reviewer
        self._chooser = chooser
        self._judged: dict[str, bool] = {}
        self.strayed: Counter[str] = Counter()

    def sayable(self, relation: str, inverse: bool) -> bool:
        """Whether a step along a relation, or a filter by it, can be said."""
        return self._worder.sayable(relation, inverse)

    @property
    def recipe(self) -> dict[str, str]:
        """What each question says of how models helped; nothing where all is as by default."""
        sees_answers = self._writer is not None and self._writer.sees_answers
        return {"writer_sees": "answers"} if sees_answers else {}

    @property
    def chooses(self) -> bool:
        """Whether a model chooses what plans are about."""
        return self._chooser is not None

    def choose(self, plan: Plan, name: NameOf, candidates: Sequence[str]) -> int | None:
        """Which candidate suits the plan, whose steps `name` puts in words."""
        assert self._chooser is not None
        return self._chooser.choice(self._worder.steps(plan, name), candidates)

    def say(
        self, plan: Plan, name: NameOf, variant: int, answers: Sequence[Sequence[str]] = ()
    ) -> Verbalization:
        """`answers`: of each reading, for a writer that sees them."""
        text = self._worder.question(plan, name, variant)
        steps = self._worder.steps(plan, name)
        if self._writer is None:
            return Verbalization(text, "grammar", tuple(steps))
        written = self._writer.question(plan, steps, name, text, answers)
        if written.problem:
            self.strayed[written.problem] += 1
        return Verbalization(written.text, written.by, tuple(steps))

    def review_template(self, plan: Plan, kind: NameOf) -> None:
        """Ask once, for all plans with the same relations, whether such questions make sense.
        `kind` stands for each entity: "a certain film". Raises RejectedError, and `Reviewer`'s."""
        if self._reviewer is None:
            return
        steps = self._worder.steps(plan, kind)
        key = "\n".join(steps)
        if key not in self._judged:
            self._judged[key] = self._reviewer.judge_template(steps).valid
        if not self._judged[key]:
            raise RejectedError("the reviewer finds the template infeasible")

    def review(
        self, wording: Verbalization, plan: Plan, name: NameOf, answers: Sequence[Sequence[str]]
    ) -> None:
        """Ask whether question, plan and each reading's answers fit. Raises the same."""
        if self._reviewer is None:
            return
        steps = self._worder.steps(plan, name)
        if not all(self._reviewer.judge(wording.text, steps, own).valid for own in answers):
            raise RejectedError("the reviewer finds the question invalid")
