"""How far two grades of the same requests agree, by hand, by scipy, and from the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.settle import draw_items, mean_difference, rank_correlation, spearman
from support.chat_server import Answer, Body, ChatServer, say

GRADES = st.integers(0, 10).map(lambda value: value / 10)


def test_the_difference_is_over_all_grades_of_all_questions() -> None:
    found = mean_difference([[(0.5, 0.7), (0.4, 0.4)], [(1.0, 0.6)]])
    assert (found.mean, found.n) == (pytest.approx((0.2 + 0.0 + 0.4) / 3), 2)
    # A resample is one of the questions twice, or both.
    assert (found.low, found.high) == (pytest.approx(0.1), pytest.approx(0.4))


@pytest.mark.slow
def test_ranks_agree_by_hand() -> None:
    # Ranks 1 2 3 4 and 1 3 2 4: 1 - 6 (1 + 1) / (4 (16 - 1)).
    found = rank_correlation([[(0.1, 0.0), (0.2, 0.5)], [(0.3, 0.4), (0.9, 1.0)]])
    assert (found.mean, found.n) == (pytest.approx(1 - 12 / 60), 2)
    assert found.low is not None
    assert found.high == pytest.approx(1.0)


def test_grades_that_are_all_the_same_have_no_ranks_to_agree() -> None:
    assert rank_correlation([[(0.5, 0.1)], [(0.5, 0.9)]]).mean is None
    assert rank_correlation([]).mean is None
    assert mean_difference([]).mean is None


@pytest.mark.slow
@given(st.lists(st.tuples(GRADES, GRADES), min_size=3, max_size=30))
def test_it_is_the_rank_correlation_of_scipy(pairs: list[tuple[float, float]]) -> None:
    grades = np.array(pairs)
    if np.ptp(grades, axis=0).min() == 0:
        assert spearman(grades) is None
    else:
        assert spearman(grades) == pytest.approx(spearmanr(*grades.T).statistic)


def test_more_items_are_the_same_ones_and_others_whatever_their_order() -> None:
    items = [
        AnsweredItem(Question(id=f"q{n}", question="?", branches=()), Prediction())
        for n in range(9)
    ]
    few, more = draw_items(items, 3), draw_items(items[::-1], 6)
    assert more[:3] == few
    assert len({item.question.id for item in more}) == 6


@pytest.fixture
def files(tmp_path: Path) -> tuple[Any, ...]:
    questions, predictions = tmp_path / "q.jsonl", tmp_path / "p.jsonl"
    asked = [
        {"id": f"q{n}", "question": f"Who is {n}?", "answers": {f"in {n}": [f"Gold {n}."]}}
        for n in range(4)
    ]
    said = [{"id": f"q{n}", "answers": {f"at {n}": [f"Said {n}."]}} for n in range(4)]
    questions.write_text("\n".join(map(json.dumps, asked)))
    predictions.write_text("\n".join(map(json.dumps, said)))
    return "--questions", questions, "--predictions", predictions, "--task", "condambigqa"


@pytest.fixture
def judges(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two judges: one gives its first grade of a request, then one more; the other a third."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    seen: set[str] = set()

    def script(body: Body) -> Answer:
        asked = body["messages"][1]["content"]
        grade = int(asked.split("?")[0][-1]) + 1
        grade += 4 if body["model"] == "other" else asked in seen
        seen.add(asked)
        return say(str(grade), tokens=((str(grade), {str(grade): -0.1}),))

    chat_server.play(script)
    return f"openai:judge@{chat_server.url}", f"openai:other@{chat_server.url}"


@pytest.mark.slow
def test_a_judge_repeated_and_two_beside_each_other(files, judges, type_in, chat_server):
    judge, other = judges
    command = ("score", *files, "--judge", judge)
    code, out, error = type_in(*command, "--judge-check", 3, "--json")
    assert code == 0, error
    found = json.loads(out)["models"]["judge_check"]
    # Four items of a condition and an answer, three of them twice.
    assert len(chat_server.requests) == 4 * 2 + 3 * 2
    assert "6 requests to send" in error
    assert (found["items"], found["grades"], found["beside"]) == (3, 6, False)
    assert found["mean_absolute_difference"]["mean"] == pytest.approx(0.1)
    assert found["spearman_rho"]["mean"] == pytest.approx(1.0)
    assert found["calls"]["fresh"]["calls"] == 6
    said = " ".join(type_in(*command, "--judge-check", 3)[1].split())
    assert f"judge check: 3 items graded by {judge} again (6 grades): mean absolute " in said
    assert "difference .10 [.10, .10], Spearman's rho 1.00 [1.00, 1.00]" in said
    assert len(chat_server.requests) == 14
    beside = (*command, "--judge-check", 3, "--judge-beside", other, "--json")
    found = json.loads(type_in(*beside)[1])["models"]["judge_check"]
    assert (found["beside"], found["model"]) == (True, other)
    assert found["mean_absolute_difference"]["mean"] == pytest.approx(0.4)
    assert len(chat_server.requests) == 20
    # A judge that scored the same before is compared by what it said then.
    type_in("score", *files, "--judge", other)
    assert len(chat_server.requests) == 20 + 2
    assert type_in(*command, "--judge-check", 4, "--judge-beside", other)[0] == 0
    assert len(chat_server.requests) == 22


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--judge-check", "3"], "--judge-check has no effect: nothing is graded"),
        (["--judge-beside", "openai:x"], "--judge-beside has no effect alone"),
        (["--judge-check", "3", "--judge-beside", "offline"], "offline cannot be the judge"),
        (["--judge-check", "0"], "0 is not in the range"),
    ],
)
def test_a_check_of_nothing_is_refused(files, type_in, options, said):
    code, _, error = type_in("score", *files, *options)
    assert (code, said in " ".join(error.split())) == (2, True), error
