"""CondAmbigQA's four protocols: what a model is told in each, and what may not be combined."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from branchwise import System, run, score
from branchwise.base.errors import InputError, SettingError
from branchwise.eval.tasks import get_task
from branchwise.eval.tasks.registry import flow_of
from support.needs import DATA, needs_data

PUBLISHED = f"condambigqa:{DATA / 'condambigqa' / 'dev.json'}"
QUESTION = {
    "id": "q",
    "question": "Who is the president?",
    "ambiguous": True,
    "answers": {"of France": ["Emmanuel Macron."], "of Peru": ["Dina Boluarte."]},
    "passages": [
        {"id": "p1", "title": "France", "text": "The president of France is Emmanuel Macron."},
        {"id": "p2", "title": "Peru", "text": "The president of Peru is Dina Boluarte."},
    ],
}
PROTOCOLS: tuple[str, ...] = ("default", "standard", "guided", "closed")


@pytest.fixture
def questions(tmp_path: Path) -> str:
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps(QUESTION))
    return str(file)


def asked(questions: str, out: Path, **settings: Any) -> tuple[str, str, Any]:
    """The system prompt and the message of the only item, and its prediction."""
    made = run(questions, System(**settings), out=out, task="condambigqa")
    reader = made.open()
    (item,) = reader.answered_items()
    opening = next(iter(reader.events(item.item)))
    reader.close()
    return opening.data["system"], opening.data["content"], item.prediction


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_protocol_tells_what_it_should(questions: str, tmp_path: Path, protocol: str) -> None:
    system, message, prediction = asked(questions, tmp_path / "R", protocol=protocol)
    tells_conditions = all(name in message for name in ("\n1. of", "\n2. of"))
    assert tells_conditions is (protocol == "guided")
    assert ("Fragment 2: Peru" in message) is (protocol != "closed")
    assert ('"conditions"' in system) is (protocol in ("default", "guided"))
    if protocol == "guided":
        assert set(prediction.answers) == {"of France", "of Peru"}
    if protocol == "standard":
        assert set(prediction.answers) <= {"default", "default (2)"}


def test_answers_without_conditions_are_scored_each_by_itself(questions, tmp_path):
    made = run(questions, System(protocol="standard"), out=tmp_path / "R", task="condambigqa")
    (item,) = score(made).items
    assert item.metrics["answer_f1"] == pytest.approx(
        # "Emmanuel Macron" of 6 words without the article: 2 * 2 / (6 + 2), Peru alike.
        0.5
    )
    assert item.metrics["condition_f1"] is None
    assert item.metrics["count_difference"] == 0


def test_a_bound_is_in_the_prompt_and_in_the_identity(questions: str, tmp_path: Path) -> None:
    system, _, _ = asked(questions, tmp_path / "R", at_most=3)
    assert "at most 3 conditions" in system
    system, _, _ = asked(questions, tmp_path / "S", at_most=3, protocol="standard")
    assert "at most 3 citations" in system


@pytest.mark.parametrize(
    ("settings", "task", "said"),
    [
        ({"protocol": "closed", "corpus": "C"}, "condambigqa", "closed is without tools"),
        ({"protocol": "standard"}, "branches", "has no protocol 'standard'"),
        ({"protocol": "guided", "at_most": 2}, "condambigqa", "no effect with the protocol guided"),
        ({"at_most": 2}, "branches", "no effect in the task branches"),
    ],
)
def test_what_does_not_fit_is_refused(settings: dict[str, Any], task: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        flow_of(get_task(task), System(**settings))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answers": {"default": ["Nobody."]}}, "no conditions to be guided by"),
        ({"passages": []}, "it brings no passages"),
    ],
)
def test_guided_needs_conditions_and_something_to_read(tmp_path, change, said):
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps(QUESTION | change))
    with pytest.raises(InputError, match=said):
        run(str(file), System(protocol="guided"), out=tmp_path / "R", task="condambigqa")
    assert not (tmp_path / "R").exists()


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_all_published_questions_go_through_each_protocol(tmp_path: Path, protocol: str) -> None:
    made = run(PUBLISHED, System(protocol=protocol), out=tmp_path / "R")
    assert (made.state.done, made.state.failed) == (102, 0)
    assert score(made).counts.items == 102
    reader = made.open()
    for item in reader.answered_items():
        message = next(iter(reader.events(item.item))).data["content"]
        gold = [branch.name for branch in item.question.branches]
        assert not re.search(r"\[\s*Fragment", message)
        lines = message.splitlines()
        told = [sum(re.fullmatch(rf"\d+\. {re.escape(name)}", line) is not None for line in lines)
                for name in (" ".join(name.split()) for name in gold)]  # fmt: skip
        if protocol == "guided":
            assert told == [1] * len(gold)
        else:
            assert "\nConditions:\n" not in message
        assert (not item.evidence.passages) is (protocol == "closed")
    reader.close()
