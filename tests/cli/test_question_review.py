"""`branchwise questions review` at a terminal: grading, skipping, going back, stopping, dying."""

import json

import pytest

from branchwise.corpora.loaders import load_questions
from branchwise.eval.human_review import HumanGrade, HumanReview
from support.ui.trace_app.terminal import Terminal

pytestmark = pytest.mark.usefixtures("terminal")

QUESTIONS = [
    {"id": "p", "question": "Who wrote Reef?", "answers": ["Ana\u202e Bell"]},
    {"id": "a", "question": "Who directed Kong?", "answers": {"1933": ["Tom"], "1976": ["Eva"]}},
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)))
    return path


def grades(file):
    return HumanReview(
        file.with_name("q.jsonl.review"), load_questions(str(file)), None, 1
    ).grades()


def say(terminal, *turns):
    """Wait for each prompt, then type its answer."""
    for prompt, answer in turns:
        terminal.wait_for(prompt)
        terminal.type(f"{answer}\n")


def test_a_rater_grades_goes_back_and_skips(file):
    with Terminal("questions", "review", file, "--sample", "100%", "--rater", "ana") as terminal:
        say(
            terminal,
            ("natural? 1 to 3: ", "?"),
            ("s skips the question", "7"),
            ("type 1, 2, 3, s, b, q or ?", "2"),
            ("right and complete? y/n: ", "n"),
            ("why not? ", "Eva wrote it"),
            ("2 of 2", "b"),
            ("natural? 1 to 3 [2]: ", "3"),
            ("right and complete? y/n [n]: ", "y"),
        )
        terminal.wait_until(lambda: terminal.output.count("2 of 2") == 2)
        terminal.type("s\n")
        terminal.wait_for("1 of 2 questions graded")
        assert terminal.ended() == 0
        assert "\u202e" not in terminal.output
    assert grades(file) == {("ana", "p"): HumanGrade(3, True, "")}


def test_grades_outlive_a_kill_and_go_on_where_they_stopped(file):
    with Terminal("questions", "review", file, "--sample", "100%", "--rater", "ana") as terminal:
        say(terminal, ("natural? 1 to 3: ", "3"), ("complete? y/n: ", "y"), ("2 of 2", "2"))
        say(terminal, ("complete? y/n: ", "y"), ("does 1933 help? y/n: ", "n"))
        terminal.wait_for("does 1976 help?")
    assert grades(file)["ana", "a"] == HumanGrade(2, True, "", {"1933": False})
    with Terminal("questions", "review", file, "--rater", "ana") as terminal:
        say(terminal, ("natural? 1 to 3 [2]: ", ""), ("complete? y/n [y]: ", ""))
        say(terminal, ("does 1933 help? y/n [n]: ", ""), ("does 1976 help? y/n: ", "y"))
        terminal.wait_for("2 of 2 questions graded")
        assert terminal.ended() == 0
    assert grades(file)["ana", "a"].helpful == {"1933": False, "1976": True}


def test_a_verdict_is_kept_before_its_reason_and_enter_keeps_the_reason(file):
    command = ("questions", "review", file, "--sample", "1", "--rater", "ana")
    with Terminal(*command) as terminal:
        say(terminal, ("natural? 1 to 3: ", "3"), ("complete? y/n: ", "n"))
        terminal.wait_for("why not? ")
    assert grades(file)["ana", "p"] == HumanGrade(3, False)
    for shown, typed in (("why not? ", "by Eva"), ("why not? [by Eva] ", "")):
        with Terminal(*command) as terminal:
            say(terminal, ("2 of 2", "b"), ("[3]: ", ""), ("[n]: ", ""), (shown, typed))
            terminal.wait_until(lambda: terminal.output.count("2 of 2") == 2)
        assert grades(file)["ana", "p"] == HumanGrade(3, False, "by Eva")


def test_ctrl_c_stops_and_keeps_what_was_given(file):
    with Terminal(
        "questions", "review", file, "--sample", "1", "--rater", "ana", controls=True
    ) as terminal:
        say(terminal, ("natural? 1 to 3: ", "1"))
        terminal.wait_for("complete? y/n")
        terminal.type("\x03")
        terminal.wait_for("0 of 2 questions graded")
        assert terminal.ended() == 0
    assert grades(file) == {("ana", "p"): HumanGrade(1)}
