"""CAmbigNQ's tasks that ask back: the question back, an answer to each option, and all in a row."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.agents.format_error import FormatError
from branchwise.agents.prediction import Prediction
from branchwise.base.text import one_line
from branchwise.corpora.questions import DEFAULT_BRANCH, Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks.cambignq.ambiguity import AmbiguityTask, share
from branchwise.eval.tasks.cambignq.clarifications import (
    AskedBack,
    bare_answer,
    bleu_counts,
    bleu_names,
    corpus_bleu,
    gold_answers,
    gold_asked,
    gold_options,
    gold_text,
    read_asked,
    said_answers,
    said_question,
)
from branchwise.eval.tasks.cambignq.flows import ASKED_BACK, CLARIFIED, CLARIFY, LIVE
from branchwise.eval.tasks.cambignq.option_scores import (
    SUBSTRING,
    OptionsWay,
    option_columns,
    option_metrics,
    options_beside,
)
from branchwise.eval.tasks.task import Beside, Column, Metrics, Task, Total, shuffled
from branchwise.graphs.flows import Flow
from branchwise.graphs.pipeline import VERDICT, with_answers


class AskedBackTask(Task):
    """A task of questions that are asked back."""

    def message(self, question: Question, flow: Flow, *, has_tools: bool) -> str:
        """The question; by a protocol that tells the gold answers these, of all readings, in an
        order that says nothing of the gold's own."""
        message = super().message(question, flow, has_tools=has_tools)
        if not flow.tells_answers:
            return message
        told = (one_line(answer.text) for one in question.branches for answer in one.answers)
        return with_answers(message, shuffled(question, told))

    def asked_back(self, question: Question, flow: Flow) -> str:
        return gold_text(question) if flow.tells_question else ""


_QUESTION, _OPTIONS = "clarification question", "options"
_BLEU_NOTE = (
    "BLEU: of all questions together, by sacrebleu's counts "
    "(nrefs:1|case:mixed|eff:no|tok:13a|smooth:none)"
)
_ASKED_FORMAT_NOTE = (
    "form errors: share of texts that are no question of the form; they offer nothing"
)
WHOLE, CATEGORY = 4, 1
"""Orders of BLEU."""


class _AskedOutput(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    clarification_question: str


def read_model(model: type[BaseModel], data: Any) -> dict[str, Any]:
    """A `task_output` of the model's shape, as JSON has it. Raises FormatError."""
    try:
        return model.model_validate(data).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise FormatError(f"{place}: {first['msg']}") from None


def is_format_error(item: AnsweredItem, asked: AskedBack) -> bool:
    """Whether an answer that came holds no question of the form."""
    came = item.error is None and item.how != "missing"
    return came and not (asked.text and asked.is_of_form)


class ClarificationTask(AskedBackTask):
    """One question back, scored against the gold one and against the gold readings."""

    name = "clarification"
    version = 1
    names_evidence = True
    flow = ASKED_BACK

    def __init__(self, way: OptionsWay = SUBSTRING) -> None:
        self.way = way
        self.matcher = way.matcher
        self.columns = (
            Column(
                "bleu4",
                "BLEU-4",
                _QUESTION,
                3,
                _BLEU_NOTE,
                role="headline",
                total=Total(bleu_names(WHOLE), corpus_bleu),
            ),
            Column("category_exact", "category\nEM", _QUESTION, role="exact"),
            Column(
                "category_bleu1",
                "category\nBLEU-1",
                _QUESTION,
                total=Total(bleu_names(CATEGORY), corpus_bleu),
            ),
            *option_columns("option", _OPTIONS, way),
            Column("option_count", "options\nnumber", _OPTIONS, 1, unit="value"),
            Column("form_errors", "form\nerrors", _OPTIONS, note=_ASKED_FORMAT_NOTE),
        )

    def score(self, item: AnsweredItem) -> Metrics:
        """Options' addends, the counts of both BLEUs, and whether the category is gold's."""
        wanted = gold_options(item.question, as_published=self.way.as_published)
        if not wanted:
            unscored = [column.key for column in self.columns if not column.total]
            return {**dict.fromkeys(unscored), **option_metrics("option", None), **_whole(None)}
        asked = read_asked(said_question(item.prediction), as_published=self.way.as_published)
        gold = gold_asked(item.question, as_published=self.way.as_published)
        forms = [[option] for option in wanted]
        return {
            **option_metrics("option", self.way.sums(asked.options, forms)),
            **_whole((asked, gold) if gold else None),
            "option_count": float(len(asked.options)),
            "form_errors": float(is_format_error(item, asked)),
        }

    def read_output(self, data: Any) -> Any:
        return read_model(_AskedOutput, data)

    def beside(self, question: Question, prediction: Prediction) -> list[Beside]:
        """Options as they are scored."""
        options, gold = read_asked(said_question(prediction)).options, gold_options(question)
        wanted, said = [(one, ()) for one in gold], [(one, ()) for one in options]
        return options_beside(wanted, [[one] for one in gold], said, options)


def _whole(pair: tuple[AskedBack, AskedBack] | None) -> Metrics:
    """Of the question said and the gold one; a gold one that is not of the form has no category."""
    if pair is None:
        return {**_bleu_metrics("bleu4", WHOLE), **_category(None)}
    said, gold = pair
    return {**_bleu_metrics("bleu4", WHOLE, (said.text, gold.text)), **_category(pair)}


def _category(pair: tuple[AskedBack, AskedBack] | None) -> Metrics:
    if pair is None or not pair[1].category:
        return {"category_exact": None, **_bleu_metrics("category_bleu1", CATEGORY)}
    said, gold = pair[0].category, pair[1].category
    exact = {"category_exact": float(said == gold)}
    return {**exact, **_bleu_metrics("category_bleu1", CATEGORY, (said, gold))}


def _bleu_metrics(key: str, order: int, texts: tuple[str, str] | None = None) -> Metrics:
    if texts is None:
        return dict.fromkeys((key, *bleu_names(order)))
    counts = bleu_counts(*texts, order)
    return {key: corpus_bleu(*counts), **dict(zip(bleu_names(order), counts, strict=True))}


_ANSWERS, _GOLD = "answers to the options", "where the options are gold"
_NUMBER_NOTE = "number, different: answers of a question, and different ones among them"
_GOLD_NOTE = (
    "EM, accuracy: share of gold options whose answer is a gold form, or contains one; only where "
    "the options that were answered are the gold ones"
)
_FORMAT_NOTE = "form errors: share of texts that are no question of the form"
_PLACED = ("answer_exact", "answer_contains", "answers_placed")


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
            total=Total((_PLACED[0], _PLACED[2]), share),
        ),
        Column(
            "option_accuracy",
            "accuracy",
            _GOLD,
            role="headline",
            total=Total((_PLACED[1], _PLACED[2]), share),
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
        "option_exact": share(exact, sums[2]),
        "option_accuracy": share(contains, sums[2]),
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


_DETECTS = AmbiguityTask()
_NOT_HERE = "none_listed"


class _ClarifyOutput(ClarifiedOutput):
    # Of a question that was called unambiguous there is no more to say.
    ambiguous: bool
    clarification_question: str = ""
    answers: AnsweredOptions = Field(default_factory=list)


class ClarifyTask(AskedBackTask):
    """The whole pipeline, scored by its answers; detection stands beside them."""

    name = "clarify"
    version = 1
    names_evidence = True
    flow = CLARIFY
    live = LIVE

    def __init__(self, way: OptionsWay = SUBSTRING) -> None:
        self.way = way
        self.matcher = way.matcher
        found = [replace(one, role=None) for one in _DETECTS.columns if one.key != _NOT_HERE]
        self.columns = (*answer_columns(way), *found)

    def score(self, item: AnsweredItem) -> Metrics:
        """Answers' addends and detection's counts."""
        asked = read_asked(said_question(item.prediction), as_published=self.way.as_published)
        output = item.prediction.task_output
        asks = not isinstance(output, dict) or output.get(VERDICT, False)
        wrong = bool(asks) and is_format_error(item, asked)
        detected = {k: v for k, v in _DETECTS.score(item).items() if k != _NOT_HERE}
        return {**answer_metrics(item, self.way, format_error=wrong), **detected}

    def read_output(self, data: Any) -> Any:
        return read_output(_ClarifyOutput, data)

    def beside(self, question: Question, prediction: Prediction) -> list[Beside]:
        """Answers as they are scored."""
        return answers_beside(question, prediction)
