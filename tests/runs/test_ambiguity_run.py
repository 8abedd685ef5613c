"""The task `ambiguity` from question files over runs and exports to scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from branchwise import System, run, score
from branchwise.agents.prediction import FORMATS
from branchwise.base.errors import InputError, SettingError
from branchwise.commands.folders import export_lines
from branchwise.corpora.build import build_corpus, build_index
from branchwise.eval.tasks import get_task
from branchwise.report.exports import markdown
from branchwise.report.run_folders import report_of_runs
from branchwise.report.tables import report_tables
from branchwise.runs.scoring.score import PredictionsFile, ScoringSettings, score_answers
from support.chat_server import say

TASK = get_task("ambiguity")
VERDICTS = FORMATS["ambiguity"]
# Gold: three of six are ambiguous.
LABELS = {"q1": True, "q2": True, "q3": True, "q4": False, "q5": False, "q6": False}
SAID = {"q1": True, "q2": True, "q3": False, "q4": True, "q5": False}
"""q6 has no readable answer."""
# Right: q1, q2, q5 of six. "Ambiguous" is said of q1, q2, q4 and right of two; gold has three.
SCORES = {
    "accuracy": 3 / 6,
    "ambiguous_precision": 2 / 3,
    "ambiguous_recall": 2 / 3,
    "ambiguous_f1": 2 * 2 / (3 + 3),
}


@pytest.fixture
def questions(tmp_path: Path) -> str:
    """Labels alone: no branch, no answer."""
    file = tmp_path / "q.jsonl"
    lines = [{"id": id, "question": f"{id}?", "ambiguous": gold} for id, gold in LABELS.items()]
    file.write_text("\n".join(map(json.dumps, lines)))
    return str(file)


def means(found: Any) -> dict[str, float]:
    return {key: found.aggregates["all"][key].mean for key in SCORES}


def verdicts(body: Any) -> Any:
    asked = body["messages"][1]["content"].rstrip("?")
    text = json.dumps({"reasoning": "", "ambiguous": SAID[asked]}) if asked in SAID else "hard"
    return say(text)


def listed(body: Any) -> Any:
    """Two different answers where it says ambiguous, one in two spellings or none where not."""
    asked = body["messages"][1]["content"].rstrip("?")
    several: Any = {"a": ["1987"], "b": ["1989"]}
    one = {"a": ["The Film"], "b": ["film"]} if asked == "q5" else {}
    found = several if SAID.get(asked) else one
    return say(json.dumps({"answers": found}) if asked in SAID else "hard")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "answer", "none_listed"), [("default", verdicts, None), ("answers", listed, 1 / 5)]
)
def test_verdicts_of_a_model_are_scored_and_read_back_from_an_export(
    chat_server, make_system, questions, tmp_path, protocol, answer, none_listed
):
    chat_server.play(answer)
    system = make_system().model_copy(update={"asking": {"protocol": protocol}})
    made = run(questions, system, out=tmp_path / "R", task=TASK.name)
    found = score(made)
    assert means(found) == pytest.approx(SCORES)
    assert found.aggregates["all"]["none_listed"].mean == (
        none_listed if none_listed is None else pytest.approx(none_listed)
    )
    reader = made.open()
    exported = tmp_path / "p.jsonl"
    exported.write_bytes(b"".join(export_lines(reader)))
    reader.close()
    assert means(score_answers(PredictionsFile(exported, questions, TASK.name)).scores) == means(
        found
    )
    report = report_of_runs([("a", score_answers(made.path, ScoringSettings(saves=False)))])
    text = markdown(report, report_tables(report))
    assert "accuracy" in text
    assert ("none listed" in text) is (none_listed is not None)


def test_what_is_told_fits_the_way(chat_server, make_system, questions, tmp_path):
    chat_server.play(verdicts)
    run(questions, make_system(), out=tmp_path / "R", task=TASK.name)
    told = chat_server.requests[0]["messages"][0]["content"]
    assert '{"reasoning": "...", "ambiguous": true}' in told
    known = "no protocol 'guided'; leave it out: its protocols: answers"
    with pytest.raises(SettingError, match=known):
        run(questions, System(protocol="guided"), out=tmp_path / "S", task=TASK.name)


@pytest.mark.slow
def test_offline_says_whether_passages_tell_several_readings(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "examples" / "films"
    corpus = tmp_path / "C"
    build_corpus(str(folder / "corpus.jsonl"), corpus)
    build_index(corpus, "bm25")
    source = str(folder / "questions.jsonl")
    system = System(corpus=str(corpus), retriever="bm25")
    made = run(source, system, out=tmp_path / "R", task=TASK.name)
    assert made.state.failed == 0
    said = {item.prediction.task_output["ambiguous"] for item in made.open().answered_items()}
    assert said == {True, False}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"id": "q1", "task_output": {"ambiguous": "maybe"}}, r':1: "task_output": .*neither true'),
        ({"id": "q1", "task_output": "yes"}, r':1: "task_output": .*no key "ambiguous"'),
        ({"id": "q1"}, ':1: "answers" is missing'),
    ],
)
def test_an_output_that_cannot_be_scored_is_refused(questions, tmp_path, line, message):
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps(line))
    with pytest.raises(InputError, match=message):
        score_answers(PredictionsFile(file, questions, TASK.name))


def test_a_question_needs_what_its_task_is_scored_by(questions: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"q\.jsonl:1: question 'q1' has no gold answers"):
        run(questions, System(), out=tmp_path / "R")
    file = tmp_path / "unlabelled.jsonl"
    file.write_text(json.dumps({"id": "q", "question": "?"}))
    with pytest.raises(InputError, match=r"unlabelled\.jsonl:1: question 'q' has no gold label"):
        run(str(file), System(), out=tmp_path / "R", task=TASK.name)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"ambiguous": True}, True),
        ({"reasoning": "r", "ambiguous": "No."}, False),
        ({"answer": {"ambiguous": "yes"}}, True),
        ([{"ambiguous": False}], False),
    ],
)
def test_verdicts_in_common_variants(data: object, said: bool) -> None:
    assert VERDICTS.read(data).task_output == {"ambiguous": said}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "the task ambiguity is not scored by a model"),
        (("--variant", "published-code"), "the task ambiguity has no variant 'published-code'"),
        (("--judge-pairs", "aligned"), "the task ambiguity is not graded by a model"),
    ],
)
def test_a_judge_has_nothing_to_grade(questions, tmp_path, type_in, options, said):
    run(questions, System(), out=tmp_path / "R", task=TASK.name)
    code, _, error = type_in("score", tmp_path / "R", "--judge", "openai:gpt-6-luna", *options)
    assert (code, said in error, error.count("\n")) == (2, True, 1)
