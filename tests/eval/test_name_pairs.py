"""Labelled pairs of a predicted name and a gold answer: how often the rule agrees with a person."""

import json
import os
from pathlib import Path

import pytest

from branchwise.corpora.questions import Answer
from support.eval.name_pairs import NamePair, drawn_pairs
from support.eval.scoring_cases import strict

LABELS = Path(__file__).with_name("name_pairs.jsonl")
DATA = Path(os.environ.get("BRANCHWISE_DATA", ""))
needs_data = pytest.mark.skipif(
    not (DATA / "recorded2").is_dir(), reason="needs the data sets (BRANCHWISE_DATA=FOLDER)"
)


def is_accepted(pair: NamePair) -> bool:
    gold = Answer(text=pair.text, aliases=pair.aliases)
    return strict({"default": [gold]}, {"default": [pair.name]}).right == 1


@needs_data
@pytest.mark.slow
def test_accepted_names_are_of_the_same_thing() -> None:
    pairs = drawn_pairs(DATA)
    labels = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    assert [pair.digest for pair in pairs] == [label["digest"] for label in labels]
    same = {label["digest"] for label in labels if label["same"]}
    accepted = {pair.digest for pair in pairs if is_accepted(pair)}
    assert len(accepted & same) / len(accepted) >= 0.99
    assert len(accepted & same) / len(same) >= 0.98
