"""The lexical matcher beside labelled keys as models shorten them (`branch_keys/README.md`)."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from sklearn.metrics import cohen_kappa_score

from branchwise.corpora.loaders import load_questions
from branchwise.eval.alignment import align
from support.needs import DATA, needs_data

ORDINALS = {"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "4th": "fourth"}
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


def test_the_labels_are_as_the_readme_says() -> None:
    assert Counter((pair.half, pair.same) for pair in PAIRS) == {
        ("tuning", True): 63,
        ("tuning", False): 57,
        ("held out", True): 40,
        ("held out", False): 40,
    }
    assert all(0 <= pair.reading < len(pair.readings) for pair in PAIRS)
    meant = Counter((pair.question, pair.key) for pair in PAIRS if pair.same)
    assert set(meant.values()) == {1}


@pytest.mark.parametrize("half", ["tuning", "held out"])
def test_the_matcher_agrees_with_the_labels(half: str) -> None:
    pairs = [pair for pair in PAIRS if pair.half == half]
    kappa = cohen_kappa_score([pair.same for pair in pairs], [pair.is_matched for pair in pairs])
    assert kappa >= 0.9


def test_no_key_is_matched_with_a_reading_that_it_does_not_mean() -> None:
    assert [pair for pair in PAIRS if pair.is_matched and not pair.same] == []


def parts(readings: tuple[str, ...]) -> list[str]:
    """Of each reading the words that not all readings have, in their order."""
    words = [re.findall(r"\w[\w'’./-]*\w|\w", reading) for reading in readings]
    common = set.intersection(*({word.lower() for word in own} for own in words))
    return [" ".join(word for word in own if word.lower() not in common) for own in words]


def spelt(part: str) -> str:
    """With ordinals as figures, and figures as words."""
    return " ".join(ORDINALS.get(word.lower(), word) for word in part.split())


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("write", [str, spelt, str.upper])
def test_the_part_that_sets_a_reading_apart_is_matched_with_it(write: Callable[[str], str]) -> None:
    """On a tenth of AmbigNQ's training data: 99% are, and none with another reading."""
    found: Counter[str] = Counter()
    for question in load_questions(f"ambignq:{DATA / 'ambignq' / 'train_light.json'}").questions:
        if question.ambiguous and int(question.id) % 10 == 0:
            readings = tuple(branch.name for branch in question.branches)
            keys = [write(part) for part in parts(readings)]
            if all(keys) and len(set(keys)) == len(keys):
                alignment = align(readings, keys)
                found.update(_verdict(alignment[key], n) for n, key in enumerate(keys))
    assert found.total() > 1_000
    assert found["other"] == 0
    assert found["right"] / found.total() > 0.985


def _verdict(matched: int | None, reading: int) -> str:
    return "none" if matched is None else "right" if matched == reading else "other"
