"""AmbigNQ and CAmbigNQ: published forms, counts of a real file, what is refused."""

import json
from copy import deepcopy

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions

SINGLE = {"type": "singleAnswer", "answer": ["David Morse", "Morse", "Morse"]}
SEVERAL = {
    "type": "multipleQAs",
    "qaPairs": [
        {"question": "When did it air as a short?", "answer": ["April 19, 1987", "1987"]},
        {"question": "When did it air in prime time?", "answer": ["December 17, 1989"]},
    ],
}
FULL = {
    "viewed_doc_titles": ["The Simpsons"],
    "used_queries": [{"query": "simpsons", "results": [{"title": "x", "snippet": "y"}]}],
    "nq_answer": ["December 17, 1989"],
    "nq_doc_title": "The Simpsons",
}
CLARIFIED = {
    "id": "c",
    "question": "When did the Simpsons air?",
    "viewed_doc_titles": ["The Simpsons"],
    "used_queries": ["simpsons"],
    "nq_doc_title": "The Simpsons",
    "dqs": ["When did it air as a short?", "When did it air in prime time?"],
    "clarification_answers": [["April 19, 1987", "1987"], ["December 17, 1989"]],
    "clarification_question": "Which form: the animated short, or the half-hour prime time show?",
}


@pytest.fixture
def load(tmp_path):
    def _load(form, *entries):
        path = tmp_path / "data.json"
        path.write_text(json.dumps(entries))
        return load_questions(f"{form}:{path}")

    return _load


@pytest.fixture
def annotated(load):
    def _load(*annotations, **fields):
        entry = {"id": "q", "question": " Who\nplayed? ", "annotations": annotations}
        return load("ambignq", entry | fields).questions[0]

    return _load


def named(branches):
    return {branch.name: [answer.forms for answer in branch.answers] for branch in branches}


def branches(question):
    return named(question.branches)


@pytest.mark.parametrize("more", [{}, FULL], ids=["light", "full"])
def test_readings_are_branches_and_other_forms_of_an_answer_aliases(annotated, more):
    question = annotated(SEVERAL, **more)
    assert question.ambiguous
    assert question.question == "Who played?"
    assert branches(question) == {
        "When did it air as a short?": [("April 19, 1987", "1987")],
        "When did it air in prime time?": [("December 17, 1989",)],
    }
    kept = {name: value for name, value in more.items() if name != "used_queries"}
    assert question.meta == {"benchmark": "ambignq", **kept}


def test_a_question_is_ambiguous_where_all_annotators_say_so(annotated):
    assert branches(annotated(SINGLE)) == {"default": [("David Morse", "Morse")]}
    assert not annotated(SEVERAL, SINGLE).ambiguous
    assert not annotated(SINGLE, SEVERAL).ambiguous
    assert annotated(SEVERAL, SEVERAL).ambiguous


def test_each_annotator_is_a_gold_set_and_equal_ones_are_one(annotated):
    other = SINGLE | {"answer": ["D. Morse"]}
    mixed = annotated(SEVERAL, SINGLE, SEVERAL, other, SINGLE)
    assert [named(one) for one in mixed.gold_sets] == [
        branches(annotated(SEVERAL)),
        {"default": [("David Morse", "Morse")]},
        {"default": [("D. Morse",)]},
    ]
    assert mixed.branches == mixed.gold_sets[0]
    assert mixed.meta["annotators"] == 5
    assert annotated(SEVERAL, SEVERAL).alternatives == ()


def test_an_option_is_a_branch_with_its_answers(load):
    loaded = load("cambignq", CLARIFIED)
    [question] = loaded.questions
    assert (loaded.task, question.ambiguous) == ("branches", True)
    assert branches(question) == {
        "the animated short": [("April 19, 1987", "1987")],
        "the half-hour prime time show": [("December 17, 1989",)],
    }
    kept = ("clarification_question", "dqs", "viewed_doc_titles", "used_queries", "nq_doc_title")
    assert question.meta == {"benchmark": "cambignq", **{name: CLARIFIED[name] for name in kept}}


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"clarification_question": "Which year: 1987,1989?"}, ["1987", "1989"]),
        ({"clarification_question": "In terms of what: time, or place?"}, ["time", "place"]),
        ({"clarification_question": "As of when: 1987, or 1989?"}, ["1987", "1989"]),
    ],
)
def test_odd_ways_of_writing_options_are_read(load, change, names):
    [question] = load("cambignq", CLARIFIED | change).questions
    assert list(branches(question)) == names
    assert "format_error" not in question.meta


@pytest.mark.parametrize(
    "change",
    [
        {"clarification_answers": [["x"]]},
        {"clarification_question": "", "dqs": []},
        {"clarification_question": "Which number: 1,000?"},
    ],
)
def test_a_row_whose_options_and_answers_differ_is_left_out_and_named(load, change):
    odd = CLARIFIED | {"id": "d"} | change
    left_out = r"left out whose options and answers differ in number: 1 \(entry 2\)"
    with pytest.warns(UserWarning, match=left_out):
        loaded = load("cambignq", CLARIFIED, odd, CLARIFIED | {"id": "e"})
    assert [question.id for question in loaded.questions] == ["c", "e"]
    with (
        pytest.warns(UserWarning, match="differ in number"),
        pytest.raises(InputError, match="holds no questions"),
    ):
        load("cambignq", odd)


def test_gold_that_is_not_of_the_form_is_kept_and_says_so(load):
    entry = CLARIFIED | {"clarification_question": "short or half-hour"}
    [question] = load("cambignq", entry).questions
    assert list(branches(question)) == CLARIFIED["dqs"]
    assert "'short or half-hour' is not of the form" in question.meta["format_error"]


@pytest.mark.parametrize(
    ("form", "change", "message"),
    [
        ("ambignq", {"annotations": []}, "entry 1: has no annotations"),
        ("ambignq", {"annotations": [SINGLE | {"type": "noAnswer"}]}, "entry 1: .*type"),
        ("ambignq", {"annotations": [SINGLE | {"answer": [" "]}]}, "entry 1: an answer is empty"),
        ("ambignq", {"annotations": [{"type": "multipleQAs"}]}, "entry 1: lists no readings"),
        (
            "ambignq",
            {"annotations": [SEVERAL | {"qaPairs": [{"question": "x", "answer": []}]}]},
            "entry 1, reading 1: an answer is empty",
        ),
        ("cambignq", {"id": ""}, "entry 1: has an empty id or question"),
        ("cambignq", {"clarification_answers": [["x"], []]}, "option 2: an answer is empty"),
        ("cambignq", {"clarification_question": None}, "entry 1: .*clarification_question"),
    ],
)  # fmt: skip
def test_bad_data_is_one_line_that_names_file_and_entry(load, form, change, message):
    entry = {"annotations": [SINGLE]} | deepcopy(CLARIFIED) | change
    with pytest.raises(InputError, match=message) as caught:
        load(form, entry)
    assert "\n" not in str(caught.value)
    assert "data.json:entry 1" in str(caught.value)
