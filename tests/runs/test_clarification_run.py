"""The task `clarification` from CAmbigNQ's file form over runs and exports to scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from branchwise import System, run, score
from branchwise.agents.prediction import FORMATS
from branchwise.commands.folders import export_lines
from branchwise.corpora.build import build_corpus, build_index
from branchwise.corpora.clarification import parse_clarification
from branchwise.runs.scoring.score import PredictionsFile, score_answers
from support.chat_server import say

FORMAT = FORMATS["clarification"]
GOLD = {
    "q1": "Which film: the 1933 film, or the 2005 film?",
    "q2": "Which team: the men, or the women?",
    "q3": "In which year: 1987, or 1989?",
}
SAID = {"q1": "Which film: the 1933 film, or the 2005 film?", "q2": "Which one do you mean?"}
"""q3 has no readable answer."""


@pytest.fixture
def questions(tmp_path: Path) -> str:
    file = tmp_path / "cq_dev.json"
    entries = [
        {
            "id": id, "question": f"{id}?", "dqs": ["a?", "b?"],
            "clarification_answers": [["A"], ["B"]], "clarification_question": text,
        }
        for id, text in GOLD.items()
    ]  # fmt: skip
    file.write_text(json.dumps(entries))
    return f"cambignq:{file}"


def written(body: Any) -> Any:
    asked = body["messages"][1]["content"].rstrip("?")
    answer = {"reasoning": "", "clarification_question": SAID.get(asked)}
    return say(json.dumps(answer) if asked in SAID else "hard")


def test_questions_back_of_a_model_are_scored_and_read_back_from_an_export(
    chat_server: Any, make_system: Any, questions: str, tmp_path: Path
) -> None:
    chat_server.play(written)
    made = run(questions, make_system(), out=tmp_path / "R", task="clarification")
    found = score(made).aggregates["all"]
    # Of q1 both options are right, of q2 and q3 none was offered: 2 / 2, and 2 of 6.
    assert found["option_precision"].mean == 1.0
    assert found["option_recall"].mean == pytest.approx(2 / 6)
    assert found["option_f1"].mean == pytest.approx(2 * (1 / 3) / (1 + 1 / 3))
    assert found["category_exact"].mean == pytest.approx(1 / 3)
    assert found["form_errors"].mean == pytest.approx(2 / 3)
    reader = made.open()
    exported = tmp_path / "p.jsonl"
    exported.write_bytes(b"".join(export_lines(reader)))
    reader.close()
    again = score_answers(PredictionsFile(exported, questions, "clarification")).scores.aggregates[
        "all"
    ]
    assert {key: one.mean for key, one in again.items()} == {
        key: one.mean for key, one in found.items()
    }
    told = chat_server.requests[0]["messages"][0]["content"]
    assert '"clarification_question": "Which film' in told


@pytest.mark.slow
def test_offline_asks_back_in_the_form(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "examples" / "films"
    corpus = tmp_path / "C"
    build_corpus(str(folder / "corpus.jsonl"), corpus)
    build_index(corpus, "bm25")
    system = System(corpus=str(corpus), retriever="bm25")
    made = run(str(folder / "questions.jsonl"), system, out=tmp_path / "R", task="clarification")
    assert made.state.failed == 0
    asked = [item.prediction.task_output for item in made.open().answered_items()]
    read = [parse_clarification(one["clarification_question"]) for one in asked]
    assert max(len(one.options) for one in read) > 1


def test_the_object_may_be_in_another() -> None:
    told = {"clarification_question": "Which one:\n a, or b?"}
    assert FORMAT.read([{"answer": told}]).task_output == {
        "clarification_question": "Which one: a, or b?"
    }
    assert not FORMAT.fits([told])
    assert FORMAT.fits({"reasoning": "", **told})


@pytest.mark.parametrize("protocol", ["default", "gold-answers"])
def test_only_one_protocol_tells_gold_answers(chat_server, make_system, tmp_path, protocol):
    chat_server.play(written)
    file = tmp_path / "q.jsonl"
    answers = {"the men": ["Zebedee"], "the women": ["Quorra", "Zebedee"]}
    file.write_text(json.dumps({"id": "q1", "question": "q1?", "answers": answers}))
    system = make_system().model_copy(update={"asking": {"protocol": protocol}})
    run(str(file), system, out=tmp_path / "R", task="clarification")
    request = chat_server.requests[0]
    first, *told = request["messages"][1]["content"].split("\n")
    assert first == "q1?"
    if protocol == "default":
        assert not told
        assert "Zebedee" not in json.dumps(request)
    else:
        assert told[:2] == ["", "Its answers:"]
        assert {line[3:] for line in told[2:]} == {"Zebedee", "Quorra"}
