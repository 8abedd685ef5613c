"""The task `mdcr`: a short answer about several documents, and what must also be true for it.

Documents, scenario and question stand in the user's message, with hints of the gold as the system
wants them. Scored are the short answer and the groups of conditions, as wholes and in part
(`group_scores.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.base.text import one_line
from branchwise.corpora.conditions.documents import ConditionsAnswer
from branchwise.corpora.conditions.question import ConditionsQuestion, gold_answer, unknown_parts
from branchwise.corpora.conditions.solver import equivalent_sentences
from branchwise.corpora.loaders.mdcr import authors_gold
from branchwise.corpora.questions import Gold, Question
from branchwise.eval.errors.labels import ErrorClasses
from branchwise.eval.grouping import Grouping
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks.mdcr.errors import CONDITIONAL_ERRORS, ConditionalCase, ConditionalItem
from branchwise.eval.tasks.mdcr.flow import CROSSED, GROUPINGS, MDCR, message, tells
from branchwise.eval.tasks.mdcr.format import ConditionalOutput
from branchwise.eval.tasks.mdcr.group_scores import (
    NO_GROUPS,
    GroupSums,
    IdGroups,
    as_one,
    exact_sums,
    f1,
    groups_of,
    mapped_groups,
    pair_f1,
    precision,
    recall,
    relaxed_sums,
)
from branchwise.eval.tasks.task import Beside, Column, Metrics, Role, Task, Total
from branchwise.graphs.flows import Brief
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL
from branchwise.graphs.system import DEFAULT_SYSTEM, System

_ANSWERS, _MORE = "conditional answers", "groups of conditions"
_MODULO, _AS_ONE = "modulo_", "groups, equivalent conditions as one"
_EM_NOTE = "EM: the short answer is right, and the groups are exactly the gold ones"
_EXACT_NOTE = "exact: a group is right as a whole or not at all"
_RELAXED_NOTE = "relaxed: a group is right in part, by the best one-to-one mapping"
_MEAN_NOTE = "P, R, F1: of each question, then their means"
_SUMMED_NOTE = "P, R, F1: of all questions together, by sums over their groups"
_AUTHORS_NOTE = "gold: as the program of the paper's authors gives it; P, R, F1: as by default"
_PAIRS_NOTE = (
    "relaxed F1: of a question, the mean F1 of its mapped groups; one without a partner: 0"
)

_SUMS = {"exact": exact_sums, "relaxed": relaxed_sums}
_SHARES = ("precision", "recall")


@dataclass(frozen=True)
class GroupWay:
    """How scores of groups become those of a set, and by whose gold: `variant` names it."""

    variant: str
    matcher: str
    note: str
    is_summed: bool = False
    by_pairs: bool = False
    by_authors: bool = False


BY_QUESTION = GroupWay("", "sets of ids", _MEAN_NOTE)
SUMMED = GroupWay("summed", "sets of ids, summed", _SUMMED_NOTE, is_summed=True)
BY_PAIRS = GroupWay("group-f1", "sets of ids, F1 by group", _PAIRS_NOTE, by_pairs=True)
BY_AUTHORS = GroupWay("authors-gold", "sets of ids, authors' gold", _AUTHORS_NOTE, by_authors=True)

_SUMS_OF: Mapping[str, tuple[Callable[..., float], tuple[str, ...]]] = {
    "precision": (precision, ("right", "said", "gold")),
    "recall": (recall, ("found", "said", "gold")),
    "f1": (f1, GroupSums._fields),
}
"""What each score is made of."""
_SHORT_ANSWER = Column("short_accuracy", "short\nanswer", _ANSWERS, role="headline", short="answer")


def _column(kind: str, score: str, table: str, note: str, way: GroupWay) -> Column:
    of, parts = _SUMS_OF[score]
    total = Total(tuple(f"{kind}_{part}" for part in parts), of) if way.is_summed else None
    name = kind.removeprefix(_MODULO)
    heading = f"{name}\n{'F1' if score == 'f1' else score[0].upper()}"
    is_main = score == "f1" and name == kind
    role: Role | None = "headline" if is_main else None
    short = name if is_main else ""
    return Column(f"{kind}_{score}", heading, table, note=note, role=role, short=short, total=total)


class MDCRTask(Task):
    """Short answers with groups of conditions, scored as sets of sentences' ids."""

    name = "mdcr"
    version = 1
    flow = MDCR
    gold: Gold = "conditions"
    error_classes: ErrorClasses[Any] | None = CONDITIONAL_ERRORS
    hint_words = MappingProxyType(
        {"none": "no hints"}
        | {part: part for part in ("documents", "values", "relations")}
        | {"all": "all hints"}
    )
    # None of its questions is ambiguous.
    subset_words = MappingProxyType({"all": "all", "ambiguous": "ambiguous", "unambiguous": "all"})
    groupings: tuple[Grouping, ...] = GROUPINGS
    crossed: tuple[str, str] | None = CROSSED

    def __init__(self, way: GroupWay = BY_QUESTION) -> None:
        self.way = way
        self.matcher = way.matcher
        self.columns = (
            replace(_SHORT_ANSWER, note=way.note),
            _column("exact", "f1", _ANSWERS, _EXACT_NOTE, way),
            _column("relaxed", "f1", _ANSWERS, _RELAXED_NOTE, way),
            Column("answer_em", "EM", _ANSWERS, note=_EM_NOTE, role="exact"),
            *(_column(kind, score, _MORE, "", way) for kind in _SUMS for score in _SHARES),
            *(_column(_MODULO + kind, of, _AS_ONE, "", way) for kind in _SUMS for of in _SUMS_OF),
        )

    def questions_words(self, subset: str) -> str:
        return "questions"

    def score(self, item: AnsweredItem) -> Metrics:
        """Accuracy of the short answer, and scores of groups: 0 where no answer could be read;
        modulo equivalent conditions None where a file gives no relations or no documents."""
        wanted, answer = self._gold(item.question), _answer(item.prediction)
        short, predicted = answer or ("", NO_GROUPS)
        gold, is_read = _groups(wanted), answer is not None
        asked = ConditionsQuestion.of(item.question) if item.question.passages else None
        is_known = asked is not None and "relations" not in asked.lacks
        stands_for = equivalent_sentences(asked.problem) if asked and is_known else {}
        as_ones = as_one(predicted, stands_for), as_one(gold, stands_for)
        modulo = self._of_groups(_MODULO, *as_ones, is_read=is_read)
        right = float(short == str(wanted.short))
        return {
            "short_accuracy": right,
            "answer_em": right * float(predicted == gold),
            **self._of_groups("", predicted, gold, is_read=is_read),
            **(modulo if is_known else dict.fromkeys(modulo)),
        }

    def _gold(self, question: Question) -> ConditionsAnswer:
        """The question's own, or what follows from its documents in the authors' way."""
        if not self.way.by_authors:
            return gold_answer(question)
        asked = ConditionsQuestion.of(question)
        if asked.lacks:
            problem = (
                f"question {question.id!r}: the authors' gold needs {' and '.join(asked.lacks)}"
            )
            raise InputError(problem, remedy="leave out --variant authors-gold")
        return authors_gold(asked.problem, f"question {question.id!r}")

    def _of_groups(
        self, prefix: str, predicted: IdGroups, gold: IdGroups, *, is_read: bool
    ) -> Metrics:
        scores: dict[str, float] = {}
        for kind, sums_of in _SUMS.items():
            sums, key = sums_of(predicted, gold), f"{prefix}{kind}"
            if self.way.is_summed:
                scores |= {f"{key}_{name}": value for name, value in sums._asdict().items()}
            values = {
                score: of(*(getattr(sums, part) for part in parts))
                for score, (of, parts) in _SUMS_OF.items()
            }
            if kind == "relaxed" and self.way.by_pairs:
                values["f1"] = pair_f1(predicted, gold)
            # No answer is not the same as one without conditions.
            scores |= {f"{key}_{name}": value * is_read for name, value in values.items()}
        return scores

    def examined(self, item: AnsweredItem) -> ConditionalItem:
        answer = _answer(item.prediction)
        if item.error or answer is None:
            return ConditionalItem(None, item.error)
        asked = ConditionsQuestion.of(item.question)
        return ConditionalItem(ConditionalCase(asked, *answer, _groups(asked.gold)))

    def brief(
        self, question: Question, *, has_tools: bool, system: System = DEFAULT_SYSTEM
    ) -> Brief:
        asked = ConditionsQuestion.of(question)
        prompt = self.flow.prompts["search" if has_tools else "given"]
        return Brief(prompt, message(asked, system.asked("hints")), one_line(question.question))

    def check(self, question: Question, system: System, *, has_tools: bool) -> None:
        for part in unknown_parts(question):
            if tells(system.asked("hints"), part):
                problem = f"hints of {part}: the file does not give them"
                raise InputError(problem, remedy="ask with other hints, or none")

    def read_output(self, data: Any) -> Any:
        return self.flow.format.read(data).task_output

    def gold_prediction(self, question: Question) -> Prediction:
        gold = self._gold(question)
        groups = [list(group) for group in gold.groups]
        return Prediction(task_output=ConditionalOutput(answer=str(gold.short), groups=groups))

    def beside(
        self, question: Question, prediction: Prediction, protocol: str = DEFAULT_PROTOCOL
    ) -> Sequence[Beside] | None:
        """The short answers, the mapped groups, the gold ones that were missed, the others."""
        gold, answer = self._gold(question), _answer(prediction)
        short, predicted = answer or ("", NO_GROUPS)
        groups = _groups(gold)
        pairs = mapped_groups(predicted, groups)
        missed = groups - {pair.gold for pair in pairs}
        others = predicted - {pair.predicted for pair in pairs}
        return [
            Beside(("answer", (str(gold.short),)), ("answer", (short,)) if answer else None),
            *(Beside(_shown(p.gold), _shown(p.predicted), [("F1", p.f1)]) for p in pairs),
            *(Beside(_shown(group), None) for group in sorted(missed, key=sorted)),
            *(Beside(None, _shown(group)) for group in sorted(others, key=sorted)),
        ]


def _groups(answer: ConditionsAnswer) -> IdGroups:
    return groups_of(str(answer.short), answer.groups)


def _answer(prediction: Prediction) -> tuple[str, IdGroups] | None:
    """The short answer and its groups as they count; None where none could be read."""
    output: ConditionalOutput | None = prediction.task_output
    return None if output is None else (output["answer"], groups_of(**output))


def _shown(group: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    return "group", tuple(sorted(group))
