"""The tool of the examples that solves what an agent states: it answers as gold does."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise import ToolError
from branchwise.base.plugins.specs import find_plugin
from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.corpora.loaders import load_questions
from branchwise.tools.plugin_tools import open_tool
from branchwise.tools.registry import ToolContext, injection_context

EXAMPLES = Path(__file__).parents[2] / "examples"
SPEC = f"{EXAMPLES / 'plugins' / 'solve_conditions.py'}:solve_conditions"
solve_conditions = find_plugin(SPEC, "tools").object
KINDS = {"q1": "at least one", "q2": "all", "q3": "maximum number"}
WORKED = {
    "question": "maximum number",
    "documents": {"A": "c1 OR c2", "B": "c3 AND c4", "C": "c5 AND c6"},
    "values": {},
    "relations": [
        *({"kind": "conflicting", "first": f"A-{a}", "second": b}
          for a in ("c1", "c2") for b in ("B-c3", "C-c5")),
        {"kind": "equivalent", "first": "B-c3", "second": "C-c5"},
        {"kind": "inclusive", "first": "C-c6", "second": "B-c4"},
    ],
}  # fmt: skip


def called(arguments):
    tool = open_tool(SPEC, injection_context(ToolContext()))
    return asyncio.run(tool.call(arguments, 30))


def read(content):
    """Short answer and groups of what the tool says."""
    short = re.match(r"Answer: (\w+)", content)[1]
    groups = re.search(r"^What must also be true .*?: (\[.*\])$", content, re.MULTILINE)
    return short, json.loads(groups[1]) if groups else []


def test_the_worked_example_is_answered():
    result = called(WORKED)
    assert result.error is None
    assert result.content == (
        "Answer: 2\n"
        'What must also be true (one group is enough): [["C-c5", "C-c6"]]\n'
        "Documents: B and C"
    )
    assert called(WORKED | {"question": "all"}).content.startswith("Answer: no\n")


@pytest.mark.slow
def test_gold_answers_of_the_example_set_are_found():
    source = f"mdcr:{EXAMPLES / 'benchmarks' / 'mdcr.json'}"
    found = load_questions(source).questions
    for question in map(ConditionsQuestion.of, found):
        problem = question.problem
        relations = [
            {"kind": one.kind, "first": one.first, "second": one.second}
            for one in problem.relations
        ]
        result = called(
            {
                "question": KINDS[problem.kind],
                "documents": {one.id: str(one.expression) for one in problem.documents},
                "values": dict(problem.values),
                "relations": relations,
            }
        )
        short, groups = read(result.content)
        assert short == str(question.gold.short)
        assert {frozenset(group) for group in groups} == {
            frozenset(group) for group in question.gold.groups
        }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"documents": {"A": "c1 AND"}}, "A: column 7: expected a condition or (, found the end"),
        ({"documents": {"A": "gpa"}}, "A: call gpa like its sentence: c4, or c4a and c4b"),
        ({"values": {"A-c1": True, "B-c3": True}}, "not all of these can hold: A-c1 is true"),
        (
            {"relations": [{"kind": "equivalent", "first": "A-c1", "second": "A-c1"}]},
            "relation 1: relates A-c1 to itself",
        ),
    ],
)
def test_a_model_is_told_what_to_correct(change, said):
    result = called(WORKED | change)
    assert result.error is not None
    assert said in result.content


@pytest.mark.slow
@given(
    st.dictionaries(st.text("ABc-_ ", max_size=4), st.text("c12ab() ANDOR", max_size=20)),
    st.dictionaries(st.text("ABc12-", max_size=5), st.booleans()),
)
def test_whatever_is_stated_is_answered_or_refused_in_one_line(documents, values):
    said = ""
    try:
        solve_conditions("all", documents, values)
    except ToolError as error:
        said = str(error)
    assert "\n" not in said
