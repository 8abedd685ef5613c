"""Gold branches and answers as values: small, unchangeable, and as JSON what they are in files."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import orjson
import pytest
from pydantic import ValidationError

from branchwise.corpora.questions import Answer, Branch, Question

ANSWER = {"text": "Al Pacino", "aliases": ["Pacino"], "qid": "Q41163", "support": ["p1"]}
BRANCH = {"name": "Heat (1995 film)", "answers": [ANSWER], "qid": "Q42198", "citations": ["p2"]}


def read(branch: object = BRANCH) -> Question:
    line = orjson.dumps({"id": "q1", "question": "Who?", "branches": [branch]})
    return Question.model_validate_json(line)


def made() -> Branch:
    answer = Answer(text="Al Pacino", aliases=("Pacino",), qid="Q41163", support=("p1",))
    return Branch(name="Heat (1995 film)", answers=(answer,), qid="Q42198", citations=("p2",))


def test_gold_is_read_from_json_and_written_as_it_was():
    assert read().branches == (made(),)
    written = read().model_dump(mode="json")["branches"]
    assert list(map(list, (written[0], written[0]["answers"][0]))) == [list(BRANCH), list(ANSWER)]
    assert written == [BRANCH]
    described = {**BRANCH, "answers": [{**ANSWER, "description": None}]}
    assert orjson.loads(orjson.dumps(made())) == described


def test_gold_is_a_value():
    assert made() == made()
    assert hash(made()) == hash(made())
    assert replace(made(), name="default") != made()
    assert copy.deepcopy(made()) == pickle.loads(pickle.dumps(made())) == made()
    with pytest.raises(FrozenInstanceError):
        made().name = "default"


@pytest.mark.parametrize(
    "branch",
    [
        {"answers": []},
        {"name": "default"},
        {"name": 7, "answers": []},
        {"name": "default", "answers": ["Heat"]},
        {"name": "default", "answers": [{}]},
        {"name": "default", "answers": [{"text": None}]},
        {"name": "default", "answers": [{"text": "Heat", "alias": "x"}]},
        {"name": "default", "answers": [{"text": "Heat", "aliases": "x"}]},
        {"name": "default", "answers": [], "wikidata": "Q1"},
        "default",
        None,
    ],
)
def test_anything_else_is_refused(branch):
    with pytest.raises(ValidationError):
        read(branch)
