"""FanOutQA: how nested answers become branches, and the counts of the published file."""

import json

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions

ENTRY = {"id": "q", "question": " How old\nare they? ", "answer": 1}


@pytest.fixture
def load(tmp_path):
    def _load(answer, **fields):
        path = tmp_path / "dev.json"
        path.write_text(json.dumps([ENTRY | {"answer": answer} | fields]))
        return load_questions(f"fanoutqa:{path}")

    return _load


@pytest.mark.parametrize(
    ("answer", "branches"),
    [
        ({"Ann": 41, "Bo": "no age"}, {"Ann": [("41",)], "Bo": [("no age",)]}),
        (["Ann", "Bo", "Ann"], {"default": [("Ann",), ("Bo",)]}),
        (" Spain ", {"default": [("Spain",)]}),
        (4, {"default": [("4",)]}),
        (61.6, {"default": [("61.6",)]}),
        (37.0, {"default": [("37.0", "37")]}),
        (False, {"default": [("no", "false")]}),
        ({"Ann": True}, {"Ann": [("yes", "true")]}),
        ({"Ann": ["x", ["y"]]}, {"Ann": [("x",), ("y",)]}),
        (
            {"Ann": {"born": 1940, "died": 2000}},
            {"Ann: born": [("1940",)], "Ann: died": [("2000",)]},
        ),
        ([{"Ann": 1}, {"Ann": 2}, "x"], {"Ann": [("1",), ("2",)], "default": [("x",)]}),
    ],
)
def test_a_nested_answer_has_a_branch_for_each_key(load, answer, branches):
    loaded = load(answer)
    [question] = loaded.questions
    assert (loaded.task, question.ambiguous) == ("fanoutqa", False)
    assert question.question == "How old are they?"
    assert {b.name: [a.forms for a in b.answers] for b in question.branches} == branches
    assert question.meta == {"benchmark": "fanoutqa", "answer": answer}


def test_pages_of_evidence_are_named_once_and_steps_may_be_nested(load):
    page = {"pageid": "###TBD###", "title": "Ann"}
    deeper = [{"evidence": {"pageid": 2, "title": "Bo"}}, {"evidence": page}]
    steps = [{"evidence": page, "answer": "x"}, {"evidence": None, "decomposition": deeper}]
    [question] = load(1, decomposition=steps, categories=["People"]).questions
    assert question.meta["pages"] == ["Ann", "Bo"]
    assert question.meta["categories"] == ["People"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({}, "its answer is empty"),
        ([], "its answer is empty"),
        ("  ", "an answer is empty"),
        (None, "an answer is null"),
        ({"Ann": None}, "an answer is null"),
        ({" ": 1}, "its answer has an empty key"),
        ([[[[[[[1]]]]]]], "its answer is nested too deeply"),
    ],
)
def test_an_answer_that_says_nothing_is_refused(load, answer, message):
    with pytest.raises(InputError, match=rf"dev\.json:entry 1: {message}"):
        load(answer)
