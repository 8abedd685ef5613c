"""Short ways to write gold branches and to score a prediction against them."""

from collections.abc import Mapping, Sequence

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.branch_scores import (
    SetScore,
    align_answers,
    gold_branches,
    pooled_score,
    strict_score,
)
from branchwise.eval.items import AnsweredItem, Evidence

Gold = Mapping[str, Sequence[str | Answer]]


def branches(gold: Gold) -> tuple[Branch, ...]:
    """Gold branches from {name: [text or Answer, ...]}."""
    return tuple(
        Branch(
            name=name,
            answers=tuple(a if isinstance(a, Answer) else Answer(text=a) for a in answers),
        )
        for name, answers in gold.items()
    )


def strict(gold: Gold, answers: Mapping[str, Sequence[str]]) -> SetScore:
    scored = gold_branches(branches(gold))
    return strict_score(scored, answers, align_answers(scored, answers))


def pooled(gold: Gold, answers: Mapping[str, Sequence[str]]) -> SetScore:
    return pooled_score(gold_branches(branches(gold)), answers)


def question(id: str, gold: Gold, text: str = "Who?") -> Question:
    return Question(id=id, question=text, ambiguous=len(gold) > 1, branches=branches(gold))


def item(
    id: str,
    gold: Gold,
    answers: Mapping[str, Sequence[str]],
    *,
    epoch: int = 0,
    shown: tuple[str, ...] = (),
    how: str = "strict",
    error: str | None = None,
) -> AnsweredItem:
    prediction = Prediction(answers={name: tuple(texts) for name, texts in answers.items()})
    return AnsweredItem(question(id, gold), prediction, epoch, Evidence(shown), how, error)
