"""What an item says and what is gold of it, for the tasks that ask a clarification question back.

Gold options are the question's named branches, or what its own clarification question offers; a
question with one reading has none. Predicted ones come from `prediction.task_output`.

BLEU of a question set (Papineni et al. 2002) is a function of counts that are summed over its
questions; tokens and signature are sacrebleu's (Post 2018). It is not smoothed: n-grams that are
nowhere right make it 0, and multiplying all counts by one number changes nothing.
"""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log
from typing import TYPE_CHECKING

from branchwise.agents.prediction import Prediction
from branchwise.corpora.clarification import (
    ClarificationFormatError,
    ClarificationQuestion,
    parse_clarification,
)
from branchwise.corpora.questions import DEFAULT_BRANCH, Question
from branchwise.eval.common_text import compared
from branchwise.eval.tasks.cambignq.option_scores import published_parse
from branchwise.graphs.pipeline import CLARIFICATION, OPTION_ANSWERS

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

_ONE = "one"
"""The category of options of which it is not known what they are."""
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class AskedBack:
    """A clarification question: its text, and what it was read as; `head`: the category with its
    "Which". Without a text nothing was asked. A text that is not of the form `is_of_form` no more,
    and has neither category nor options."""

    text: str = ""
    head: str = ""
    category: str = ""
    options: tuple[str, ...] = ()
    is_of_form: bool = True


def read_asked(text: str, *, as_published: bool = False) -> AskedBack:
    """A clarification question; `as_published` by the parser of the published code, whose category
    is the whole head, and which reads something out of every text."""
    if not text.strip():
        return AskedBack()
    if as_published:
        head, options = published_parse(text)
        return AskedBack(text, head, head, options)
    try:
        parsed = parse_clarification(text)
    except ClarificationFormatError:
        return AskedBack(text, is_of_form=False)
    return AskedBack(text, text.partition(":")[0].strip(), parsed.category, parsed.options)


def gold_asked(question: Question, *, as_published: bool = False) -> AskedBack | None:
    """The gold clarification question; None where the question set has none."""
    text = question.meta.get(CLARIFICATION)
    if not isinstance(text, str) or not text.strip():
        return None
    return read_asked(text, as_published=as_published)


def gold_options(question: Question, *, as_published: bool = False) -> tuple[str, ...]:
    """What the gold question offers, or else the names of the branches."""
    gold = gold_asked(question, as_published=as_published)
    named = tuple(own.name for own in question.branches if own.name != DEFAULT_BRANCH)
    return gold.options if gold and gold.options and named else named


def gold_text(question: Question) -> str:
    """The gold question as it is asked back: without one of the form, one that offers the names of
    the branches. Empty for a question with one reading."""
    gold, options = gold_asked(question), gold_options(question)
    if gold and gold.options == options:
        return gold.text
    return ClarificationQuestion(_ONE, options).text if options else ""


def gold_answers(question: Question) -> list[list[str]]:
    return [
        [form for answer in branch.answers for form in answer.forms]
        for branch in question.branches
        if branch.name != DEFAULT_BRANCH
    ]


def said_question(prediction: Prediction) -> str:
    """The text of the clarification question that was asked; empty where none was."""
    output = prediction.task_output
    return output.get(CLARIFICATION, "") if isinstance(output, dict) else ""


def said_answers(prediction: Prediction) -> list[tuple[str, Sequence[str]]]:
    """Each option that was answered, with its texts, in order; a name may be there twice."""
    output = prediction.task_output
    if not isinstance(output, dict):
        return list(prediction.answers.items())
    return [(name, texts) for name, texts in output.get(OPTION_ANSWERS, ())]


def bare_answer(text: str) -> str:
    """As answers are compared: in lower case, without punctuation, articles and further spaces. A
    text of which nothing would be left keeps what it has: "The A" and "!" are answers, too."""
    lower = text.lower()
    bare = " ".join(_ARTICLES.sub(" ", lower.translate(_PUNCTUATION)).split())
    return bare or " ".join(lower.split())


def bleu_names(key: str, order: int) -> tuple[str, ...]:
    counted = (f"{part}{n}" for part in ("right", "said") for n in range(1, order + 1))
    return tuple(f"{key}_{name}" for name in ("length", "gold_length", *counted))


def bleu_counts(text: str, gold: str, order: int) -> tuple[float, ...]:
    """A question's addends: tokens of both texts, n-grams that are right by n, n-grams by n. Of
    each text, no more than `compared` counts."""
    bleu = _bleu(order).corpus_score([compared(text)], [[compared(gold)]])
    return tuple(map(float, (bleu.sys_len, bleu.ref_len, *bleu.counts, *bleu.totals)))


def corpus_bleu(length: float, gold_length: float, *counts: float) -> float | None:
    """BLEU, 0 to 1, of such counts summed over questions; None without any gold text. Its own
    arithmetic, as sacrebleu's takes whole numbers alone, and means over epochs are none."""
    if not gold_length:
        return None
    order = len(counts) // 2
    right, totals = counts[:order], counts[order:]
    if not all(right):
        return 0.0
    brevity = min(0.0, 1 - gold_length / length)
    return exp(brevity + sum(log(r / n) for r, n in zip(right, totals, strict=True)) / order)


@cache
def _bleu(order: int) -> "BLEU":
    # Loading it takes a tenth of a second, which only these scores should cost.
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(smooth_method="none", max_ngram_order=order)
