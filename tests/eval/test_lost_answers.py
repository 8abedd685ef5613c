"""Labelled lost answers of published sets: whether a passage that was retrieved states them."""

import json
from pathlib import Path

import pytest

from support.eval.lost_answers import drawn_answers
from support.needs import DATA, needs_data

LABELS = Path(__file__).with_name("lost_answers.jsonl")


@needs_data
@pytest.mark.slow
def test_each_label_is_of_a_drawn_answer(tmp_path: Path) -> None:
    cases = drawn_answers(DATA, tmp_path)
    labels = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    assert [case.digest for case in cases] == [label["digest"] for label in labels]
    assert sum(label["stated"] for label in labels) == 66
