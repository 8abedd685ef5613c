"""Labelled pairs: keys as models shorten them (`branch_keys/README.md`), and names of answers."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from sklearn.metrics import cohen_kappa_score

from branchwise.corpora.questions import Answer
from branchwise.eval.alignment import align
from support.eval.name_pairs import NamePair, drawn_pairs
from support.eval.scoring_cases import strict

LABELS = Path(__file__).parent / "branch_keys" / "ambignq.yaml"


@dataclass(frozen=True)
class LabelledKey:
    """A key, the reading that it is compared with, and whether it means that reading alone."""

    question: str
    readings: tuple[str, ...]
    key: str
    reading: int
    same: bool

    @property
    def half(self) -> str:
        digest = hashlib.sha256(self.question.encode()).hexdigest()
        return "tuning" if int(digest, 16) % 5 < 3 else "held out"

    @property
    def is_matched(self) -> bool:
        return align(self.readings, [self.key])[self.key] == self.reading


def labelled() -> Iterator[LabelledKey]:
    for question in yaml.safe_load(LABELS.read_text(encoding="utf-8")):
        for key, reading, same in question["pairs"]:
            yield LabelledKey(question["id"], tuple(question["readings"]), key, reading, same)


PAIRS = list(labelled())


@pytest.mark.parametrize("half", ["tuning", "held out"])
def test_the_matcher_agrees_with_the_labels(half: str) -> None:
    pairs = [pair for pair in PAIRS if pair.half == half]
    kappa = cohen_kappa_score([pair.same for pair in pairs], [pair.is_matched for pair in pairs])
    assert kappa >= 0.9


def test_no_key_is_matched_with_a_reading_that_it_does_not_mean() -> None:
    assert [pair for pair in PAIRS if pair.is_matched and not pair.same] == []


NAME_LABELS = Path(__file__).with_name("name_pairs.jsonl")
DATA_SETS = Path(os.environ.get("BRANCHWISE_DATA", ""))
needs_data_sets = pytest.mark.skipif(
    not (DATA_SETS / "recorded2").is_dir(), reason="needs the data sets (BRANCHWISE_DATA=FOLDER)"
)


def is_accepted(pair: NamePair) -> bool:
    gold = Answer(text=pair.text, aliases=pair.aliases)
    return strict({"default": [gold]}, {"default": [pair.name]}).right == 1


@needs_data_sets
@pytest.mark.slow
def test_accepted_names_are_of_the_same_thing() -> None:
    pairs = drawn_pairs(DATA_SETS)
    labels = [json.loads(line) for line in NAME_LABELS.read_text("utf-8").splitlines()]
    assert [pair.digest for pair in pairs] == [label["digest"] for label in labels]
    same = {label["digest"] for label in labels if label["same"]}
    accepted = {pair.digest for pair in pairs if is_accepted(pair)}
    assert len(accepted & same) / len(accepted) >= 0.99
    assert len(accepted & same) / len(same) >= 0.98
