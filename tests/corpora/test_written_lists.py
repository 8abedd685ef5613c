"""Lists that are written as text are lists; what only begins with a bracket is a text."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.loaders import load_questions
from branchwise.corpora.written_lists import joined, members, written_list

TWO = ["Ana", "Tom"]


@pytest.mark.parametrize(
    "text",
    [
        '["Ana", "Tom"]', "['Ana', 'Tom']", " ['Ana','Tom',] ", "['Ana' 'Tom']",
        "['Ana'\n 'Tom']", "array(['Ana', 'Tom'], dtype=object)",
        "array(['Ana', 'Tom'],\n      dtype='<U3')", "[np.str_('Ana'), np.str_('Tom')]",
        "('Ana', 'Tom')", "list(['Ana', 'Tom'])", "['Ana', nan, 'Tom', None]",
        '["Ana", null, "Tom"]',
    ],
)  # fmt: skip
def test_a_list_is_read_however_it_is_written(text: str) -> None:
    assert written_list(text) == TWO
    assert members(text) == TWO
    assert members([text]) == TWO


@pytest.mark.parametrize(
    "text",
    [
        "[sic]", "[Untitled] (1999)", "['Til Tuesday", "['Til Tuesday]", '["Weird Al"] Yankovic',
        '["Weird Al" Yankovic]', "[Ana, Tom]", "(1995)", "('Heroes')", "('Heroes' album)",
        "{Ana}", "Ana, Tom", "[", "[]x", "", "['a', b()]",
    ],
)  # fmt: skip
def test_what_only_begins_with_a_bracket_is_a_text(text: str) -> None:
    assert written_list(text) is None
    assert members(text) == [text]


def test_quotes_escapes_numbers_and_lists_in_lists_are_read() -> None:
    assert written_list("['O\\'Brien', \"D'Arcy\", 'Zo\\xeb']") == ["O'Brien", "D'Arcy", "Zoë"]
    assert written_list("[1995 1996]") == [1995, 1996]
    assert written_list("[['Ana', 'A.'], ['Tom']]") == [["Ana", "A."], ["Tom"]]
    assert written_list("[]") == []


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_what_python_writes_is_read_as_it_was(texts: list[str]) -> None:
    assert written_list(json.dumps(texts)) == texts
    if not any("\ud800" <= c <= "\udfff" for text in texts for c in text):
        assert written_list(repr(texts)) == texts


@given(st.text(alphabet="[](){}'\", \\ab1", max_size=200))
def test_no_text_of_signs_raises(text: str) -> None:
    members(text)


@pytest.mark.parametrize("sign", ["[", "['", "[1 ", "['a' ", '["a",', "(((("])
def test_long_texts_are_read_in_linear_time(sign: str) -> None:
    assert written_list(sign * 20_000 + "]") is None or sign


def test_repeated_keys_lose_nothing() -> None:
    def read(text: str) -> Any:
        return json.loads(text, object_pairs_hook=joined)

    assert read('{"a": "x", "a": "y"}') == {"a": ["x", "y"]}
    assert read('{"a": ["x"], "a": "y"}') == {"a": ["x", "y"]}
    assert read('{"a": {"b": "x"}, "a": {"c": "y"}}') == {"a": {"b": "x", "c": "y"}}
    assert read('{"a": null, "a": "y"}') == {"a": "y"}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "flashrag"])
def test_cells_with_lists_are_several_answers(form: str, tmp_path: Path) -> None:
    text, path = "['Ana' 'Tom']", tmp_path / "q"
    if form == "csv":
        path.write_text(f'question,answers\nWho?,"{text}"\n')
    elif form == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        import pyarrow

        parquet.write_table(pyarrow.table({"question": ["Who?"], "answers": [text]}), path)
    else:
        name = "golden_answers" if form == "flashrag" else "answers"
        path.write_text(json.dumps({"id": "1", "question": "Who?", name: [text]}))
    (question,) = load_questions(f"{form}:{path}").questions
    (branch,) = question.branches
    if form == "flashrag":  # they are the forms of one answer
        assert [(answer.text, *answer.aliases) for answer in branch.answers] == [("Ana", "Tom")]
    else:
        assert [answer.text for answer in branch.answers] == TWO
