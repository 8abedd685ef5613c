"""Labelled pairs of a predicted name and a gold answer: how often the rule agrees with a person."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from branchwise.corpora.questions import Answer
from support.eval.name_pairs import NamePair, drawn_pairs
from support.eval.scoring_cases import strict

TypeIn = Callable[..., tuple[int, str, str]]
LABELS = Path(__file__).with_name("name_pairs.jsonl")
DATA = Path(os.environ.get("BRANCHWISE_DATA", ""))
CASES = DATA.parent / "cases"
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


def lines_of(name: str) -> list[dict[str, Any]]:
    path = CASES / name
    return (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    )


def scored(folder: Path, cases: Mapping[str, tuple[Any, Any]], type_in: TypeIn) -> dict[str, Any]:
    """By case what the command line scores: gold answers, and predicted ones."""
    questions, predictions = folder / "questions.jsonl", folder / "predictions.jsonl"
    questions.write_text(
        "".join(
            json.dumps({"id": id, "question": "Which?", "answers": gold}) + "\n"
            for id, (gold, _) in cases.items()
        )
    )
    predictions.write_text(
        "".join(
            json.dumps({"id": id, "answers": {"default": given}}) + "\n"
            for id, (_, given) in cases.items()
        )
    )
    options = ["--questions", str(questions), "--predictions", str(predictions), "--json"]
    code, out, err = type_in("score", *options)
    assert code == 0, err
    return {item["id"]: item for item in json.loads(out)["items"]}


@needs_data
@pytest.mark.slow
def test_typed_answers_score_as_they_should(tmp_path: Path, type_in: TypeIn) -> None:
    cases = lines_of("answers.jsonl")
    found = scored(tmp_path, {c["id"]: (c["gold"], c["predicted"]) for c in cases}, type_in)
    for case in cases:
        metrics = found[case["id"]]["metrics"]
        assert metrics["strict_recall"] == case["recall"], case
        assert case["precision"] in (None, metrics["strict_precision"]), case


@needs_data
@pytest.mark.slow
def test_names_of_models_are_judged_right(tmp_path: Path, type_in: TypeIn) -> None:
    cases = lines_of("answers_of_models.jsonl")
    found = scored(
        tmp_path, {str(n): ([c["gold"]], [c["answer"]]) for n, c in enumerate(cases)}, type_in
    )
    for n, case in enumerate(cases):
        assert (found[str(n)]["metrics"]["strict_recall"] == 1) is case["right"], case
