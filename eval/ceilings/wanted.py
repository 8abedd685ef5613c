"""What is looked up of a gold answer to find out whether the tools could have given it."""

from collections.abc import Iterable
from dataclasses import dataclass

from branchwise.corpora.questions import Question
from branchwise.eval.branch_matches import GoldPair
from branchwise.eval.branch_scores import gold_branches


@dataclass(frozen=True)
class Wanted:
    """A gold entity: ids of passages that support it, its ids in a graph, its ways of writing."""

    support: frozenset[str]
    qids: frozenset[str]
    forms: tuple[str, ...]


WantedPairs = dict[str, dict[GoldPair, Wanted]]
"""By question id, what is looked up for each of its gold pairs."""


def wanted_pairs(questions: Iterable[Question]) -> WantedPairs:
    """What to look up for every gold pair of the questions."""
    return {question.id: _of_question(question) for question in questions}


def _of_question(question: Question) -> dict[GoldPair, Wanted]:
    found = {}
    for branch, entities in enumerate(gold_branches(question.branches).sets):
        for number, entity in enumerate(entities.entities):
            answers = entity.answers
            found[GoldPair(branch, number)] = Wanted(
                frozenset(id for answer in answers for id in answer.support),
                entity.qids,
                tuple(sorted({form for answer in answers for form in answer.forms})),
            )
    return found
