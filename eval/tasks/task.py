"""What a task is: how a kind of question is put to an agent, how its answers are scored, and the
columns of reports.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field

from branchwise.agents.prediction import FormatError, Prediction
from branchwise.base.setting import Setting
from branchwise.base.text import one_line
from branchwise.corpora.questions import Gold, Question
from branchwise.eval.errors.labels import ErrorClasses
from branchwise.eval.grouping import Grouping
from branchwise.eval.items import AnsweredItem
from branchwise.eval.properties import ConditionalAnswer, PropertyPair
from branchwise.graphs.flows import Brief, Flow
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL, PROTOCOL
from branchwise.graphs.system import DEFAULT_SYSTEM, System

GradedPair = tuple[PropertyPair, ConditionalAnswer, ConditionalAnswer]
"""Under which key a grade is kept, the predicted property, and the gold one."""

Metrics = Mapping[str, float | None]
"""Metric key to value; None is unscored on purpose and stays out of the mean."""

Role = Literal["recall", "precision", "exact", "headline"]
"""What a headline metric is: recall, precision, exact match, or another one of the first rank."""


@dataclass(frozen=True)
class Total:
    """How a score of many questions comes of sums over them, where it is not a mean. `sums`: the
    metrics of an item that are added up; `of`: their function, in this order, None where it is
    undefined. A question counts with the mean of its epochs, so `of` must be the same when all sums
    are multiplied by one number."""

    sums: tuple[str, ...]
    of: Callable[..., float | None]

    def vector(self, metrics: Metrics) -> tuple[float, ...] | None:
        """An item's addends; None where one of them is."""
        known = tuple(v for name in self.sums if (v := metrics[name]) is not None)
        return known if len(known) == len(self.sums) else None


@dataclass(frozen=True)
class Column:
    """A metric in the report table.

    `heading` may hold one line break; columns with the same `table` stand side by side; `note`
    is the line under the table that says what the number means. A metric that `needs_evidence` is
    unscored where no item of a set was shown any passage: zero would blame the agent for what was
    not recorded. What has a `role` is a headline metric: changes are told by it. `short`: its
    heading where its table is clear, `words`: its name in a sentence. `unit`: a share is 0 to 1.
    """

    key: str
    heading: str
    table: str
    digits: int = 2
    note: str = ""
    needs_evidence: bool = False
    role: Role | None = None
    short: str = ""
    words: str = ""
    unit: Literal["share", "value"] = "share"
    total: Total | None = None

    @property
    def title(self) -> str:
        return one_line(self.heading)

    @property
    def name(self) -> str:
        return self.words or self.title

    def described(self) -> dict[str, Any]:
        """What a scorer keeps of a plug-in's column; JSON-serialisable."""
        kept = ("key", "heading", "table", "digits", "note", "needs_evidence")
        return {name: getattr(self, name) for name in kept}


def totals_of(columns: Iterable[Column]) -> dict[str, Total]:
    """The columns that are not means, by their keys."""
    return {column.key: column.total for column in columns if column.total}


def capital(text: str) -> str:
    """As a caption begins; the rest stays as it is."""
    return text[:1].upper() + text[1:]


class ShotSettings(BaseModel):
    """Worked examples; each flow says how many it has."""

    shots: Annotated[
        int,
        Field(ge=0, le=4),
        Setting(
            "Worked examples in the prompt: conditional answers 0 or 1, with --protocol dialogue 0 "
            "or 4.",
            "Model",
            of_task=True,
        ),
    ] = 0


PUBLISHED = "published-code"
"""The variant of tasks that are also scored as their one published program adds up."""
_SHOWN = 3
_SUBSET_WORDS = MappingProxyType({name: name for name in ("all", "ambiguous", "unambiguous")})


@dataclass(frozen=True)
class Beside:
    """A gold answer (its name and texts) and the predicted one that stands for it. Either may be
    None: what was missed, and what stands for nothing. `scores`: how far they agree, each with what
    it is called, 0 to 1."""

    gold: tuple[str, Sequence[str]] | None
    predicted: tuple[str, Sequence[str]] | None
    scores: Sequence[tuple[str, float]] = ()


class Task(Protocol):
    """A kind of question. Stateless; `get_task` returns the one instance of each.

    `flow` is how its questions go through a graph; `version` changes whenever a score of the same
    item may change; `matcher` says by what predicted branches are aligned with gold ones.
    `is_attributable`: answers are entities in the answer format `branches`, which texts mention, so
    that it can be said where one was lost and models may align and judge them. Such a task has a
    column with the role `recall`: the share of the gold answers that are right under their branch.
    `is_graded`: a judge grades free text, by default for the variant `graded_variant`;
    `pairs_by_place`: what it grades of a question are pairs by position. `former_variants`: names
    that variants had before, and have now. `live`: its flow where a person is asked back. `gold`:
    what a question must say to be scored. `names_evidence`: its questions bring no passages, so
    reports say what was searched. `protocol_words`, `hint_words`: what tables call protocols and
    hints that they compare, in the order in which these are read. `subset_words`: what reports call
    the subsets all, ambiguous and unambiguous. `tells_deviation`: standard deviations over
    questions stand beside its headline metrics. `error_classes`: errors that answer and gold tell
    by themselves. `groupings`: what its scores are broken down by, besides what answers that are
    entities are; `crossed`: two of them that make a table, down and across.
    """

    name: str
    version: int
    flow: Flow
    matcher: str
    columns: tuple[Column, ...]
    live: Flow | None = None
    is_attributable: bool = False
    is_graded: bool = False
    graded_variant: str = ""
    pairs_by_place: bool = False
    former_variants: Mapping[str, str] = MappingProxyType({})
    gold: Gold = "answers"
    tells_deviation: bool = False
    names_evidence: bool = False
    error_classes: ErrorClasses[Any] | None = None
    groupings: tuple[Grouping, ...] = ()
    crossed: tuple[str, str] | None = None
    subset_words: Mapping[str, str] = _SUBSET_WORDS
    protocol_words: Mapping[str, str] = MappingProxyType({})
    hint_words: Mapping[str, str] = MappingProxyType({})

    def score(self, item: AnsweredItem) -> Metrics:
        """All metrics of one item: a value for each column, and for the sums of its totals."""
        ...

    def examined(self, item: AnsweredItem) -> Any:
        """An item as `error_classes` look at it."""
        return item

    def brief(
        self, question: Question, *, has_tools: bool, system: System = DEFAULT_SYSTEM
    ) -> Brief:
        """What an agent of the system, with or without tools, is told."""
        flow = self.flow.by(system.asked(PROTOCOL))
        setting = flow.setting(has_tools=has_tools, has_passages=bool(question.passages))
        return Brief(
            flow.prompts[setting],
            self.message(question, flow, has_tools=has_tools),
            one_line(question.question),
            question.passages if setting == "given" else (),
            asked_back=self.asked_back(question, flow),
        )

    def message(self, question: Question, flow: Flow, *, has_tools: bool) -> str:
        """What the user says by a flow: the question in one line; where its passages are given also
        these, numbered from 1 and apart by an empty line."""
        setting = flow.setting(has_tools=has_tools, has_passages=bool(question.passages))
        blocks = [
            f"Fragment {k}: {' '.join(passage.title.split())}\n{passage.text}"
            for k, passage in enumerate(question.passages, start=1)
        ]
        return "\n\n".join([one_line(question.question), *(blocks if setting == "given" else [])])

    def asked_back(self, question: Question, flow: Flow) -> str:
        """The clarification question, by a flow in which it is given."""
        return ""

    def check(self, question: Question, system: System, *, has_tools: bool) -> None:
        """Raise InputError, without its place, for a question that the settings do not fit."""
        return None

    def grading(self, question: Question, system: System) -> tuple[int, int | None]:
        """With how many gold texts a judge compares each predicted property, and how many of these
        a system's answer has at most (None: any)."""
        return 0, 0

    def graded_pairs(self, item: AnsweredItem, pairs: str) -> Iterable[GradedPair]:
        """What a judge grades of an item: "all" `pairs` of predicted and gold properties, or only
        those that are "aligned" without a judge."""
        return ()

    def read_output(self, data: Any) -> Any:
        """What is scored of a `task_output` that came from a file. Raises FormatError."""
        return data

    def beside(
        self, question: Question, prediction: Prediction, protocol: str = DEFAULT_PROTOCOL
    ) -> Sequence[Beside] | None:
        """Gold and predicted answers as `score` aligns them; None: by the names of branches."""
        return None

    def gold_prediction(self, question: Question) -> Prediction:
        """The gold answers in the shape of an agent's, by the question's first gold set."""
        branches = question.branches
        return Prediction(
            answers={branch.name: tuple(a.text for a in branch.answers) for branch in branches},
            citations={branch.name: branch.citations for branch in branches if branch.citations},
        )

    def questions_words(self, subset: str) -> str:
        return f"{self.subset_words[subset]} questions"

    def counted_questions(self, count: int, subset: str) -> str:
        """How many of a subset: "1 ambiguous question"."""
        words = self.questions_words(subset)
        return f"{count:,} {words.replace('questions', 'question', 1) if count == 1 else words}"

    @property
    def headline(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.role)

    @property
    def main(self) -> Column:
        """The metric that a report turns on: recall, or the first of the headline."""
        return self.of_role("recall") or self.headline[0]

    @property
    def exact(self) -> Column:
        """The metric that is 1 where an answer is exactly right."""
        return self.of_role("exact") or self.main

    @property
    def shown(self) -> tuple[Column, ...]:
        """The metrics of a line: the headline, and others where that is short."""
        others = tuple(column for column in self.columns if not column.role)
        return (*self.headline, *others[: max(0, _SHOWN - len(self.headline))])

    def of_role(self, role: Role) -> Column | None:
        return next((column for column in self.columns if column.role == role), None)


def shuffled(question: Question, texts: Iterable[str]) -> list[str]:
    """Texts in an order that says nothing of their own, the same whenever it is asked."""
    return sorted(texts, key=lambda text: sha256(f"{question.id}\0{text}".encode()).digest())


def object_schema(
    properties: Mapping[str, Any], required: Sequence[str] | None = None
) -> dict[str, Any]:
    """The JSON schema of an object with these properties, by default all required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def holder_of(data: object, keys: Collection[str], problem: str) -> Mapping[str, Any]:
    """The JSON object with one of the keys, alone in lists and objects of its own or by itself.
    Raises FormatError with the problem."""
    while not isinstance(data, Mapping) or not any(key in data for key in keys):
        inner = list(data.values()) if isinstance(data, Mapping) else data
        if not isinstance(inner, list) or len(inner) != 1:
            raise FormatError(problem)
        data = inner[0]
    return data
