"""The task `clarified`: an answer to each option of a clarification question (CAmbigNQ's third)."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from branchwise.agents.prediction import FormatError, Prediction
from branchwise.corpora.questions import DEFAULT_BRANCH, Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks.cambignq.asked_back import AskedBackTask
from branchwise.eval.tasks.cambignq.clarification import is_format_error, read_model
from branchwise.eval.tasks.cambignq.clarifications import (
    bare_answer,
    gold_answers,
    gold_options,
    read_asked,
    said_answers,
    said_question,
)
from branchwise.eval.tasks.cambignq.flows import CLARIFIED
from branchwise.eval.tasks.cambignq.options_way import (
    SUBSTRING,
    OptionsWay,
    option_columns,
    option_metrics,
    options_beside,
)
from branchwise.eval.tasks.column import Column, Metrics, Total
from branchwise.eval.tasks.task import Beside

_ANSWERS, _GOLD = "answers to the options", "where the options are gold"
_NUMBER_NOTE = "number, different: answers of a question, and different ones among them"
_GOLD_NOTE = (
    "EM, accuracy: share of gold options whose answer is a gold form, or contains one; only where "
    "the options that were answered are the gold ones"
)
_FORMAT_NOTE = "form errors: share of texts that are no question of the form"
_PLACED = ("answer_exact", "answer_contains", "answers_placed")


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


AnsweredOptions = list[Annotated[list[str | list[str]], Field(min_length=2, max_length=2)]]


class ClarifiedOutput(BaseModel):
    """The question that was asked back, and for each of its options the texts of its answer."""

    model_config = ConfigDict(extra="ignore", strict=True)

    clarification_question: str
    answers: AnsweredOptions


def answer_columns(way: OptionsWay) -> tuple[Column, ...]:
    """What the answers of a question's options are scored by."""
    return (
        *option_columns("answer", _ANSWERS, way),
        Column("answer_count", "number", _ANSWERS, 1, _NUMBER_NOTE, unit="value"),
        Column("different_answers", "different", _ANSWERS, 1, unit="value"),
        Column("form_errors", "form\nerrors", _ANSWERS, note=_FORMAT_NOTE),
        Column(
            "option_exact",
            "EM",
            _GOLD,
            note=_GOLD_NOTE,
            total=Total((_PLACED[0], _PLACED[2]), _share),
        ),
        Column(
            "option_accuracy",
            "accuracy",
            _GOLD,
            role="headline",
            total=Total((_PLACED[1], _PLACED[2]), _share),
        ),
    )


def answer_metrics(item: AnsweredItem, way: OptionsWay, *, format_error: bool) -> Metrics:
    """Values of `answer_columns` and of their sums; a question with one reading has no gold."""
    said = [bare_answer(text) for _, texts in said_answers(item.prediction) for text in texts]
    gold = [[bare_answer(form) for form in forms] for forms in gold_answers(item.question)]
    return {
        **option_metrics("answer", way.sums(said, gold)),
        "answer_count": float(len(said)),
        "different_answers": float(len(set(said))),
        "form_errors": float(format_error),
        **_of_gold_options(item, gold),
    }


def _of_gold_options(item: AnsweredItem, gold: Sequence[Sequence[str]]) -> Metrics:
    answered = said_answers(item.prediction)
    if tuple(name for name, _ in answered) != gold_options(item.question) or not gold:
        return dict.fromkeys((*_PLACED, "option_exact", "option_accuracy"))
    exact = contains = 0.0
    for (_, texts), forms in zip(answered, gold, strict=True):
        bare = [bare_answer(text) for text in texts]
        exact += any(text in forms for text in bare)
        contains += any(form in text for text in bare for form in forms)
    sums = (exact, contains, float(len(gold)))
    return {
        **dict(zip(_PLACED, sums, strict=True)),
        "option_exact": _share(exact, sums[2]),
        "option_accuracy": _share(contains, sums[2]),
    }


def answers_beside(question: Question, prediction: Prediction) -> list[Beside]:
    """Gold options with their answers beside the predicted answers that stand for them; the only
    reading of a question stands for itself."""
    named = [one for one in question.branches if one.name != DEFAULT_BRANCH]
    only = [one for one in question.branches if one.name == DEFAULT_BRANCH]
    said = [(name, (text,)) for name, texts in said_answers(prediction) for text in texts]
    found = options_beside(
        [(one.name, [answer.text for answer in one.answers]) for one in named],
        [[bare_answer(form) for form in forms] for forms in gold_answers(question)],
        said,
        [bare_answer(text) for _, (text,) in said],
    )
    texts = ((one.name, [answer.text for answer in one.answers]) for one in only)
    return [*found, *(Beside(gold, None) for gold in texts)]


class ClarifiedTask(AskedBackTask):
    """Answers to the options of its own clarification question, or of the gold one."""

    name = "clarified"
    version = 2
    names_evidence = True
    flow = CLARIFIED

    def __init__(self, way: OptionsWay = SUBSTRING) -> None:
        self.way = way
        self.matcher = way.matcher
        self.columns = answer_columns(way)

    def score(self, item: AnsweredItem) -> Metrics:
        """Answers' addends, and how many there are; all None for a question with one reading."""
        if not gold_answers(item.question):
            found = answer_metrics(item, self.way, format_error=False)
            return dict.fromkeys(found)
        asked = read_asked(said_question(item.prediction), as_published=self.way.as_published)
        return answer_metrics(item, self.way, format_error=is_format_error(item, asked))

    def read_output(self, data: Any) -> Any:
        return read_output(ClarifiedOutput, data)

    def beside(self, question: Question, prediction: Prediction) -> list[Beside]:
        """Answers as they are scored."""
        return answers_beside(question, prediction)


def read_output(model: type[ClarifiedOutput], data: Any) -> dict[str, Any]:
    """An output whose answers are pairs of an option and its texts. Raises FormatError."""
    found = read_model(model, data)
    for n, (name, texts) in enumerate(found["answers"]):
        if not isinstance(name, str) or not isinstance(texts, list):
            raise FormatError(f'answers.{n}: is not ["OPTION", ["answer", ...]]')
    return found
