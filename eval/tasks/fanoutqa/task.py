"""The task `fanoutqa`: answers under the names of things, and FanOutQA's accuracy beside sets.

A gold branch is a thing that is asked about, its name part of the answer. Loose accuracy (Zhu et
al. 2024, section 4) is the share of gold strings found in the written answer. Texts are compared in
lower case, without thousands commas, the signs , . ? ! : ; and further white space; a gold string
is found where its words stand together. The published code also lemmatises each text on its own, so
that "Left" (leave) is not found in "left - right", and sets a word boundary before every string, so
that none that begins with a sign ("$5 billion") is ever found. Neither is done here
(docs/benchmarks/fanoutqa.md says what that changes).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

from branchwise.corpora.questions import DEFAULT_BRANCH, GoldSet
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks.branches.task import BRANCHES, BranchesTask
from branchwise.eval.tasks.task import Column, Metrics

_THOUSANDS = re.compile(r"(?<=\d),(?=\d)")
_SIGNS = str.maketrans("", "", ",.?!:;") | str.maketrans("‘’ʼ“”", "'''\"\"")


def found_strings(gold: Sequence[Sequence[str]], written: str) -> int:
    """How many of the gold strings, each in any of its forms, stand in the written answer."""
    text = loose(written)

    def stands(words: str) -> bool:
        # A plain search first: most strings that are not there are nowhere at all.
        if not words or words not in text:
            return False
        return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None

    return sum(any(stands(loose(form)) for form in forms) for forms in gold)


def loose(text: str) -> str:
    folded = unicodedata.normalize("NFC", text).lower()
    return " ".join(_THOUSANDS.sub("", folded).translate(_SIGNS).split())


KEYED = replace(
    BRANCHES,
    name="keyed",
    prompts={"search": "keyed_with_tools", "direct": "keyed_directly"},
    readings="keyed_readings",
    reading="",
)

_TABLE = "FanOutQA's accuracy"
_LOOSE_NOTE = "loose: share of the gold keys and values that stand in the answer; not lemmatised"
_STRICT_NOTE = "all: share of questions in which all of them do (FanOutQA's strict accuracy)"
LOOSE, ALL_FOUND = "loose_accuracy", "strict_accuracy"


class FanOutQATask(BranchesTask):
    """Answers under branch names, and their strings in the answer as one text."""

    name = "fanoutqa"
    version = 2
    flow = KEYED
    columns: tuple[Column, ...] = (
        *BranchesTask.columns,
        Column(
            LOOSE,
            "accuracy\nloose",
            _TABLE,
            note=_LOOSE_NOTE,
            role="headline",
            short="loose",
            words="loose accuracy",
        ),
        Column(ALL_FOUND, "accuracy\nall", _TABLE, note=_STRICT_NOTE),
    )

    def score(self, item: AnsweredItem) -> Metrics:
        """The scores of `branches` and both accuracies; None without gold."""
        gold = list(_strings(item.question.branches))
        loose = found_strings(gold, "\n".join(_lines(item))) / len(gold) if gold else None
        whole = None if loose is None else float(loose == 1)
        return {**super().score(item), LOOSE: loose, ALL_FOUND: whole}


def _strings(branches: GoldSet) -> Iterator[tuple[str, ...]]:
    for branch in branches:
        if branch.name != DEFAULT_BRANCH:
            yield (branch.name,)
        yield from (answer.forms for answer in branch.answers)


def _lines(item: AnsweredItem) -> Iterator[str]:
    """The answer written out, a line a branch: "name - answer, answer"."""
    for name, texts in item.prediction.answers.items():
        listed = ", ".join(texts)
        yield listed if name == DEFAULT_BRANCH else f"{name} - {listed}"
