"""The films example: its corpus is well formed, and its gold answers stand in its passages."""

import json
import re
import unicodedata
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from branchwise.corpora.questions import DEFAULT_BRANCH, Question

FILMS = Path(__file__).parents[2] / "examples" / "films"


def records(name: str) -> list[dict[str, Any]]:
    lines = (FILMS / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


CORPUS: list[dict[str, Any]] = records("corpus.jsonl")
CONTENTS: dict[str, str] = {record["id"]: record["contents"] for record in CORPUS}
QUESTIONS = [Question.model_validate(record) for record in records("questions.jsonl")]
AMBIGUOUS = [question for question in QUESTIONS if question.ambiguous]
TWO_HOPS = [question for question in QUESTIONS if question.meta["hops"] == 2]


def words(text: str) -> str:
    """Words without case or accents, one space around each, so that `in` compares whole words."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return f" {' '.join(re.findall(r'[a-z0-9]+', plain))} "


def title(contents: str) -> str:
    return contents.split("\n", 1)[0]


def subject(passage_id: str) -> str:
    """The id without the number of a continuation: king-kong-1976-film-2 -> king-kong-1976-film."""
    return re.sub(r"-[2-9]$", "", passage_id)


def named(question: Question) -> str:
    return question.id


def test_whole_words_are_compared_without_case_and_accents() -> None:
    assert words("Édgar RAMÍREZ") in words("and edgar ramirez, the leader")
    assert words("Ali") not in words("Alien")


def test_corpus_is_in_flashrag_format_with_unique_ids() -> None:
    assert 140 <= len(CORPUS) <= 180
    assert all(record.keys() == {"id", "contents"} for record in CORPUS)
    assert len(CONTENTS) == len(CORPUS)
    assert all(re.fullmatch(r"[a-z0-9-]+", passage_id) for passage_id in CONTENTS)


def test_every_passage_has_one_title_line_and_a_short_text() -> None:
    for passage_id, contents in CONTENTS.items():
        head, text = contents.split("\n")
        assert head.strip(), passage_id
        assert 40 <= len(text.split()) <= 110, passage_id


def test_no_two_passages_have_the_same_text() -> None:
    assert len({words(contents.split("\n", 1)[1]) for contents in CONTENTS.values()}) == len(CORPUS)


def test_a_title_belongs_to_one_subject_and_continuations_keep_it() -> None:
    subjects: dict[str, set[str]] = {}
    for passage_id, contents in CONTENTS.items():
        subjects.setdefault(title(contents), set()).add(subject(passage_id))
        assert title(contents) == title(CONTENTS[subject(passage_id)])
    assert {name: ids for name, ids in subjects.items() if len(ids) > 1} == {}


def test_there_are_enough_questions_of_each_kind() -> None:
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS) >= 28
    assert 2 * len(AMBIGUOUS) >= len(QUESTIONS)
    assert len(QUESTIONS) - len(AMBIGUOUS) >= 12
    assert len(TWO_HOPS) >= 6


def test_answer_sets_range_from_one_to_ten_and_many_have_several_answers() -> None:
    sizes = [len(branch.answers) for question in QUESTIONS for branch in question.branches]
    assert min(sizes) >= 1
    assert max(sizes) <= 10
    assert {2, 3, 4, 5, 7, 9} <= set(sizes)


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
def test_an_unambiguous_question_has_the_default_branch_alone(question: Question) -> None:
    names = [branch.name for branch in question.branches]
    assert (names == [DEFAULT_BRANCH]) is not question.ambiguous


@pytest.mark.parametrize("question", QUESTIONS, ids=named)
def test_every_answer_stands_in_a_passage_of_its_support(question: Question) -> None:
    for answer in (answer for branch in question.branches for answer in branch.answers):
        assert answer.support
        assert set(answer.support) <= CONTENTS.keys()
        passages = [words(CONTENTS[passage_id]) for passage_id in answer.support]
        assert any(words(form) in text for form in answer.forms for text in passages), answer.text


@pytest.mark.parametrize("question", QUESTIONS, ids=named)
def test_no_form_belongs_to_two_answers_of_a_branch(question: Question) -> None:
    for branch in question.branches:
        forms = [{words(form) for form in answer.forms} for answer in branch.answers]
        assert all(one.isdisjoint(other) for one, other in combinations(forms, 2))


@pytest.mark.parametrize("question", TWO_HOPS, ids=named)
def test_two_hops_are_supported_by_the_passages_of_both(question: Question) -> None:
    for answer in (answer for branch in question.branches for answer in branch.answers):
        assert len({subject(passage_id) for passage_id in answer.support}) >= 2, answer.text
