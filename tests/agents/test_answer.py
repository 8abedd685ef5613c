"""Answers in the texts that models write around them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.answer import parse_answer
from branchwise.agents.prediction import FORMATS

BRANCHES, CONDITIONS = FORMATS["branches"], FORMATS["conditions"]
GOOD = '{"reasoning": "r", "answers": {"A": ["x"]}}'
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool)


@pytest.mark.parametrize(
    "text",
    [
        '{"answers": {"A": "x"}}',
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}",
        f"Here is my answer: {GOOD} I hope it helps {{really}}.",
        f'First I thought {{"answers": {{"A": ["wrong"]}}}}, but no: {GOOD}',
        f'{GOOD}\n\n{{"name": "local_retriever", "arguments": {{"query": "x"}}}}',
        f'{GOOD}\n\nSources: {{"sources": ["p1", "p2"]}}',
        f"An open {{ brace, then {GOOD}",
        f'An open {{ brace and a 5" quote, then {GOOD}',
        "{'answers': {'A': ['x']}}",
        '{"answers": {"A": ["x",]},}',
        '{"answers": {"A": ["x"]}',
        '{"answers": {"A": ["x"',
        '{answers: {"A": ["x"]}} // done',
        'Sure: {"reasoning": "a \\"quoted\\" }{ word", "answers": {"A": ["x"]}}',
    ],
)
def test_answers_are_found_in_what_surrounds_or_spoils_them(text):
    parsed = parse_answer(text, BRANCHES)
    assert parsed.how == "tolerant"
    assert parsed.prediction is not None
    assert parsed.prediction.answers == {"A": ("x",)}


@pytest.mark.parametrize(
    "text", ["", "   ", "I do not know.", "null", '"x"', "{}", "[]]", "{{{{", "<think>"]
)
def test_no_answer_fails_with_a_problem_in_one_line(text):
    parsed = parse_answer(text, CONDITIONS)
    assert (parsed.prediction, parsed.how) == (None, "failed")
    assert parsed.problem
    assert "\n" not in parsed.problem


def test_a_key_that_comes_twice_loses_no_answer():
    parsed = parse_answer('{"answers": {"Heat": ["x"], "Ali": [], "Heat": ["y"]}}', BRANCHES)
    assert parsed.prediction is not None
    assert parsed.prediction.answers == {"Heat": ("x", "y"), "Ali": ()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "garbage",
    [
        "{" * 2_000_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        '{"answers": ' + "[" * 5000,
        "{}" * 500_000,
        '{"' * 500_000,
        '{"' * 10_000,
        '{"answers": {"A": ["' + 'a"b and some words to fill ' * 700,
        "```json\n" * 200_000,
        '{"answers": {"A": ["' + 'x\\"' * 500_000,
        '\'{"answers": ' * 20_000,
        "\\" * 1_000_001,
        '{"answers": {' + ",".join(['"A": [1]'] * 80_000) + "}}",
        '{"answers": {"A": [' + "1" * 10_000 + "]}}",
        ("]" * 5000) + '{"answers": ' + ("[" * 5000),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_megabytes_of_garbage_end_in_a_result(garbage):
    assert parse_answer(garbage, BRANCHES).how in ("failed", "tolerant")


@pytest.mark.slow
@given(st.text(), st.sampled_from(sorted(FORMATS)))
def test_no_text_raises(text, name):
    parsed = parse_answer(text, FORMATS[name], ["p"])
    assert (parsed.prediction is None) == (parsed.how == "failed") == (parsed.problem is not None)


@given(st.text(alphabet="{}[]\":,\\'`a1 \n", max_size=200))
def test_no_text_of_json_signs_raises(text):
    parse_answer(text, BRANCHES)


@pytest.mark.slow
@given(st.dictionaries(NAMES, st.lists(NAMES, unique=True)), st.text(alphabet="ab .\n"))
def test_an_answer_survives_being_written_and_wrapped(answers, prose):
    written = json.dumps({"reasoning": "", "answers": answers})
    expected = {name: tuple(entities) for name, entities in answers.items()}
    plain, wrapped = (
        parse_answer(written, BRANCHES),
        parse_answer(f"{prose}x {written}{prose}", BRANCHES),
    )
    assert plain.how == "strict"
    assert plain.prediction is not None
    assert wrapped.prediction is not None
    assert plain.prediction.answers == wrapped.prediction.answers == expected
