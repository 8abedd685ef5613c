"""The pipeline of questions back: every combination and oracle, with scores worked out by hand."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from branchwise import System, run, score
from branchwise.base.errors import SettingError
from branchwise.commands.folders import export_lines
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.report.exports import markdown
from branchwise.report.html.page import render_html
from branchwise.report.run_folders import report_of_runs
from branchwise.report.tables import report_tables
from branchwise.runs.scoring.score import PredictionsFile, ScoringSettings, score_answers
from branchwise.ui.traces.plain import item_lines
from branchwise.ui.traces.runs import RunView
from support.chat_server import say
from support.runs.clarifying import ANSWERED, QUESTIONS, option_of, reply, stage_of, write_questions

# Of "Michael Mann" 4 of 12 characters are gold's "Mann", which is whole in it; the other answers
# are gold's. Each ambiguous question's precision and recall, as sums over what was said, and over
# the two that gold has; q3, which has one reading, is in no score.
ALONE = ((1 / 3 + 1, 2), (2, 2)), ((1, 1), (1, 2))
ONE = ((1 / 3, 1), (1, 2))
UNANSWERED = ((0, 1), (0, 2))
# The second "Cooper" stands beside "Guillermin", which has "er", too: 2 of 6, and 2 of 10.
TWICE = ((1 + 1 / 3, 2), (1 + 1 / 5, 2))
COMBINATIONS = {
    # q2 is called unambiguous, which counts as one wrong answer.
    "default": ((ALONE[0], UNANSWERED), (1 / 3, 1 / 2, 1 / 2), (0, 0, None)),
    # The answers tell all three rightly.
    "answers-to-detect": ((ALONE[0], ALONE[1]), (1, 1, 1), (0, 0, None)),
    "answers-to-ask": ((ONE, UNANSWERED), (1 / 3, 1 / 2, 1 / 2), (0, 0, None)),
    "answers": ((ONE, TWICE), (1, 1, 1), (0, 0, None)),
}
ORACLES = {
    "default": (ALONE[0], ALONE[1]),
    "answers": (ONE, TWICE),
    "gold-answers": (ONE, TWICE),
    "gold-question": (ALONE[0], ALONE[1]),
}


@pytest.fixture
def made_by(chat_server: Any, make_system: Any, tmp_path: Path) -> Any:
    """Runs a task by a protocol with the scripted model."""
    questions = write_questions(tmp_path)

    def make(task: str, protocol: str, script: Any = reply, **settings: Any) -> Any:
        chat_server.play(script)
        system = make_system().model_copy(update={"asking": {"protocol": protocol, **settings}})
        return run(questions, system, out=tmp_path / f"{task}-{protocol}", task=task)

    return make


def means(scores: Any, *keys: str) -> Any:
    found = scores.aggregates["all"]
    return tuple(found[key].mean for key in keys)


def expected(sums: Any) -> Any:
    """Precision, recall and F1 of the whole set."""
    parts = [[sum(one[side][n] for one in sums) for n in (0, 1)] for side in (0, 1)]
    p, r = (right / number for right, number in parts)
    return pytest.approx((p, r, 2 * p * r / (p + r)))


ANSWERS = ("answer_precision", "answer_recall", "answer_f1")
DETECTION = ("accuracy", "ambiguous_precision", "ambiguous_recall")


@pytest.mark.slow
@pytest.mark.parametrize("protocol", COMBINATIONS)
def test_errors_of_each_stage_are_carried_through(made_by: Any, protocol: str) -> None:
    sums, detection, wrong_forms = COMBINATIONS[protocol]
    made = made_by("clarify", protocol)
    found = score(made)
    assert means(found, *ANSWERS) == expected(sums)
    assert means(found, *DETECTION) == pytest.approx(detection)
    items = {item.id: item.metrics["form_errors"] for item in found.items}
    assert tuple(items.values()) == wrong_forms
    assert found.counts.failed == found.counts.format_errors == 0


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ORACLES)
def test_gold_or_predicted_answers_or_the_gold_question(made_by: Any, protocol: str) -> None:
    assert means(score(made_by("clarified", protocol)), *ANSWERS) == expected(ORACLES[protocol])


def test_where_the_options_are_gold_answers_are_right_or_contain_a_right_one(made_by, chat_server):
    found = score(made_by("clarified", "gold-question"))
    # Right are Richards and Cooper of four; "Michael Mann" contains "Mann".
    assert means(found, "option_exact", "option_accuracy") == (2 / 4, 3 / 4)
    assert {stage_of(body) for body in chat_server.requests} == {"option"}
    # The question with one reading has no gold question, so nothing is asked.
    assert Counter(option_of(body) for body in chat_server.requests) == dict.fromkeys(
        ("the 1995 film", "the 1986 film", "the 1933 film", "the 1976 film"), 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("shots", [0, 4])
def test_in_a_dialogue_the_gold_options_are_what_the_user_says(made_by, chat_server, shots):
    found = score(made_by("clarified", "dialogue", of_dialogue, shots=shots))
    assert means(found, "option_exact", "option_accuracy") == (2 / 4, 3 / 4)
    assert means(found, *ANSWERS) == expected(ORACLES["gold-question"])
    talks = [body["messages"] for body in chat_server.requests]
    assert [[one["role"] for one in talk] for talk in talks] == [
        ["system", "user", "assistant", "user"]
    ] * 4
    said = {tuple(one["content"] for one in talk[1:]) for talk in talks}
    assert said == {
        (question["question"], question["meta"]["clarification_question"], option)
        for question in QUESTIONS[:2]
        for option in question["answers"]
    }
    assert {talk[0]["content"].count("\nUser: ") // 2 for talk in talks} == {shots}


def of_dialogue(body: Any) -> Any:
    answer = ANSWERED.get(body["messages"][3]["content"])
    return say(json.dumps({"answers": {"default": [answer]} if answer else {}}))


def test_a_number_of_examples_that_is_not_there_is_refused(made_by: Any) -> None:
    with pytest.raises(SettingError, match=r"2 examples are not .* dialogue; write 0 or 4"):
        made_by("clarified", "dialogue", shots=2)
    with pytest.raises(SettingError, match="has no effect with the protocol gold-question"):
        made_by("clarified", "gold-question", shots=4)


def test_each_stage_has_what_it_needs_and_an_option_is_asked_once(made_by, chat_server):
    made_by("clarify", "answers")
    stages = Counter(map(stage_of, chat_server.requests))
    # q1 has one option, q2 two different ones; q3 is not ambiguous.
    assert stages == {"answers": 3, "question": 2, "option": 3}
    asked = [b["messages"][1]["content"] for b in chat_server.requests if stage_of(b) == "option"]
    assert "Who made King Kong, Which film: the 1933 film" in asked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "protocol"),
    [
        *(("clarify", one) for one in COMBINATIONS),
        *(("clarified", one) for one in ORACLES),
        ("clarification", "answers"),
        ("clarification", "gold-answers"),
    ],
)
def test_an_export_is_read_back_with_the_same_scores(made_by, tmp_path, task, protocol):
    made = made_by(task, protocol)
    reader = made.open()
    exported = tmp_path / "p.jsonl"
    exported.write_bytes(b"".join(export_lines(reader)))
    reader.close()
    questions = str(tmp_path / "asked.jsonl")
    for variant in ("substring", "subsequence", "published-code"):
        choice = ScoringChoice.parse("lexical", variant=variant)
        of_run = score_answers(made, ScoringSettings(choice, saves=False)).scores
        of_file = score_answers(
            PredictionsFile(exported, questions, task), ScoringSettings(choice)
        ).scores
        assert of_file.to_json()["items"] == of_run.to_json()["items"]
        assert of_file.to_json()["aggregates"] == of_run.to_json()["aggregates"]
        assert of_run.scorer.variant == ("" if variant == "substring" else variant)


@pytest.mark.parametrize("asked", ["", "Which film: ?"])
def test_a_question_back_without_options_misses_all_answers(made_by: Any, asked: str) -> None:
    def script(body: Any) -> Any:
        question = say(json.dumps({"clarification_question": asked}))
        return question if stage_of(body) == "question" else reply(body)

    found = score(made_by("clarified", "default", script))
    assert means(found, *ANSWERS) == (None, 0, 0)
    assert means(found, "answer_count", "form_errors") == (0, 1)
    assert found.counts.failed == 0


def unreadable(stage: str) -> Any:
    return lambda body: say("hard to say") if stage_of(body) == stage else reply(body)


def outcomes(made: Any) -> list[Any]:
    reader = made.open()
    return [row.outcome for row in reader.items()]


@pytest.mark.slow
def test_a_question_back_that_cannot_be_read_leaves_the_verdict(made_by: Any) -> None:
    made = made_by("clarify", "default", unreadable("question"))
    first = outcomes(made)[0]
    assert first["how"] == "strict"
    assert first["problem"].startswith("question: there is no JSON object")
    assert first["prediction"]["task_output"] == {
        "ambiguous": True,
        "clarification_question": "",
        "answers": [],
    }
    assert means(score(made), "accuracy", "answer_recall") == pytest.approx((1 / 3, 0))
    alone = made_by("clarified", "default", unreadable("question"))
    assert {one["how"] for one in outcomes(alone)} == {"failed"}


@pytest.mark.slow
def test_listed_answers_that_cannot_be_read_give_no_verdict_and_are_not_told(made_by, chat_server):
    made = made_by("clarify", "answers", unreadable("answers"))
    assert {one["how"] for one in outcomes(made)} == {"failed"}
    made = made_by("clarified", "answers", unreadable("answers"))
    assert means(score(made), *ANSWERS) == expected(ALONE[:2])


def test_the_trace_tells_the_stages_and_what_came_of_them(made_by: Any) -> None:
    made = made_by("clarify", "answers-to-detect")
    with RunView.open(made.path) as view:
        kinds = [event.kind for event in view.trace(0).events]
        shown = "\n".join(item_lines(view, 0, passages=0))
        depths = [(step.kind, step.depth) for step in view.trace(0).steps]
    conversation = ["stage", "model", "answer", "stage_end"]
    assert kinds == [
        *("start", *conversation, "stage_end", *conversation),
        *(*conversation, *conversation, "answer"),
    ]
    assert depths[:6] == [
        *(("start", 0), ("stage", 0), ("model", 1), ("answer", 1), ("stage_end", 1)),
        ("stage_end", 0),
    ]
    told = [line.strip() for line in shown.splitlines()]
    results = [line.partition("result")[2].strip() for line in told if "result " in line]
    assert results == [
        "Mann; Richards",
        "ambiguous: 2 answers listed",
        "asks back: Which film: the 1995 film, or the 1986 film?",
        "the 1995 film: Michael Mann",
        "the 1986 film: Richards",
    ]
    begun = [line.partition("stage")[2].strip() for line in told if "  stage " in line]
    assert begun == [
        "list all answers",
        "ask back",
        "answer: the 1995 film",
        "answer: the 1986 film",
    ]


def test_a_text_that_is_not_of_the_form_is_told_where_it_was_asked(made_by: Any) -> None:
    made = made_by("clarify", "answers-to-ask")
    with RunView.open(made.path) as view:
        ended = [e for e in view.trace(2).events if e.kind == "stage_end"]
    assert [one.body.name for one in ended] == ["answers", "detection", "question"]
    assert ended[-1].body.problem == "'Do you mean Sicily?' is not of the form " + (
        '"Which CATEGORY: OPTION, ..."'
    )


@pytest.mark.slow
def test_reports_show_its_answers_and_its_detection(made_by: Any) -> None:
    runs = [(one, score_answers(made_by("clarify", one))) for one in ("default", "answers")]
    report = report_of_runs(runs)
    text = markdown(report, report_tables(report))
    assert "answers to the options" in text
    assert "by the longest common substring, one-to-one" in text
    assert "ambiguous or not" in text
    assert "answers to the options" in render_html(report)


@pytest.mark.slow
def test_the_report_names_the_evidence(made_by, type_in, tmp_path, corpus):
    searched = made_by("clarify", "default")
    system = System(**{**searched.open().system, "corpus": None, "k": None, "tools": ()})
    bare = run(str(tmp_path / "asked.jsonl"), system, out=tmp_path / "bare", task="clarify")
    for made, words in ((searched, f"corpus {corpus.name}"), (bare, "none")):
        _, out, _ = type_in("report", made.path)
        (said,) = (line for line in out.splitlines() if "evidence: " in line)
        assert said.strip().startswith(f"evidence: {words}")
        assert json.loads(type_in("score", made.path, "--json")[1])["evidence"] == words
    _, out, _ = type_in("report", searched.path, bare.path)
    assert "evidence of bare: none" in out


@pytest.mark.slow
def test_gold_answers_stand_beside_those_that_stand_for_them(made_by: Any) -> None:
    made = made_by("clarify", "answers-to-ask")
    with RunView.open(made.path) as view:
        first, _, third = (view.trace(row).branches for row in range(3))
    assert [(one.name, one.keys, [a.text for a in one.gold]) for one in first] == [
        ("the 1995 film", ("the 1995 film",), ["Mann"]),
        ("the 1986 film", (), ["Richards"]),
    ]
    (answer,) = first[0].predicted
    assert (answer.text, answer.why) == ("Michael Mann", "P .33, R 1.00")
    # The only reading of q3 stands for itself: nothing was answered.
    assert [(one.name, one.predicted) for one in third] == [("default", ())]
    asked = made_by("clarification", "default")
    with RunView.open(asked.path) as view:
        options = view.trace(0).branches
    assert [(one.name, one.keys) for one in options] == [
        ("the 1995 film", ("the 1995 film",)),
        ("the 1986 film", ("the 1986 film",)),
    ]
