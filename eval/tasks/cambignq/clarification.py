"""The task `clarification`: a clarification question that offers the readings (CAmbigNQ's second).

Scored are the whole question (BLEU-4), its category (exact match, BLEU-1) and its options; whole
and category only where gold has the question, options by the names of branches else. A question
with one reading has no gold, and is in no score.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.agents.prediction import FormatError, Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks.cambignq.asked_back import AskedBackTask
from branchwise.eval.tasks.cambignq.bleu import bleu_counts, bleu_names, corpus_bleu
from branchwise.eval.tasks.cambignq.clarifications import (
    AskedBack,
    gold_asked,
    gold_options,
    read_asked,
    said_question,
)
from branchwise.eval.tasks.cambignq.flows import CLARIFICATION
from branchwise.eval.tasks.cambignq.options_way import (
    SUBSTRING,
    OptionsWay,
    option_columns,
    option_metrics,
    options_beside,
)
from branchwise.eval.tasks.column import Column, Metrics, Total
from branchwise.eval.tasks.task import Beside

_QUESTION, _OPTIONS = "clarification question", "options"
_BLEU_NOTE = (
    "BLEU: of all questions together, by sacrebleu's counts "
    "(nrefs:1|case:mixed|eff:no|tok:13a|smooth:none)"
)
_FORMAT_NOTE = "form errors: share of texts that are no question of the form; they offer nothing"
WHOLE, CATEGORY = 4, 1
"""Orders of BLEU."""


class _Output(BaseModel):
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
    flow = CLARIFICATION

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
            Column("form_errors", "form\nerrors", _OPTIONS, note=_FORMAT_NOTE),
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
        return read_model(_Output, data)

    def beside(self, question: Question, prediction: Prediction) -> list[Beside]:
        """Options as they are scored."""
        options, gold = read_asked(said_question(prediction)).options, gold_options(question)
        wanted, said = [(one, ()) for one in gold], [(one, ()) for one in options]
        return options_beside(wanted, [[one] for one in gold], said, options)


def _whole(pair: tuple[AskedBack, AskedBack] | None) -> Metrics:
    """Of the question said and the gold one; a gold one that is not of the form has no category."""
    if pair is None:
        return {**_bleu("bleu4", WHOLE), **_category(None)}
    said, gold = pair
    return {**_bleu("bleu4", WHOLE, (said.text, gold.text)), **_category(pair)}


def _category(pair: tuple[AskedBack, AskedBack] | None) -> Metrics:
    if pair is None or not pair[1].category:
        return {"category_exact": None, **_bleu("category_bleu1", CATEGORY)}
    said, gold = pair[0].category, pair[1].category
    exact = {"category_exact": float(said == gold)}
    return {**exact, **_bleu("category_bleu1", CATEGORY, (said, gold))}


def _bleu(key: str, order: int, texts: tuple[str, str] | None = None) -> Metrics:
    if texts is None:
        return dict.fromkeys((key, *bleu_names(order)))
    counts = bleu_counts(*texts, order)
    return {key: corpus_bleu(*counts), **dict(zip(bleu_names(order), counts, strict=True))}
