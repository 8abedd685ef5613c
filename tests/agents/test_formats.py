"""What is read out of answers of each shape."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.prediction import FORMATS, MAX_ENTITIES, MAX_ENTITY, FormatError, Prediction

BRANCHES, CONDITIONS = FORMATS["branches"], FORMATS["conditions"]
IDS = ("aaa", "bbb", "ccc")
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("data", "answers"),
    [
        ({"answers": {"A": ["x", "y"]}}, {"A": ("x", "y")}),
        ({"answers": {}}, {}),
        ({"answers": None}, {}),
        ({"answers": ["x", "y"]}, {"default": ("x", "y")}),
        (["x", "y"], {"default": ("x", "y")}),
        ({"answers": "x"}, {"default": ("x",)}),
        ({"answer": "x"}, {"default": ("x",)}),
        ({"answer": {"A": "x"}}, {"A": ("x",)}),
        ({"answers": {"A": 1976, "B": [1.5, True, None]}}, {"A": ("1976",), "B": ("1.5",)}),
        ({"answers": {"A": {"answers": ["x"]}, "B": {"answer": "y"}}}, {"A": ("x",), "B": ("y",)}),
        (
            {"answers": [{"branch": "A", "answers": ["x"]}, {"answer": "y"}]},
            {"A": ("x",), "default": ("y",)},
        ),
        ({"answers": {"A": [" x ", "", "x", "X"]}}, {"A": ("x", "X")}),
        ({"answers": {" A ": ["x"], "A": ["y", "x"]}}, {"A": ("x", "y")}),
        ({"answers": {"": ["x"]}}, {"default": ("x",)}),
        ({"answers": {"A": []}}, {"A": ()}),
        ({"A (1976 film)": ["x"], "B": []}, {"A (1976 film)": ("x",), "B": ()}),
        ([{"reasoning": "r", "answers": {"A": ["x"]}}], {"A": ("x",)}),
        ({"answer": {"reasoning": "r", "answers": {"A": ["x"]}}}, {"A": ("x",)}),
        ({"response": {"reasoning": "r", "answers": {"A": ["x"]}}}, {"A": ("x",)}),
        ({"answers": {"A": [["x", "y"], [["z"]]]}}, {"A": ("x", "y", "z")}),
        ({"answers": {"A": {"1": ["x"], "2": ["y"]}}}, {"A 1": ("x",), "A 2": ("y",)}),
        ({"answers": [{"branch": "A", "answers": []}]}, {"A": ()}),
        ([{"branch": "A", "answers": [{"text": "x"}]}], {"A": ("x",)}),
    ],
)
def test_branches_in_common_variants(data, answers):
    assert BRANCHES.read(data).answers == answers


@pytest.mark.parametrize(
    "data",
    [
        "x",
        7,
        None,
        {},
        {"name": "local_retriever", "arguments": {"query": "x"}},
        {"answers": True},
        {"answers": {"A": [True]}},
        {"answers": {"A": {"B": {"C": {}, "D": "x"}}}},
        {"answers": '{"A": ["x"'},
    ],
)
def test_what_holds_no_answer_is_a_format_error(data):
    with pytest.raises(FormatError):
        BRANCHES.read(data)


def test_only_the_exact_shape_fits():
    assert BRANCHES.fits({"reasoning": "r", "answers": {"A": ["x"]}})
    assert not BRANCHES.fits({"answers": {"A": "x"}})
    assert not BRANCHES.fits({"answers": {"A": [1]}})
    assert not BRANCHES.fits({"answers": {}, "more": 1})
    assert CONDITIONS.fits({"conditions": [{"condition": "c", "answer": "a", "citations": ["1"]}]})
    assert not CONDITIONS.fits({"conditions": [{"answer": "a"}]})


def test_sizes_are_bounded():
    many = [f"{n} {'x' * 5000}" for n in range(MAX_ENTITIES + 5)]
    (entities,) = BRANCHES.read({"answers": {"A": many}}).answers.values()
    assert len(entities) == MAX_ENTITIES
    assert {len(entity) for entity in entities} == {MAX_ENTITY}


def condition(text: Any, answer: Any, *citations: Any) -> dict[str, Any]:
    return {"condition": text, "answer": answer, "citations": list(citations)}


def test_a_condition_is_a_branch_with_one_answer_and_its_citations():
    data = {"conditions": [condition("If 1976.", "It was Guillermin.", "Fragment 2", "Fragment 1")]}
    assert CONDITIONS.read(data, IDS) == Prediction(
        answers={"If 1976.": ("It was Guillermin.",)}, citations={"If 1976.": ("bbb", "aaa")}
    )


@pytest.mark.parametrize(
    ("cited", "ids"),
    [
        (["Fragment 1"], ("aaa",)), (["fragment 3: A title"], ("ccc",)), (["[2]"], ("bbb",)),
        (["[Fragment 2]"], ("bbb",)), (["2. A title"], ("bbb",)), ([2, 3.0], ("bbb", "ccc")),
        (["bbb", "[ccc]"], ("bbb", "ccc")), ("Fragment 1, Fragment 3", ("aaa", "ccc")),
        (["[1][3]"], ("aaa", "ccc")), (["1", "Fragment 1", "aaa"], ("aaa",)),
        ([{"title": "3. A title"}], ("ccc",)), (["Fragment 9"], ("Fragment 9",)), (["0"], ("0",)),
        ([None, "", {}], None), (None, None),
    ],
)  # fmt: skip
def test_citations_name_passages(cited, ids):
    data = {"conditions": [{"condition": "c", "answer": "a", "citations": cited}]}
    assert CONDITIONS.read(data, IDS).citations.get("c") == ids


def test_without_numbered_passages_citations_are_ids():
    data = {"conditions": [condition("c", "a", "[0123456789abcdef]", "7")]}
    assert CONDITIONS.read(data).citations == {"c": ("0123456789abcdef", "7")}


def test_an_id_that_is_a_number_is_an_id_first():
    data = {"conditions": [condition("c", "a", "3", "1")]}
    assert CONDITIONS.read(data, ("3", "2", "1")).citations == {"c": ("3", "1")}


def test_repeated_conditions_lose_nothing():
    data = [condition("c", "a", "1"), condition("c", "a", "2"), condition("c", "b", "3")]
    read = CONDITIONS.read({"conditions": data}, IDS)
    assert read.answers == {"c": ("a",), "c (2)": ("b",)}
    assert read.citations == {"c": ("aaa", "bbb"), "c (2)": ("ccc",)}


@pytest.mark.parametrize(
    "data",
    [
        [{"condition": "c", "answer": "a"}],
        {"answers": [{"condition": "c", "answer": "a"}]},
        {"condition": "c", "answer": "a"},
        {"conditions": {"condition": "c", "answer": "a"}},
        {"conditions": {"c": "a"}},
        {"conditions": [{"condition": "c", "answer": ["a"]}]},
        {"conditions": [{"condition": "c", "answer": [["a"]]}]},
        {"conditions": [{"condition": "c", "answer": {"text": "a"}}]},
        [{"conditions": [{"condition": "c", "answer": "a"}]}],
        {"answer": {"conditions": [{"condition": "c", "answer": "a"}]}},
    ],
)
def test_conditions_in_common_variants(data):
    assert CONDITIONS.read(data).answers == {"c": ("a",)}


def test_conditions_whose_answers_cannot_be_read_are_a_format_error():
    for unreadable in (True, {"said": "a"}):
        with pytest.raises(FormatError):
            CONDITIONS.read({"conditions": [condition("c", unreadable, "Fragment 1")]})
    for empty in ("", " ", None, []):
        assert not CONDITIONS.read({"conditions": [condition("c", empty, "Fragment 1")]}).answers


@pytest.mark.slow
@given(ANY_JSON, st.sampled_from(sorted(FORMATS)))
def test_any_json_is_a_prediction_or_a_format_error(data, name):
    try:
        read = FORMATS[name].read(data, IDS)
    except FormatError:
        return
    assert all(e == e.strip() != "" for entities in read.answers.values() for e in entities)
    assert all(len(set(entities)) == len(entities) for entities in read.answers.values())
    assert set(read.citations) <= set(read.answers)
