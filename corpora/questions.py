"""The question model: a question has branches, a branch has answers."""

import dataclasses
import hashlib
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, overload

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.dataclasses import dataclass

from branchwise.base.arguments import typed_arguments
from branchwise.base.atomic import new_file
from branchwise.base.errors import InputError
from branchwise.base.frames import frame_of
from branchwise.corpora.passages import Passage

if TYPE_CHECKING:
    from pandas import DataFrame

DEFAULT_BRANCH = "default"
Gold = Literal["answers", "label", "conditions"]
"""What scores need of a question: answers in every branch / whether it is ambiguous / a short
answer and what must also be true (`corpora/conditions/question.py`)."""


# Names of entities and ids of passages recur in the questions of a set: each is held once.
_Text = Annotated[str, AfterValidator(sys.intern)]
_CLOSED = ConfigDict(extra="forbid")


# Dataclasses rather than models, which hold a dictionary each: a run has 100,000 answers.
@dataclass(frozen=True, slots=True, config=_CLOSED)
class Answer:
    """One entity of an answer set. `support`: ids of passages that state it. `description`: what it
    is, where its name does not say it ("2007 film directed by Noor Waldstedt")."""

    text: _Text
    aliases: tuple[_Text, ...] = ()
    qid: _Text | None = None
    support: tuple[_Text, ...] = ()
    description: _Text | None = None

    @property
    def forms(self) -> tuple[str, ...]:
        """Every way of writing the entity that counts as it: the text, then its aliases."""
        return (self.text, *self.aliases)


@dataclass(frozen=True, slots=True, config=_CLOSED)
class Branch:
    """One reading of a question with its own answer set; `default` where there is only one."""

    name: _Text
    answers: tuple[Answer, ...]
    qid: _Text | None = None
    citations: tuple[_Text, ...] = ()


GoldSet = tuple[Branch, ...]
"""All branches of a question as one annotator gave them."""


class Question(BaseModel):
    """A question with its gold branches (none when it only comes from `ask`).

    `alternatives` are further gold sets, each as good as `branches`: the one that suits an answer
    best scores it. `passages`: the benchmark's fixed retrieval result; `plan`: the steps of a
    synthesised question; `meta`: all else that a data set says; `ambiguous`: set where known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    ambiguous: bool = False
    branches: GoldSet = ()
    alternatives: tuple[GoldSet, ...] = ()
    passages: tuple[Passage, ...] = ()
    plan: tuple[Any, ...] = ()
    meta: Mapping[str, Any] = {}

    def has_gold(self, gold: Gold) -> bool:
        """Whether it can be scored by gold of that kind."""
        if gold == "label":
            return "ambiguous" in self.model_fields_set
        if gold == "conditions":
            return "gold" in self.meta
        return all(gold and all(branch.answers for branch in gold) for gold in self.gold_sets)

    @property
    def gold_sets(self) -> tuple[GoldSet, ...]:
        """The branches, then the alternatives."""
        return (self.branches, *self.alternatives)

    def by_gold_set(self, number: int) -> Self:
        """The question with one of its `gold_sets` as its branches, the others as alternatives."""
        sets = self.gold_sets
        others = (*sets[:number], *sets[number + 1 :])
        return self.model_copy(update={"branches": sets[number], "alternatives": others})

    @model_serializer(mode="wrap")
    def _without_what_is_not_set(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without unset `alternatives` and descriptions, so that digests stay the same."""
        record: dict[str, Any] = write(self)
        if not record.get("alternatives"):
            record.pop("alternatives", None)
        for branches in (record.get("branches", ()), *record.get("alternatives", ())):
            for branch in branches:
                for answer in branch["answers"]:
                    if answer.get("description", "") is None:
                        del answer["description"]
        return record

    @property
    def support(self) -> frozenset[str]:
        """Ids of all passages that answers of its branches are stated in."""
        return frozenset(id for branch in self.branches for a in branch.answers for id in a.support)


def questions_digest(questions: Sequence[Question]) -> str:
    """SHA-256 (hexadecimal) of the questions as JSON lines with sorted keys, in order. That a
    published form's questions say which benchmark they are of changes nothing in what is asked."""
    from branchwise.corpora.loaders.forms import FORMS

    digest = hashlib.sha256()
    for question in questions:
        record = question.model_dump(mode="json")
        if str(record["meta"].get("benchmark")) in FORMS:
            del record["meta"]["benchmark"]
        line = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
        digest.update(line + b"\n")
    return digest.hexdigest()


@dataclasses.dataclass(frozen=True, repr=False)
class QuestionSet:
    """Questions from one source, in file order, ids unique.

    `task` names the entry in `eval/tasks` that answers and scores them; `source` is what the
    user wrote (`condambigqa:dev.json`); `digest` is the SHA-256 of the canonical questions.

    A sequence of questions: `questions[0]`, `questions["id"]`, `questions[:20]`. A part of a set is
    a set of the same source and task.
    """

    source: str
    task: str
    questions: tuple[Question, ...]
    digest: str

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    @overload
    def __getitem__(self, which: int | str) -> Question: ...
    @overload
    def __getitem__(self, which: slice) -> Self: ...
    def __getitem__(self, which: int | str | slice) -> "Question | Self":
        """The question at an index or with an id, or the set of a slice. Raises IndexError, and
        KeyError for an unknown id."""
        if isinstance(which, slice):
            return self.part(self.questions[which])
        if isinstance(which, str):
            found = next((question for question in self if question.id == which), None)
            if found is None:
                raise KeyError(which)
            return found
        return self.questions[which]

    def __repr__(self) -> str:
        number = f"{len(self):,} question{'' if len(self) == 1 else 's'}"
        return f"<QuestionSet {self.source[:80]!r}: {number}, task {self.task}>"

    @typed_arguments
    def filter(self, keep: Callable[[Question], bool]) -> Self:
        """The questions for which `keep` is true."""
        return self.part([question for question in self if keep(question)])

    @typed_arguments
    def sample(self, n: int, seed: int = 0) -> Self:
        """`n` questions, or all where there are fewer, in their order. The same seed takes the same
        questions, on every machine."""
        if n < 0:
            raise InputError(f"n is {n}", where="sample", remedy="give a number of questions")
        chosen = random.Random(seed).sample(range(len(self)), min(n, len(self)))
        return self.part([self.questions[index] for index in sorted(chosen)])

    @typed_arguments
    def save(self, path: Path | str) -> Path:
        """Write the set in our own format, as JSONL; an older file is replaced. Raises InputError,
        and writes nothing, for a question that our format cannot hold."""
        from branchwise.corpora.loaders.native import written
        from branchwise.corpora.loaders.source import PlacedQuestion

        with new_file(Path(path)) as stream:
            for question in self:
                placed = PlacedQuestion(f"question {question.id}", question, self.task)
                stream.write(written(placed))
        return Path(path)

    def to_pandas(self) -> "DataFrame":
        """A row for each question: its answers by branch, and what its data set says of it
        (`meta.KEY`). Raises InputError without pandas."""
        return frame_of(
            [
                {
                    "id": question.id,
                    "question": question.question,
                    "ambiguous": question.ambiguous,
                    "answers": {b.name: [a.text for a in b.answers] for b in question.branches},
                    **{f"meta.{key}": value for key, value in question.meta.items()},
                }
                for question in self
            ]
        )

    def part(self, questions: Sequence[Question]) -> Self:
        """These questions of the set, as a set."""
        return dataclasses.replace(
            self, questions=tuple(questions), digest=questions_digest(questions)
        )
