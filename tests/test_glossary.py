"""One vocabulary: what docs/glossary.md says is what every output says."""

import ast
import re
from pathlib import Path

import pytest

from branchwise.eval.errors import labels
from branchwise.eval.errors.labels import ANSWER_ERRORS, Label, label_words
from branchwise.eval.tasks import TASKS
from support.rooms import ROOMS, ROOT, product_files

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")
NOT_SAID = ("non-ambiguous", "nonambiguous", "sub-question")
"""Other words for what the glossary has."""


def test_the_glossary_has_every_label_under_its_words() -> None:
    rows = re.findall(r"^\| \*\*([^*]+)\*\* \| `(\w+)` \|", GLOSSARY, re.MULTILINE)
    assert dict(rows) == {label.words: label.value for label in Label}


def test_words_tell_labels_apart_and_are_no_values() -> None:
    words = [label.words for label in Label]
    assert len(set(words)) == len(words)
    assert not {*words} & {label.value for label in Label}
    assert [label_words(label.value) for label in Label] == words
    assert label_words("of a later version") == "of a later version"


def test_classes_of_errors_are_in_the_glossary() -> None:
    for one in ANSWER_ERRORS.classes:
        assert f"*{one.title}*" in GLOSSARY


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_every_name_of_a_subset_is_in_the_glossary(task) -> None:
    for words in task.subset_words.values():
        assert words == "all" or f"*{words}*" in GLOSSARY


def texts_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


@pytest.mark.slow
def test_the_words_of_a_label_are_written_once() -> None:
    words = {label.words for label in Label}
    home = Path(labels.__file__).resolve()
    for file in product_files():
        if file != home:
            assert not words & texts_of(file), file


def test_no_output_or_page_has_another_word() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("examples/*/*.md")]
    code = [file for room in ROOMS for file in (ROOT / room).rglob("*.[pjm]*")]
    for file in (*pages, *(one for one in code if one.suffix in (".py", ".j2", ".js", ".md"))):
        text = file.read_text("utf-8").lower()
        assert not [word for word in NOT_SAID if word in text], file
