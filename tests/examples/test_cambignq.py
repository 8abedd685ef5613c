"""The sample set of questions back: well formed, and it goes through every task with `offline`."""

import json
from pathlib import Path
from typing import Any

import pytest

from branchwise import System, run
from branchwise.commands.folders import export_lines
from branchwise.corpora.build import build_corpus, build_index
from branchwise.corpora.clarification import parse_clarification
from branchwise.corpora.questions import Question
from branchwise.eval.tasks import get_task
from branchwise.runs.scoring.score import PredictionsFile, ScoringSettings, score_answers

FOLDER = Path(__file__).parents[2] / "examples" / "benchmarks"
SAMPLE, PASSAGES = FOLDER / "cambignq.jsonl", FOLDER / "cambignq-corpus.jsonl"
QUESTIONS = [Question.model_validate_json(line) for line in SAMPLE.read_text().splitlines()]
AMBIGUOUS = [question for question in QUESTIONS if question.ambiguous]
CONTENTS = {one["id"]: one["contents"] for one in map(json.loads, PASSAGES.open())}
WAYS = [
    ("ambiguity", "default"), ("ambiguity", "answers"), ("clarification", "default"),
    ("clarification", "answers"), ("clarification", "gold-answers"), ("clarified", "default"),
    ("clarified", "answers"), ("clarified", "gold-answers"), ("clarified", "gold-question"),
    ("clarified", "dialogue"), ("clarify", "default"), ("clarify", "answers-to-detect"),
    ("clarify", "answers-to-ask"), ("clarify", "answers"),
]  # fmt: skip


def test_it_is_well_formed() -> None:
    assert len(QUESTIONS) == len({question.id for question in QUESTIONS}) >= 40
    assert 10 <= len(QUESTIONS) - len(AMBIGUOUS) <= len(AMBIGUOUS)
    for question in AMBIGUOUS:
        asked = parse_clarification(question.meta["clarification_question"])
        assert asked.options == tuple(branch.name for branch in question.branches)
        assert asked.text == question.meta["clarification_question"]


def test_every_answer_stands_in_the_passage_that_supports_it() -> None:
    answers = [answer for one in QUESTIONS for branch in one.branches for answer in branch.answers]
    assert len(answers) > len(QUESTIONS)
    for answer in answers:
        (support,) = answer.support
        assert all(form in CONTENTS[support] for form in answer.forms)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("corpus") / "C"
    build_corpus(str(PASSAGES), folder)
    build_index(folder, "bm25")
    return str(folder)


@pytest.mark.long
@pytest.mark.parametrize(("task", "protocol"), WAYS)
def test_every_task_and_protocol_runs_without_a_model(
    corpus: str, tmp_path: Path, task: str, protocol: Any
) -> None:
    system = System(corpus=corpus, retriever="bm25", protocol=protocol)
    made = run(str(SAMPLE), system, out=tmp_path / "R", task=task)
    settings = ScoringSettings(saves=False)
    scores = score_answers(made, settings).scores
    counts = scores.counts
    assert (counts.items, counts.failed, counts.format_errors) == (len(QUESTIONS), 0, 0)
    found = {key: mean for key, mean in scores.aggregates["all"].items() if mean.mean is not None}
    shares = {one.key for one in get_task(task).columns if one.unit == "share"}
    assert all(0 <= found[key].mean <= 1 for key in shares & found.keys())
    # A floor, but one that finds something: the passages say all.
    headline = [one.key for one in get_task(task).columns if one.role == "recall"]
    assert all(found[key].mean > 0.5 for key in headline)
    if protocol in ("gold-question", "dialogue"):
        assert found["option_accuracy"].n == len(AMBIGUOUS)
    exported = tmp_path / "predictions.jsonl"
    reader = made.open()
    exported.write_bytes(b"".join(export_lines(reader)))
    reader.close()
    again = score_answers(PredictionsFile(exported, str(SAMPLE), task), settings).scores
    assert again.to_json()["items"] == scores.to_json()["items"]
