"""The form of files: what is read, and what is refused where, in one line."""

import copy
import json
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.conditions.conditions_file import (
    conditions_record,
    parse_conditions,
    read_conditions,
)
from branchwise.corpora.conditions.documents import ConditionsAnswer
from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.mdcr import questions_of
from branchwise.corpora.questions import questions_digest

WORKED = Path(__file__).parents[2] / "examples" / "benchmarks" / "mdcr-worked.json"
RECORD = json.loads(WORKED.read_text("utf-8"))


def changed(*path, to):
    """The worked example with another value at a place; `...` removes what is there."""
    record = copy.deepcopy(RECORD)
    inner = record
    for key in path[:-1]:
        inner = inner[key]
    if to is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return record


def questions(record):
    return questions_of(parse_conditions(record, "f.json"))


def read(record):
    return [ConditionsQuestion.of(question) for question in questions(record)]


def test_the_worked_example_is_two_and_the_last_conditions_of_the_narrower_document():
    loaded = load_questions(f"mdcr:{WORKED}")
    assert loaded.task == "mdcr"
    found = {one.problem.kind: one for one in map(ConditionsQuestion.of, loaded.questions)}
    assert found["q3"].gold == ConditionsAnswer(2, (("C-c5", "C-c6"),))
    assert found["q2"].gold == ConditionsAnswer("no")
    assert found["q1"].gold == ConditionsAnswer(
        "yes", (("A-c1",), ("A-c2",), ("B-c3", "B-c4"), ("C-c5", "C-c6"))
    )
    assert [found[kind].relations_decide for kind in ("q1", "q2", "q3")] == [False, True, True]


def test_a_question_has_its_documents_as_passages_and_its_words_in_one_line():
    question = questions(RECORD)[2]
    assert question.id == "worked-q3"
    assert question.question == (
        "I am looking for money for the coming year of my studies. What is the maximum number of "
        "these scholarships that I can get together?"
    )
    assert [passage.id for passage in question.passages] == ["A", "B", "C"]
    assert question.passages[1].text.split("\n")[1] == "c3: <li>Your home is in Tolmarsh.</li>"
    assert question.has_gold("conditions")
    assert not question.has_gold("answers")


def test_a_question_says_all_that_its_file_says():
    found = parse_conditions(RECORD, "f.json")
    scenario = found.scenarios[0]
    for question in read(RECORD):
        assert question.problem == found.problem(scenario, question.problem.kind)
        assert question.scenario_text == scenario.text
        assert question.domain == "scholarships"
        assert question.lacks == ()


def test_questions_are_the_same_after_a_conversion(tmp_path):
    lines = [json.dumps(one.model_dump(mode="json")) for one in questions(RECORD)]
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    converted = load_questions(str(tmp_path / "q.jsonl"), require_gold=False).questions
    assert questions_digest(converted) == questions_digest(questions(RECORD))
    assert [ConditionsQuestion.of(one) for one in converted] == read(RECORD)


def test_what_is_written_is_read_back():
    found = parse_conditions(RECORD, "f.json")
    assert parse_conditions(conditions_record(found), "f.json") == found


def test_sentences_become_single_lines():
    record = changed("documents", 0, "sentences", "c1", to="<li>You\n live\u2028here: c2: x</li>")
    document = read(record)[0].problem.documents[0]
    assert document.sentences["c1"] == "<li>You live here: c2: x</li>"


def test_a_sentence_may_state_several_conditions():
    record = changed("documents", 2, "conditions", to={"c5a": "c5", "x": "c5", "c6": "c6"})
    record["documents"][2]["expression"] = "c5a AND x AND c6"
    record["relations"] = []
    assert read(record)[0].gold.groups[-1] == ("C-c5", "C-c6")


def test_only_what_concerns_a_scenarios_documents_is_in_its_questions():
    record = changed("scenarios", 0, "documents", to=["C", "B"])
    record["scenarios"][0]["values"] = {"B-c4": True}
    question = read(record)[2]
    assert [document.id for document in question.problem.documents] == ["C", "B"]
    assert dict(question.problem.values) == {"B-c4": True}
    assert {relation.kind for relation in question.problem.relations} == {"equivalent", "inclusive"}
    # Of equivalent conditions the last stays: B comes after C here.
    assert question.gold == ConditionsAnswer(2, (("C-c6", "B-c3"),))


def test_what_a_scenario_says_of_another_document_counts_as_far_as_a_relation_carries_it():
    record = changed("scenarios", 0, "documents", to=["C", "B"])
    record["scenarios"][0]["values"] = {"A-c1": True}  # conflicts with B-c3 and C-c5
    question = read(record)[2]
    assert dict(question.problem.values) == {"A-c1": True}
    assert len(question.problem.relations) == 4
    assert question.gold == ConditionsAnswer(0)
    record["scenarios"][0]["documents"] = ["B"]
    record["scenarios"][0]["values"] = {"C-c5": False}  # equivalent to B-c3
    assert [one.gold.short for one in read(record)] == ["no", "no", 0]
    # What is tied to none of its conditions changes nothing, and is not in the question.
    record["relations"] = []
    question = read(record)[0]
    assert not question.problem.values
    assert question.gold == ConditionsAnswer("yes", (("B-c3", "B-c4"),))


def test_conditions_of_one_document_may_be_related():
    record = changed("documents", 1, "expression", to="c3 OR c4")
    record["relations"] = [{"kind": "inclusive", "narrower": "B-c3", "wider": "B-c4"}]
    record["scenarios"][0] |= {"documents": ["B"], "values": {"B-c4": False}}
    assert [one.gold.short for one in read(record)] == ["no", "no", 0]


def test_a_condition_may_need_the_sentences_that_lead_in_to_it():
    record = changed("documents", 1, "conditions", to={"x": ["c0", "c3"], "y": ["c0", "c4"]})
    record["documents"][1]["expression"] = "x OR y"
    record["relations"] = [{"kind": "equivalent", "between": ["B-y", "C-c5"]}]
    record["scenarios"][0] |= {"documents": ["B"], "values": {}}
    (question, *_) = read(record)
    assert question.gold == ConditionsAnswer("yes", (("B-c0", "B-c3"), ("B-c0", "B-c4")))
    assert [*question.problem.documents[0].stating] == ["c0", "c3", "c4"]
    found = parse_conditions(record, "f.json")
    assert parse_conditions(conditions_record(found), "f.json") == found


def test_parts_give_values_where_they_tell_them():
    parts = [{"text": "Hello."}, {"text": "I live\nin Quenby.", "values": {"A-c2": True}}]
    record = changed("scenarios", 0, "values", to=...)
    del record["scenarios"][0]["text"]
    record["scenarios"][0]["parts"] = parts
    found = read(record)[0]
    assert found.scenario_text == "Hello. I live in Quenby."
    assert dict(found.problem.values) == {"A-c2": True}


GOLD = {
    "q1": {"short": "yes", "groups": [["A-c1"]]},
    "q2": {"short": "no", "groups": []},
    "q3": {"short": 2, "groups": [["C-c5", "C-c6"]]},
}


@pytest.mark.parametrize(
    ("path", "lacks"), [(("scenarios", 0, "values"), ("values",)), (("relations",), ("relations",))]
)
def test_a_file_may_give_answers_instead_of_what_they_follow_from(path, lacks):
    record = changed(*path, to=...)
    record["scenarios"][0]["gold"] = GOLD
    found = read(record)
    assert [one.gold.short for one in found] == ["yes", "no", 2]
    assert found[2].gold.groups == (("C-c5", "C-c6"),)
    assert {one.lacks for one in found} == {lacks}
    assert {one.relations_decide for one in found} == {None}
    again = parse_conditions(record, "f.json")
    assert parse_conditions(conditions_record(again), "f.json") == again


def with_gold(**gold):
    record = changed("scenarios", 0, "values", to=...)
    record["scenarios"][0]["gold"] = GOLD | gold
    return record


A, B, SCENARIO = ("documents", 0), ("documents", 1), ("scenarios", 0)


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ({"data": []}, "f.json: is not of the form that is read; give"),
        (changed("mdcr", to=2), "f.json: mdcr: Input should be 1"),
        (changed("surplus", to=2), "f.json: surplus: Extra inputs are not permitted"),
        (changed(*A, "id", to="B"), "f.json:document B: the id is already used"),
        (changed(*A, "id", to="a b"), "f.json:document 'a b': the id is not letters, digits"),
        (changed(*A, "sentences", "d9", to=""), "document A, sentences: 'd9' is not c0, c1"),
        (
            changed(*A, "sentences", to={"c2": "", "c1": ""}),
            "f.json:document A, sentences: the numbers do not rise",
        ),
        (
            changed(*A, "conditions", "c1", to="c7"),
            "f.json:document A, condition c1: there is no sentence 'c7'; name one that states it",
        ),
        (
            changed(*A, "conditions", "c1", to="c2"),
            "f.json:document A, condition c1: is named like a sentence, but c2 states it",
        ),
        (
            changed(*A, "conditions", "or", to="c2"),
            "f.json:document A, conditions: 'or' is not a name for a condition",
        ),
        (
            changed(*A, "expression", to="c1 OR"),
            "f.json:document A, expression: column 6: expected a condition or (, found the end; "
            "write it as c1 AND (c2 OR c3)",
        ),
        (
            changed(*A, "expression", to="c1 OR c3"),
            "f.json:document A, expression: there is no condition 'c3'; known are c1, c2",
        ),
        (changed(*A, "conditions", to={}), "f.json: documents.0.conditions: Dictionary should"),
        (
            changed("relations", 4, "between", to=["B-c3", "C-c9"]),
            "f.json:relation 5: there is no condition 'C-c9'; did you mean C-c6?",
        ),
        (
            changed("relations", 4, "between", to=["B-c3", "B-c3"]),
            "f.json:relation 5: relates B-c3 to itself; name two conditions",
        ),
        (
            changed("relations", 4, "between", to=...),
            'f.json: relations.4: Value error, equivalent needs "between"',
        ),
        (
            changed("relations", 5, "between", to=["C-c6", "B-c4"]),
            'f.json: relations.5: Value error, inclusive needs "narrower" and "wider"',
        ),
        (
            changed("relations", 4, "between", to=["A-c1", "B-c3"]),
            "f.json:relation 5: contradicts relation 1: A-c1 and B-c3 cannot both conflict",
        ),
        (changed("relations", 5, "narrower", to="A-c1") | {}, None),
        (changed(*SCENARIO, "documents", to=["A", "D"]), "documents: there is no document 'D'"),
        (changed(*SCENARIO, "documents", to=["A", "A"]), "documents: one is named twice"),
        (changed(*SCENARIO, "documents", to=[]), "f.json: scenarios.0.documents: List should"),
        (changed(*SCENARIO, "kinds", to=["q1", "q1"]), "kinds: one is named twice"),
        (changed(*SCENARIO, "kinds", to=["q4"]), "f.json: scenarios.0.kinds.0: Input should be"),
        (changed("scenarios", to=RECORD["scenarios"] * 2), "scenario worked: the id is already"),
        (changed(*SCENARIO, "values", to={"A-c9": True}), "values: there is no condition 'A-c9'"),
        (changed(*SCENARIO, "values", to={"A-c1": 1}), "values.A-c1: Input should be a valid bool"),
        (changed(*SCENARIO, "text", to=...), 'needs either "text" and "values", or "parts"'),
        (changed(*SCENARIO, "parts", to=[]), 'needs either "text" and "values", or "parts"'),
        (
            changed(*SCENARIO, "values", to=...),
            'f.json:scenario worked: has neither "values" nor gold of q1; give one of them',
        ),
        (
            changed("relations", to=...),
            'f.json:scenario worked: has neither "relations" nor gold of q1; give one of them',
        ),
        (changed(*SCENARIO, "gold", to=GOLD), "gold: it is worked out from the values; leave it"),
        (with_gold(q1={"short": 1, "groups": []}), "gold of q1: 1 does not answer q1"),
        (with_gold(q3={"short": "no", "groups": []}), "gold of q3: 'no' does not answer q3"),
        (
            with_gold(q2={"short": "no", "groups": [["A-c1"]]}),
            "gold of q2: a group is empty, or has no answer that it is for",
        ),
        (with_gold(q1={"short": "yes", "groups": [[]]}), "gold of q1: a group is empty"),
        (
            with_gold(q1={"short": "yes", "groups": [["A-c5"]]}),
            "gold of q1: there is no sentence 'A-c5'",
        ),
        (
            changed(*SCENARIO, "values", to={"B-c4": False, "A-c1": False, "C-c6": True}),
            "f.json:scenario worked, q1: not all of these can hold: B-c4 is false, C-c6 is true, "
            "C-c6 is narrower than B-c4; correct one of them",
        ),
        (
            changed(*SCENARIO, "values", to={"A-c1": True, "B-c3": True}),
            "f.json:scenario worked, q1: not all of these can hold: A-c1 is true, B-c3 is true, "
            "A-c1 conflicts with B-c3; correct one of them",
        ),
        (
            changed("relations", 5, to={"kind": "inclusive", "narrower": "B-c3", "wider": "A-c2"}),
            "f.json:relation 6: contradicts relation 3: B-c3 and A-c2 cannot both conflict",
        ),
        (
            changed("relations", 3, to={"kind": "equivalent", "between": ["A-c2", "C-c5"]}),
            "f.json:scenario worked, q1: A-c2 could never be true: A-c2 conflicts with B-c3, A-c2 "
            "is equivalent to C-c5, B-c3 is equivalent to C-c5; correct one of them",
        ),
    ],
)
def test_what_is_not_of_the_form_is_refused_in_one_line(record, line):
    if line is None:  # a change that keeps to the form
        assert questions(record)
        return
    with pytest.raises(InputError) as refused:
        questions(record)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_ours_names_what_is_read(tmp_path):
    path = tmp_path / "published.json"
    for text in ("[]", '[{"title": "T", "contents": []}]', "{}", '{\n"title": "T"}'):
        path.write_text(text)
        for read in (read_conditions, lambda file: load_questions(f"mdcr:{file}")):
            with pytest.raises(InputError, match=r"or MDCR's folder, which holds docs\.json, "):
                read(path)


def test_unknown_names_are_told_beside_the_known_ones_in_their_order():
    record = changed("relations", 0, "between", to=["A-c1", "Z-c9"])
    with pytest.raises(InputError, match=r"known are A-c1, A-c2, B-c3, B-c4, C-c5, C-c6$"):
        parse_conditions(record, "f.json")


def test_a_question_of_another_kind_is_refused():
    question = questions(RECORD)[0]
    for other in (
        question.model_copy(update={"meta": {}}),
        question.model_copy(update={"passages": ()}),
    ):
        with pytest.raises(InputError, match="is not about documents with conditions"):
            ConditionsQuestion.of(other)
