"""Conditional answers as models write them: between tags, nearly so, or in JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.answer import MAX_TOLERANT, parse_answer
from branchwise.agents.prediction import FORMATS
from branchwise.eval.tasks.mdcr.format import MAX_GROUPS

MDCR = FORMATS["mdcr"]
GROUPS = st.lists(
    st.lists(
        st.builds("doc{}-c{}".format, st.integers(0, 40), st.integers(0, 30)),
        min_size=1,
        max_size=4,
        unique=True,
    ),
    max_size=5,
    unique_by=frozenset,
)


def read(text: str) -> tuple[str, str, list[list[str]]]:
    parsed = parse_answer(text, MDCR)
    assert parsed.prediction is not None, parsed.problem
    output = parsed.prediction.task_output
    return parsed.how, output["answer"], output["groups"]


@pytest.mark.parametrize(
    ("text", "answer", "groups"),
    [
        (
            '<ans>yes</ans> <cond>[["doc17-c4", "doc8-c3"], ["doc8-c1"]]</cond>',
            "yes",
            [["doc17-c4", "doc8-c3"], ["doc8-c1"]],
        ),
        ("<ans>no</ans> <cond>[]</cond>", "no", []),
        ('\n<ans> 3 </ans>\n<cond> [["doc1-c2"]] </cond>\n', "3", [["doc1-c2"]]),
        ("First this, then that.\n\n<ans>0</ans> <cond>[]</cond>", "0", []),
        ("<ans>7000</ans> <cond>[]</cond>", "7000", []),
        ('<ans>yes</ans> <cond>[["doc99-c99"]]</cond>', "yes", [["doc99-c99"]]),
        ('<ans>yes</ans> <cond>[["Rent-aid_2-c0"]]</cond>', "yes", [["Rent-aid_2-c0"]]),
        ('<ans>yes</ans> <cond>[["doc1-c2"], ["doc1-c2", "doc1-c2"]]</cond>', "yes", [["doc1-c2"]]),
    ],
)
def test_the_form_itself_is_strict(text, answer, groups):
    assert read(text) == ("strict", answer, groups)


@pytest.mark.parametrize(
    ("text", "answer", "groups"),
    [
        ("<ans>yes</ans> <cond>[['doc1-c2', 'doc2-c1']]</cond>", "yes", [["doc1-c2", "doc2-c1"]]),
        ('<ans>yes</ans> <cond>["doc1-c2", "doc2-c1"]</cond>', "yes", [["doc1-c2", "doc2-c1"]]),
        ("<ans>yes</ans> <cond>doc1-c2, doc2-c1</cond>", "yes", [["doc1-c2", "doc2-c1"]]),
        ("<ans>yes</ans> <cond>[[doc1-c2], [doc2.c1]]</cond>", "yes", [["doc1-c2"], ["doc2-c1"]]),
        ('<ans>yes</ans> <cond>[["doc17.c4"]]</cond>', "yes", [["doc17-c4"]]),
        ('<ans>yes</ans> <cond>[["doc17 C4", "doc17_c5"]]</cond>', "yes",
         [["doc17-c4", "doc17-c5"]]),
        ('<ans>yes</ans> <cond>[["doc1-c2", "doc2-c1"]</cond>', "yes", [["doc1-c2", "doc2-c1"]]),
        ('<ans>yes</ans> <cond>["doc1-c2"]], ["doc2-c1"]]]</cond>', "yes",
         [["doc1-c2"], ["doc2-c1"]]),
        ('<ans>yes</ans> <cond>[["doc1-c2"], ["doc2-c1"', "yes", [["doc1-c2"], ["doc2-c1"]]),
        ('<ans>Yes.</ans> <cond>[["doc1-c2 and doc2-c1"]]</cond>', "yes", [["doc1-c2", "doc2-c1"]]),
        ("<ANS>two</ANS><COND>None</COND>", "2", []),
        ("<answer>2 scholarships</answer><conditions>[]</conditions>", "2", []),
        ("<ans>true</ans>", "yes", []),
        ('<cond>[["doc1-c2"]]</cond> <ans>1</ans>', "1", [["doc1-c2"]]),
        ('<ans>1</ans> <cond>[["doc1-c2"]]</cond> I hope that this helps.', "1", [["doc1-c2"]]),
        ('<ans>no</ans> <cond>[["doc1-c1"]]</cond> Or <ans>yes</ans> <cond>[["doc1-c2"]]</cond>',
         "yes", [["doc1-c2"]]),
        ('I write <ans></ans>: <ans>yes</ans> <cond>[["doc1-c2"]]</cond>', "yes", [["doc1-c2"]]),
        ('<ans>yes</ans> <cond>[["an income below 10"]]</cond>', "yes", [["an income below 10"]]),
        ('{"answer": "yes", "groups": [["doc1-c2"]]}', "yes", [["doc1-c2"]]),
        ('```json\n{"ans": 2, "cond": [["doc1.c2"]]}\n```', "2", [["doc1-c2"]]),
        ('{"result": {"ans": true, "cond": ["doc1-c2", "doc2-c1"]}}', "yes",
         [["doc1-c2", "doc2-c1"]]),
        ('{"answer": "no", "conditions": null}', "no", []),
        ('{"answer": "yes", "cond": [[{"id": "doc1-c2"}]]}', "yes", [["doc1-c2"]]),
        ('The tags <ans>?</ans> are not for me: {"ans": "no", "cond": []}', "no", []),
    ],
)  # fmt: skip
def test_what_is_nearly_the_form_is_read(text, answer, groups):
    assert read(text) == ("tolerant", answer, groups)


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        '[["doc1-c2"]]',
        "<ans>perhaps</ans> <cond>[]</cond>",
        "<ans>-1</ans>",
        "<cond>[]</cond>",
    ],
)
def test_what_gives_no_answer_fails_with_a_problem_in_one_line(text):
    parsed = parse_answer(text, MDCR)
    assert (parsed.prediction, parsed.how) == (None, "failed")
    assert parsed.problem
    assert "\n" not in parsed.problem


def test_more_groups_than_a_reader_could_mean_are_no_answer():
    many = json.dumps([[f"doc1-c{n}"] for n in range(MAX_GROUPS + 1)])
    assert parse_answer(f"<ans>yes</ans> <cond>{many}</cond>", MDCR).how == "failed"


def test_reasoning_is_what_stands_before_the_tags():
    parsed = parse_answer("A holds, B does not.\n<ans>1</ans> <cond>[]</cond>", MDCR)
    assert parsed.prediction is not None
    assert parsed.prediction.reasoning == "A holds, B does not."


@pytest.mark.slow
@pytest.mark.parametrize(
    "sign", ["[", "]", "[]", "\"'", '["x"],', "<ans>", "doc1-c1 ", "doc ", "'\n"]
)
def test_a_megabyte_of_signs_ends_in_a_result(sign):
    for size in (MAX_TOLERANT - 100, 1_000_000):
        text = f"<ans>yes</ans> <cond>{sign * (size // len(sign))}"
        assert parse_answer(text, MDCR).how in ("tolerant", "failed")


@given(st.text(alphabet="<>/anscod yes017-.[]\"'{},\n", max_size=200))
def test_no_text_of_its_signs_raises(text):
    parse_answer(f"<ans>{text}", MDCR)
    parse_answer(f"<ans>1</ans><cond>{text}", MDCR)


@pytest.mark.slow
@given(st.sampled_from(["yes", "no", "0", "4"]), GROUPS, st.text(alphabet="ab .\n", max_size=20))
def test_an_answer_survives_being_written(answer, groups, prose):
    written = f"{prose}<ans>{answer}</ans> <cond>{json.dumps(groups)}</cond>"
    assert read(written) == ("strict", answer, groups)
    bare = json.dumps(groups).replace('"', "").replace("-", ".")
    assert read(f"<ans>{answer}</ans> <cond>{bare}</cond>")[1:] == (answer, groups)
    how, *same = read(json.dumps({"answer": answer, "groups": groups}))
    assert (how, same) == ("tolerant", [answer, groups])
