"""The films example: its corpus is well formed, and its gold answers stand in its passages."""

import json
import re
import unicodedata
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from branchwise.corpora.questions import Question

FILMS = Path(__file__).parents[2] / "examples" / "films"


def records(name: str) -> list[dict[str, Any]]:
    lines = (FILMS / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


CORPUS: list[dict[str, Any]] = records("corpus.jsonl")
CONTENTS: dict[str, str] = {record["id"]: record["contents"] for record in CORPUS}
QUESTIONS = [Question.model_validate(record) for record in records("questions.jsonl")]
AMBIGUOUS = [question for question in QUESTIONS if question.ambiguous]


def words(text: str) -> str:
    """Words without case or accents, one space around each, so that `in` compares whole words."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return f" {' '.join(re.findall(r'[a-z0-9]+', plain))} "


def title(contents: str) -> str:
    return contents.split("\n", 1)[0]


def named(question: Question) -> str:
    return question.id


@pytest.mark.parametrize("question", AMBIGUOUS, ids=named)
def test_an_ambiguous_question_has_titled_branches_with_different_answers(
    question: Question,
) -> None:
    assert 2 <= len(question.branches) <= 4
    titles = {title(contents) for contents in CONTENTS.values()}
    assert {branch.name for branch in question.branches} <= titles
    assert len({branch.name for branch in question.branches}) == len(question.branches)
    answer_sets = [{words(a.text) for a in branch.answers} for branch in question.branches]
    assert all(one != other for one, other in combinations(answer_sets, 2))


@pytest.mark.parametrize("question", QUESTIONS, ids=named)
def test_every_answer_stands_in_a_passage_of_its_support(question: Question) -> None:
    for answer in (answer for branch in question.branches for answer in branch.answers):
        assert answer.support
        assert set(answer.support) <= CONTENTS.keys()
        passages = [words(CONTENTS[passage_id]) for passage_id in answer.support]
        assert any(words(form) in text for form in answer.forms for text in passages), answer.text
