"""CAmbigNQ's tasks that ask back: the question back, an answer to each option, and all in a row."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from branchwise.agents.prediction import FormatError, Prediction
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
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL
from branchwise.graphs.pipeline import CLARIFICATION, OPTION_ANSWERS, VERDICT, with_answers


class AskedBackTask(Task):
    """A task of questions that are asked back; `way`: how options and answers are compared."""

    names_evidence = True

    def __init__(self, way: OptionsWay = SUBSTRING) -> None:
        self.way, self.matcher, self.columns = way, way.matcher, self.columns_by(way)

    @abstractmethod
    def columns_by(self, way: OptionsWay) -> tuple[Column, ...]: ...

    def asked(self, item: AnsweredItem) -> AskedBack:
        return read_asked(said_question(item.prediction), as_published=self.way.as_published)

    def message(self, question: Question, flow: Flow, *, has_tools: bool) -> str:
        """The question; by a protocol that tells the gold answers these, of all readings, in an
        order that says nothing of the gold's own."""
        message = super().message(question, flow, has_tools=has_tools)
        if not flow.tells_answers:
            return message
        gold = (one_line(answer.text) for own in question.branches for answer in own.answers)
        return with_answers(message, shuffled(question, gold))

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
_HEAD_NOTE = (
    'category BLEU-1: without "Which" and what is before it; with Which: with them, as the '
    "published code counts"
)
_BLEU_ORDERS = {"bleu4": 4, "category_bleu1": 1, "head_bleu1": 1}
"""Columns of BLEU, of n-grams up to so many words."""


class _AskedOutput(BaseModel, extra="ignore", strict=True):
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
    """One question back, scored as a whole (BLEU-4), by category (exact match, BLEU-1) and options;
    without a gold question by the names of branches alone."""

    name = "clarification"
    version = 2
    flow = ASKED_BACK

    def columns_by(self, way: OptionsWay) -> tuple[Column, ...]:
        bleu4, bleu1, of_head = (
            Total(bleu_names(key, order), corpus_bleu) for key, order in _BLEU_ORDERS.items()
        )
        return (
            Column("bleu4", "BLEU-4", _QUESTION, 3, _BLEU_NOTE, role="headline", total=bleu4),
            Column("category_exact", "category\nEM", _QUESTION, role="exact"),
            Column("category_bleu1", "category\nBLEU-1", _QUESTION, note=_HEAD_NOTE, total=bleu1),
            Column("head_bleu1", "BLEU-1\nwith Which", _QUESTION, total=of_head),
            *option_columns("option", _OPTIONS, way),
            Column("option_count", "options\nnumber", _OPTIONS, 1, unit="value"),
            Column("form_errors", "form\nerrors", _OPTIONS, note=_ASKED_FORMAT_NOTE),
        )

    def score(self, item: AnsweredItem) -> Metrics:
        """Options' addends, the counts of both BLEUs, and whether the category is gold's."""
        asked = self.asked(item)
        wanted = gold_options(item.question, as_published=self.way.as_published)
        if not wanted:
            unscored = [column.key for column in self.columns if not column.total]
            none = {**option_metrics("option", None), **_whole(asked, None)}
            return {**dict.fromkeys(unscored), **none}
        gold = gold_asked(item.question, as_published=self.way.as_published)
        sums = self.way.sums(asked.options, [[name] for name in wanted])
        return {
            **option_metrics("option", sums),
            **_whole(asked, gold),
            "option_count": float(len(asked.options)),
            "form_errors": float(is_format_error(item, asked)),
        }

    def read_output(self, data: Any) -> Any:
        return read_model(_AskedOutput, data)

    def gold_prediction(self, question: Question) -> Prediction:
        return Prediction(task_output={CLARIFICATION: gold_text(question)})

    def beside(
        self, question: Question, prediction: Prediction, protocol: str = DEFAULT_PROTOCOL
    ) -> list[Beside]:
        options, gold = read_asked(said_question(prediction)).options, gold_options(question)
        wanted, offered = ([(name, ()) for name in names] for names in (gold, options))
        return options_beside(wanted, [[name] for name in gold], offered, options)


def _whole(asked: AskedBack, gold: AskedBack | None) -> Metrics:
    """Of the question said and the gold one; a gold one that is not of the form has no category."""
    gold = gold or AskedBack()
    # The published code knows the category with its "Which" alone.
    bare = "" if gold.category == gold.head else gold.category
    return {
        **_bleu("bleu4", asked.text, gold.text),
        "category_exact": float(asked.category == gold.category) if gold.category else None,
        **_bleu("category_bleu1", asked.category, bare),
        **_bleu("head_bleu1", asked.head, gold.head),
    }


def _bleu(key: str, text: str, gold: str) -> Metrics:
    order = _BLEU_ORDERS[key]
    names = bleu_names(key, order)
    if not gold:
        return dict.fromkeys((key, *names))
    counts = bleu_counts(text, gold, order)
    return {key: corpus_bleu(*counts), **dict(zip(names, counts, strict=True))}


_ANSWERS, _GOLD = "answers to the options", "where the options are gold"
_NUMBER_NOTE = "number, different: answers of a question, and different ones among them"
_GOLD_NOTE = (
    "EM, accuracy: share of gold options whose answer is a gold form, or contains one; only where "
    "the options that were answered are the gold ones"
)
_FORMAT_NOTE = "form errors: share of texts that are no question of the form"
_PLACED = ("answer_exact", "answer_contains", "answers_placed")

AnsweredOptions = list[Annotated[list[str | list[str]], Field(min_length=2, max_length=2)]]


class ClarifiedOutput(BaseModel, extra="ignore", strict=True):
    """The question that was asked back, and for each of its options the texts of its answer."""

    clarification_question: str
    answers: AnsweredOptions


def answer_metrics(
    item: AnsweredItem, way: OptionsWay, *, format_error: bool, least: int = 0
) -> Metrics:
    """Values of the columns of answers and of their sums; fewer answers than `least` count as so
    many."""
    given = [bare_answer(text) for _, texts in said_answers(item.prediction) for text in texts]
    gold = [[bare_answer(form) for form in forms] for forms in gold_answers(item.question)]
    sums = way.sums(given, gold)
    return {
        **option_metrics("answer", sums._replace(predicted=max(sums.predicted, least))),
        "answer_count": float(len(given)),
        "different_answers": float(len(set(given))),
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


class ClarifiedTask(AskedBackTask):
    """Answers to the options of its own clarification question, or of the gold one."""

    name = "clarified"
    version = 3
    flow = CLARIFIED

    def columns_by(self, way: OptionsWay) -> tuple[Column, ...]:
        exact, contains = (Total((part, _PLACED[2]), share) for part in _PLACED[:2])
        return (
            *option_columns("answer", _ANSWERS, way),
            Column("answer_count", "number", _ANSWERS, 1, _NUMBER_NOTE, unit="value"),
            Column("different_answers", "different", _ANSWERS, 1, unit="value"),
            Column("form_errors", "form\nerrors", _ANSWERS, note=_FORMAT_NOTE),
            Column("option_exact", "EM", _GOLD, note=_GOLD_NOTE, total=exact),
            Column("option_accuracy", "accuracy", _GOLD, role="headline", total=contains),
        )

    def score(self, item: AnsweredItem) -> Metrics:
        """Answers' addends, and how many there are; all None for a question with one reading."""
        is_wrong = is_format_error(item, self.asked(item))
        metrics = answer_metrics(item, self.way, format_error=is_wrong)
        return metrics if gold_answers(item.question) else dict.fromkeys(metrics)

    def read_output(self, data: Any) -> Any:
        return read_output(ClarifiedOutput, data)

    def gold_prediction(self, question: Question) -> Prediction:
        named = super().gold_prediction(question).answers
        answers = {name: texts for name, texts in named.items() if name != DEFAULT_BRANCH}
        pairs = [(name, list(texts)) for name, texts in answers.items()]
        output = {CLARIFICATION: gold_text(question), OPTION_ANSWERS: pairs}
        return Prediction(answers=answers, task_output=output)

    def beside(
        self, question: Question, prediction: Prediction, protocol: str = DEFAULT_PROTOCOL
    ) -> list[Beside]:
        """Gold options with their answers beside the predicted answers that stand for them; the
        only reading of a question stands for itself."""
        gold = [(own.name, [answer.text for answer in own.answers]) for own in question.branches]
        given = [(name, (text,)) for name, texts in said_answers(prediction) for text in texts]
        pairs = options_beside(
            [own for own in gold if own[0] != DEFAULT_BRANCH],
            [[bare_answer(form) for form in forms] for forms in gold_answers(question)],
            given,
            [bare_answer(text) for _, (text,) in given],
        )
        return [*pairs, *(Beside(own, None) for own in gold if own[0] == DEFAULT_BRANCH)]


def read_output(model: type[ClarifiedOutput], data: Any) -> dict[str, Any]:
    """An output whose answers are pairs of an option and its texts. Raises FormatError."""
    output = read_model(model, data)
    for n, (name, texts) in enumerate(output["answers"]):
        if not isinstance(name, str) or not isinstance(texts, list):
            raise FormatError(f'answers.{n}: is not ["OPTION", ["answer", ...]]')
    return output


_DETECTS = AmbiguityTask()
_NOT_HERE = "none_listed"


class _ClarifyOutput(ClarifiedOutput):
    # Of a question that was called unambiguous there is no more to say.
    ambiguous: bool
    clarification_question: str = ""
    answers: AnsweredOptions = Field(default_factory=list)


class ClarifyTask(ClarifiedTask):
    """The whole pipeline, scored by the answers to ambiguous questions, and detection, of all. As
    in the published code, an ambiguous question that was called unambiguous, or got no answer,
    counts as answered once, wrongly."""

    name = "clarify"
    version = 2
    flow = CLARIFY
    live = LIVE

    def columns_by(self, way: OptionsWay) -> tuple[Column, ...]:
        detected = [replace(own, role=None) for own in _DETECTS.columns if own.key != _NOT_HERE]
        return (*super().columns_by(way), *detected)

    def score(self, item: AnsweredItem) -> Metrics:
        output = item.prediction.task_output
        asks = not isinstance(output, dict) or output.get(VERDICT, False)
        is_wrong = bool(asks) and is_format_error(item, self.asked(item))
        answers = answer_metrics(item, self.way, format_error=is_wrong, least=1)
        if not (item.question.ambiguous and gold_answers(item.question)):
            answers = dict.fromkeys(answers)
        detected = {k: v for k, v in _DETECTS.score(item).items() if k != _NOT_HERE}
        return {**answers, **detected}

    def read_output(self, data: Any) -> Any:
        return read_output(_ClarifyOutput, data)

    def gold_prediction(self, question: Question) -> Prediction:
        gold = super().gold_prediction(question)
        return gold.model_copy(
            update={"task_output": {VERDICT: question.ambiguous, **gold.task_output}}
        )
