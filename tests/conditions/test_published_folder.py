"""MDCR's published folder: read whole, answered as the paper defines, refused in one line."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.corpora.conditions.conditions_file import (
    conditions_record,
    parse_conditions,
    read_conditions,
)
from branchwise.corpora.conditions.documents import ConditionsAnswer
from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.corpora.loaders import load_questions
from support.conditions.published import SMALL, gold_of, written
from support.needs import DATA, needs_data


def read(folder: Path) -> list[ConditionsQuestion]:
    return [ConditionsQuestion.of(one) for one in load_questions(f"mdcr:{folder}").questions]


def short_answers(folder: Path) -> list[tuple[Any, ...]]:
    shorts = [one.gold.short for one in read(folder)]
    return [*zip(shorts[0::3], shorts[1::3], shorts[2::3], strict=True)]


def test_a_folder_is_read_with_several_sentences_a_condition(tmp_path: Path) -> None:
    folder = written(tmp_path / "mdcr")
    loaded = load_questions(f"mdcr:{folder}")
    assert (loaded.task, [one.id for one in loaded.questions]) == (
        "mdcr",
        ["s0-q1", "s0-q2", "s0-q3", "s1-q1", "s1-q2", "s1-q3"],
    )
    first, both, most, *others = read(folder)
    assert [*map(str, first.problem.relations)] == [
        "doc0-p1 is narrower than doc1-p1",
        "doc0-p2 conflicts with doc1-p1",
        "doc0-p1 conflicts with doc0-p2",
    ]
    assert str(first.problem.documents[0].expression) == "(p1 OR p2) AND p3"
    ways = (("doc0-c0", "doc0-c1"), ("doc0-c0", "doc0-c2"), ("doc1-c0", "doc1-c1"))
    assert first.gold == ConditionsAnswer("yes", ways)
    # p1 stands for the wider doc1-p1, whose sentence doc1-p2 still needs; p2 conflicts with it.
    together = (("doc0-c0", "doc0-c1", "doc1-c0", "doc1-c1"),)
    assert both.gold == ConditionsAnswer("yes", together)
    assert most.gold == ConditionsAnswer(2, together)
    # What the scenario says of the other document rules doc1-p1 out.
    assert dict(others[0].problem.values) == {"doc0-p2": True, "doc1-p3": True}
    assert [one.gold for one in others] == [*map(ConditionsAnswer, ("no", "no", 0))]


def test_a_folder_is_the_same_in_our_own_form(tmp_path: Path) -> None:
    found = read_conditions(written(tmp_path / "mdcr"))
    assert parse_conditions(conditions_record(found), found.path) == found


@needs_data
def test_all_published_scenarios_load_and_have_the_short_answers_of_the_papers_text() -> None:
    expected = [*gold_of(DATA / "mdcr")]
    assert len(expected) >= 259
    assert short_answers(DATA / "mdcr") == expected


RELATIONS = ("conflicting", "equivalent", "including", "included", "choose one")


@st.composite
def folders(draw: st.DrawFn) -> dict[str, Any]:
    """Small folders with relations of every label, also within a document."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=3))
    conditions = [(n, f"c{c + 1}") for n, size in enumerate(sizes) for c in range(size)]
    relations: dict[str, dict[str, Any]] = {}
    seen: set[frozenset[Any]] = set()
    related = st.tuples(*[st.sampled_from(conditions)] * 2, st.sampled_from(RELATIONS))
    for (one, first), (other, second), label in draw(st.lists(related, max_size=5)):
        pair = frozenset({(one, first), (other, second)})
        if len(pair) == 2 and pair not in seen:
            seen.add(pair)
            relations.setdefault(f"{one}-{other}", {})[f"{first}-{second}"] = {"rel": label}
    said = draw(st.dictionaries(st.sampled_from(conditions), st.booleans(), max_size=3))
    shown = draw(st.lists(st.sampled_from(range(len(sizes))), min_size=1, unique=True))
    parsed = []
    for size in sizes:
        names = [f"c{c + 1}" for c in range(size)]
        inner = draw(st.sampled_from(["and_1", "or_1"]))
        groups = {inner: names, "all (and)": [inner]}
        parsed.append({"conditions": dict.fromkeys(names, 0) | groups})
    return {
        "docs.json": [{"title": "", "contents": ["A sentence."]} for _ in sizes],
        "parsed.json": parsed,
        "rels.json": relations,
        "qs.json": [
            {
                "doc_idxs": shown,
                "given_conditions": [f"doc{n}-{name}" for n, name in said],
                "given_values": [*said.values()],
                "scenario": "",
            }
        ],
    }


@given(folders())
def test_short_answers_are_those_of_the_papers_text(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, Any]
) -> None:
    folder = written(tmp_path_factory.mktemp("folders"), files)
    try:
        found = short_answers(folder)
    except InputError as error:
        refused = str(error)
    else:
        assert found == [*gold_of(folder)]
        return
    assert "not all of these can hold" in refused or "never be true" in refused


def changed(name: str, *path: str | int, to: Any) -> dict[str, Any]:
    """The small folder with another value at a place of a file; `...` removes what is there."""
    files = copy.deepcopy(SMALL)
    inner: Any = files
    for key in (name, *path)[:-1]:
        inner = inner[key]
    if to is ...:
        del inner[(name, *path)[-1]]
    else:
        inner[(name, *path)[-1]] = to
    return files


CONDITIONS = ("parsed.json", 1, "conditions")


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (changed("rels.json", to=...), "mdcr: has no rels.json; name MDCR's folder, which holds"),
        ({"dev.json": []}, "mdcr: has no docs.json; name MDCR's folder, which holds docs.json, "),
        (changed("qs.json", to="[{"), "mdcr/qs.json: Invalid JSON: EOF while parsing an object"),
        (changed("docs.json", to={}), "mdcr/docs.json: Input should be a valid array; compare"),
        (changed("docs.json", 1, to=...), "mdcr/parsed.json: has 2 documents, docs.json 1; comp"),
        (changed(*CONDITIONS, "c3", to=5), "condition p3: there is no sentence 'c5'; name one"),
        (changed(*CONDITIONS, "c3", to=-1), "mdcr/parsed.json: 1.conditions.c3."),
        (changed(*CONDITIONS, "nor_1", to=["c1"]), "parsed.json:document 1: 'nor_1' is neither"),
        (changed(*CONDITIONS, "all (and)", to=...), "parsed.json:document 1: has no 'all (and)'"),
        (
            changed(*CONDITIONS, "and_1", to=["c1", "or_4"]),
            "mdcr/parsed.json:document 1: and_1 names 'or_4', which is not before it; compare",
        ),
        (
            changed("parsed.json", 1, "mapping", "c2", to=...),
            "parsed.json:document 1: mapping does not say of which sentence c2 is a part; compare",
        ),
        (
            changed("rels.json", "0-1", "c1-c1", "rel", to="includes"),
            "rels.json:0-1, c1-c1: unknown relation 'includes'; did you mean included?",
        ),
        (
            changed("rels.json", "0-1", "c1-c9", to={"rel": "conflicting"}),
            "rels.json:0-1, c1-c9: document 1 has no condition 'c9'; compare with",
        ),
        (changed("rels.json", "0-1", "c1", to={}), "rels.json:0-1, c1: is not two conditions"),
        (changed("rels.json", "a", to={}), "rels.json:'a': is not two numbers of documents; comp"),
        (
            changed("qs.json", 0, "given_values", to=[]),
            "mdcr/qs.json:entry 0: has 1 conditions, but 0 values; compare with",
        ),
        (
            changed("qs.json", 0, "given_conditions", to=["c3"]),
            "mdcr/qs.json:entry 0: 'c3' is not a condition; compare with",
        ),
        (
            changed("qs.json", 0, "given_conditions", to=["doc0-c8"]),
            "mdcr:scenario s0, values: there is no condition 'doc0-p8'; did you mean",
        ),
        (
            changed("qs.json", 0, "doc_idxs", to=[0, 4]),
            "mdcr:scenario s0, documents: there is no document 'doc4'; did you mean",
        ),
    ],
)
def test_what_is_not_as_published_is_refused_in_one_line(
    tmp_path: Path, type_in: Any, files: dict[str, Any], line: str
) -> None:
    folder = written(tmp_path / "mdcr", files)
    code, _, error = type_in("mdcr", "solve", folder)
    assert (code, error.count("\n")) == (2, 1)
    assert line in error
    with pytest.raises(InputError) as refused:
        load_questions(f"mdcr:{folder}")
    assert line in str(refused.value)


def test_a_file_of_the_folder_names_the_folder(tmp_path: Path, type_in: Any) -> None:
    folder = written(tmp_path / "mdcr")
    for name in SMALL:
        code, _, error = type_in("mdcr", "info", folder / name)
        assert (code, error.count("\n")) == (2, 1)
        assert "MDCR's folder, which holds docs.json, parsed.json, rels.json, qs.json" in error


def test_a_value_and_its_contrary_of_one_condition_are_refused(tmp_path: Path) -> None:
    files = copy.deepcopy(SMALL)
    files["qs.json"][0] |= {
        "given_conditions": ["doc0-c3", "doc0-c3"],
        "given_values": [True, False],
    }
    with pytest.raises(InputError, match=r"qs\.json:entry 0: doc0-c3 is both true and false"):
        read_conditions(written(tmp_path / "mdcr", json.loads(json.dumps(files))))
