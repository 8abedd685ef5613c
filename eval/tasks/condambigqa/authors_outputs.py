"""Outputs that CondAmbigQA's authors published, with the grades that their judge gave.

Files (github.com/innovation64/CondAmbigQA, `experiment/`), each a JSON object by model:
`MODEL_main.json` has the rows of the main experiment: conditions with answers and citations.
`MODEL_compare.json` has those of answers without conditions, and the gold answers beside them.
Averages by model are what the bars of Figure 5 show.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import MAX_JSON_BYTES
from branchwise.corpora.json_rows import json_object
from branchwise.corpora.loaders.published import PublishedEntry, PublishedRecord, problems
from branchwise.corpora.questions import Question
from branchwise.eval.judging.grading import GradeRequest, grade_requests
from branchwise.eval.properties import NOTHING, ConditionalAnswer, gold_as_given

_NAME_QUESTIONS = "name the questions that it answers: --questions condambigqa:mcaqa.json"
PREFIX = "condambigqa-runs:"
_WANTED = "give MODEL_main.json, MODEL_compare.json or the averages of Figure 5, as published"

Experiment = Literal["main", "compare"]
_Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class _Grade(PublishedRecord):
    score: _Share


class _AnswerGrades(PublishedRecord):
    answer_evaluation: _Grade
    citation_evaluation: _Grade

    @property
    def scores(self) -> dict[str, float]:
        return {"answer": self.answer_evaluation.score, "citation": self.citation_evaluation.score}


class _Grades(_AnswerGrades):
    condition_evaluation: _Grade


class _Answer(PublishedRecord):
    """What the model left out was graded as an empty text."""

    answer: str = ""
    condition: str = ""


class _Row(PublishedEntry):
    answer_count_difference: Annotated[int, Field(strict=True)]


class _MainRow(_Row):
    conditions: tuple[_Answer, ...]
    evaluations: tuple[_Grades, ...]


class _CompareRow(_Row):
    generated_answers: tuple[_Answer, ...]
    expected_answers: tuple[str | list[str], ...]
    evaluations: tuple[_AnswerGrades, ...]


class Averages(PublishedRecord):
    """A model's bars of Figure 5; only the file without conditions counts answers."""

    average_answer_score: _Share
    average_citation_score: _Share
    average_answer_count: float | None = None


@dataclass(frozen=True)
class Pooled:
    """Of all predictions of a file together: mean, sample standard deviation (None for one)."""

    mean: float
    sd: float | None


@dataclass(frozen=True)
class OutputRow:
    """A question's predictions, and by part of each of them the grade that it got. `gold`: how many
    gold properties it has; `expected`: their answers, where the file has them."""

    id: str
    question: str
    predicted: tuple[ConditionalAnswer, ...]
    grades: tuple[Mapping[str, float], ...]
    gold: int
    expected: tuple[ConditionalAnswer, ...] | None = None

    def requests(self, gold: Sequence[ConditionalAnswer]) -> Iterator[tuple[GradeRequest, float]]:
        """What the judge was asked, and the grade that it gave."""
        wanted = islice(chain(gold, repeat(NOTHING)), len(self.predicted))
        for predicted, own, grades in zip(self.predicted, wanted, self.grades, strict=True):
            asked = grade_requests(self.question, predicted, own)
            for part, request in zip(("condition", "answer"), asked, strict=True):
                if part in grades and not request.is_decided:
                    yield request, grades[part]


@dataclass(frozen=True)
class AuthorsOutput:
    """What a model answered, and how the authors' judge graded it."""

    model: str
    experiment: Experiment
    rows: tuple[OutputRow, ...]

    @property
    def predictions(self) -> int:
        return sum(len(row.predicted) for row in self.rows)

    @property
    def scores(self) -> dict[str, Pooled]:
        """By part of a prediction: condition (main experiment), answer, citation. The authors'
        program pools the predictions of all questions."""
        every = [grades for row in self.rows for grades in row.grades]
        values = {part: [grades[part] for grades in every] for part in every[0]}
        return {
            part: Pooled(fmean(own), stdev(own) if len(own) > 1 else None)
            for part, own in values.items()
        }

    def requests(
        self, questions: Sequence[Question], source: str
    ) -> dict[str, dict[GradeRequest, float]]:
        """By question id what the judge was asked, and the grade that it gave, for rows whose gold
        is known: that of these questions, in the comparison the file's own. Raises InputError where
        no row has gold, or a question of `source` other gold than a row."""
        by_id = {question.id: gold_as_given(question) for question in questions}
        asked = {}
        for row in self.rows:
            gold = row.expected or by_id.get(row.id)
            if gold is not None and len(gold) != row.gold:
                counts = f"{len(gold)} gold answers, and {row.gold} in the output"
                problem = f"question {row.id[:80]!r} has {counts}"
                raise InputError(problem, where=source, remedy=_NAME_QUESTIONS)
            if gold is not None:
                asked[row.id] = dict(row.requests(gold))
        if not asked:
            problem = f"no question that {self.model[:80]} answers is there"
            raise InputError(problem, where=source, remedy=_NAME_QUESTIONS)
        return asked


def read_outputs(path: Path) -> tuple[AuthorsOutput, ...] | dict[str, Averages]:
    """What a file has of each model: its rows, or the averages of Figure 5. Raises InputError,
    naming file, model and row."""
    by_model = json_object(path, MAX_JSON_BYTES, _WANTED)
    if by_model and all(isinstance(own, dict) for own in by_model.values()):
        return {
            model: _parsed(Averages, own, f"{path}: {model}") for model, own in by_model.items()
        }
    if not by_model or not all(isinstance(own, list) and own for own in by_model.values()):
        problem = "is no output of CondAmbigQA's authors: rows by model are missing"
        raise InputError(problem, where=str(path), remedy=_WANTED)
    return tuple(_output(model, rows, path) for model, rows in by_model.items())


def _output(model: str, records: Sequence[Any], path: Path) -> AuthorsOutput:
    first = records[0] if isinstance(records[0], dict) else {}
    experiment: Experiment = "compare" if "generated_answers" in first else "main"
    read = _compare_row if experiment == "compare" else _main_row
    rows: dict[str, OutputRow] = {}
    for number, record in enumerate(records, start=1):
        where = f"{path}: {model[:80]}, row {number}"
        row = read(record, where)
        problem = ""
        if len(row.predicted) != len(row.grades):
            problem = f"has {len(row.predicted)} answers and {len(row.grades)} evaluations"
        elif row.gold < 1:
            problem = "has an answer_count_difference that leaves no gold answer"
        elif row.id in rows:
            problem = f"repeats the question {row.id[:80]!r}"
        if problem:
            raise InputError(problem, where=where, remedy=_WANTED)
        rows[row.id] = row
    output = AuthorsOutput(model, experiment, tuple(rows.values()))
    if not output.predictions:
        raise InputError(f"{model[:80]} answers nothing", where=str(path), remedy=_WANTED)
    return output


def _main_row(record: Any, where: str) -> OutputRow:
    row = _parsed(_MainRow, record, where)
    grades = ({"condition": g.condition_evaluation.score} | g.scores for g in row.evaluations)
    return _row(row, row.conditions, tuple(grades))


def _compare_row(record: Any, where: str) -> OutputRow:
    row = _parsed(_CompareRow, record, where)
    texts = (own if isinstance(own, str) else " ".join(own) for own in row.expected_answers)
    expected = tuple(ConditionalAnswer("", (text,), frozenset()) for text in texts)
    grades = tuple(own.scores for own in row.evaluations)
    return replace(_row(row, row.generated_answers, grades), expected=expected)


def _row(
    row: _Row, answers: Sequence[_Answer], grades: tuple[Mapping[str, float], ...]
) -> OutputRow:
    given = (ConditionalAnswer(own.condition, (own.answer,), frozenset()) for own in answers)
    gold = len(answers) - row.answer_count_difference
    return OutputRow(row.id, row.question, tuple(given), grades, gold)


_Form = TypeVar("_Form", bound=BaseModel)


def _parsed(form: type[_Form], record: Any, where: str) -> _Form:
    try:
        return form.model_validate(record)
    except ValidationError as error:
        raise InputError(problems(error)[0], where=where, remedy=_WANTED) from None
