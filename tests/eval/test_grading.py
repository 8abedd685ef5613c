"""Grades of free text: read from probabilities or from samples, never guessed."""

import math
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reply import Completion, ModelError, ReplyToken
from branchwise.agents.spec import ModelSpec
from branchwise.eval.judging.consultant import MemoryJudgements
from branchwise.eval.judging.grading import (
    GRADING,
    SAMPLES,
    Grade,
    Grader,
    GradeRequest,
    expected_grade,
    grade_by,
    read_grade,
)
from support.chat_server import Answer, ChatServer, fail, hang, refuse, say

REQUEST = GradeRequest("grade_answer", "Who wrote Emma?", "Jane Austen.", "Austen did.")
MakeGrader = Callable[..., Grader]


@pytest.fixture
def make_grader(chat_server: ChatServer) -> MakeGrader:
    spec = ModelSpec.parse(f"openai:judge@{chat_server.url}")

    def make(judgements: MemoryJudgements | None = None, **settings: Any) -> Grader:
        decoding = Decoding(**{**GRADING, "attempts": 1, **settings})
        caller = ModelCaller(spec, decoding, Prompts.load())
        return Grader(caller, judgements or MemoryJudgements(), "judge")

    return make


def logs(**chances: float) -> dict[str, float]:
    return {name.removeprefix("n"): math.log(chance) for name, chance in chances.items()}


async def test_a_grade_is_the_mean_of_the_integers_by_their_probability(chat_server, make_grader):
    chat_server.play([say("8", tokens=(("8", logs(n8=0.6, n6=0.2, eight=0.1)),))])
    # (8 * .6 + 6 * .2) / .8 = 7.5; the word is no integer.
    grade = await make_grader().grade(REQUEST)
    assert grade.value == pytest.approx(0.75)
    assert (grade.samples, grade.problem, grade.failed) == (0, None, False)
    assert len(chat_server.requests) == 1


async def test_without_probabilities_it_is_the_mean_of_samples(chat_server, make_grader):
    numbers = iter(["8", "7", "9", "6", "10"])
    chat_server.play(lambda body: say(next(numbers)))
    assert await make_grader().grade(REQUEST) == Grade(0.8, samples=5)
    bodies = chat_server.requests
    assert [body["temperature"] for body in bodies] == [1.0] * SAMPLES
    assert len({body["messages"][1]["content"] for body in bodies}) == 1


async def test_a_server_that_refuses_log_probabilities_is_asked_for_samples(
    chat_server: ChatServer, make_grader: MakeGrader
) -> None:
    def script(body: dict[str, Any]) -> Answer:
        return fail(400, "logprobs is not supported") if "logprobs" in body else say("4")

    chat_server.play(script)
    grader = make_grader()
    assert await grader.grade(REQUEST) == Grade(0.4, samples=SAMPLES)
    assert grader.consulted.left_out == ("logprobs",)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (say("I would say it is rather good."), "which is not a whole number"),
        (say("11"), "replied 11, which is not from 0 to 10"),
        (say("-1"), "which is not a whole number"),
        (say("7.5"), "which is not a whole number"),
        (say(""), "replied nothing"),
        (refuse(), "the model refused"),
        (say("1", finish="length"), "cut at the limit of tokens"),
        (say("<think>Is it 7? Or", finish="length"), "replied nothing (cut at the limit"),
    ],
)
async def test_a_reply_without_a_grade_is_unscored_and_says_why(
    chat_server: ChatServer, make_grader: MakeGrader, answer: Answer, problem: str
) -> None:
    chat_server.play(lambda body: answer)
    kept = MemoryJudgements()
    grade = await make_grader(kept).grade(REQUEST)
    assert (grade.value, grade.failed) == (None, False)
    assert problem in (grade.problem or "")
    asked = len(chat_server.requests)
    assert await make_grader(kept).grade(REQUEST) == grade
    assert len(chat_server.requests) == asked


async def test_unusable_samples_are_left_out_of_the_mean(chat_server, make_grader):
    numbers = iter(["good", "4", "eleven", "6", ""])
    chat_server.play(lambda body: say(next(numbers)))
    assert await make_grader().grade(REQUEST) == Grade(0.5, samples=2)


async def test_a_judge_that_does_not_answer_in_time_is_asked_again(chat_server, make_grader):
    kept = MemoryJudgements()
    chat_server.play([say("5"), say("7"), fail(500)])
    await make_grader(kept).grade(REQUEST)
    chat_server.play(lambda body: hang())
    grade = await make_grader(kept, timeout=0.1).grade(REQUEST)
    assert (grade.value, grade.failed) == (None, True)
    assert "the model failed" in (grade.problem or "")
    chat_server.play(lambda body: say("6"))
    assert await make_grader(kept).grade(REQUEST) == Grade(0.6, samples=5)
    # Two that are kept, one that failed, one that hung, three more.
    assert len(chat_server.requests) == 2 + 1 + 1 + 3


async def test_without_randomness_one_reply_is_enough(chat_server, make_grader):
    chat_server.play([say("7")])
    assert await make_grader(temperature=0.0).grade(REQUEST) == Grade(0.7, samples=1)


@pytest.mark.parametrize("stream", [False, True])
async def test_thinking_before_the_grade_is_no_part_of_it(chat_server, make_grader, stream):
    tokens = [("<think>", {}), ("3", {"3": -0.1}), ("</think>", {}), ("8", logs(n8=0.5, n6=0.5))]
    chat_server.play([say("<think>3</think>8", tokens=tuple(tokens))])
    assert (await make_grader(stream=stream).grade(REQUEST)).value == pytest.approx(0.7)


async def test_probabilities_of_some_replies_alone_decide(chat_server, make_grader):
    chat_server.play([say("2"), say("8", tokens=(("8", logs(n8=0.5, n6=0.5)),))])
    kept = MemoryJudgements()
    grade = await make_grader(kept).grade(REQUEST)
    assert (grade.value, grade.samples) == (pytest.approx(0.7), 0)
    assert make_grader(kept).known(REQUEST) == grade


async def test_a_refused_key_ends_it(chat_server: ChatServer, make_grader: MakeGrader) -> None:
    chat_server.play(lambda body: fail(401))
    with pytest.raises(ModelError):
        await make_grader().grade(REQUEST)


@pytest.mark.parametrize(("gold", "given", "value"), [("x", " ", 0), ("", "x", 0), ("", "", 1)])
def test_an_empty_text_is_not_asked_about(make_grader, gold, given, value):
    request = GradeRequest("grade_condition", "Q?", gold, given)
    assert make_grader().known(request) == Grade(value)


async def test_another_first_sample_measures_anew(chat_server, make_grader):
    numbers = count()
    chat_server.play(lambda body: say(str(next(numbers) % 11)))
    kept = MemoryJudgements()
    grader = make_grader(kept)
    assert (await grader.grade(REQUEST)).value == pytest.approx(0.2)  # 0 to 4
    grader.first = SAMPLES
    assert (await grader.grade(REQUEST)).value == pytest.approx(0.7)  # 5 to 9


@pytest.mark.parametrize(
    "text", ["7", " 7\n", "**7**", "7/10", "7 out of 10", "Score: 7", "grade: **7**", "`7`."]
)
def test_a_number_is_read_in_the_ways_that_models_write_one(text: str) -> None:
    assert read_grade(Completion(text, "stop")) == 7


def token(text: str, chances: Mapping[str, float]) -> ReplyToken:
    return ReplyToken(text, tuple((word, math.log(chance)) for word, chance in chances.items()))


def test_a_ten_of_two_tokens_shares_the_probability_of_the_first() -> None:
    tokens = [token("1", {"1": 0.5, "9": 0.5}), token("0", {"0": 0.8, "<end>": 0.2})]
    # 10: .5 * .8 = .4; 1: .5 * .2 = .1; 9: .5.
    assert expected_grade(tokens, 10) == pytest.approx((10 * 0.4 + 1 * 0.1 + 9 * 0.5) / 10)


@pytest.mark.parametrize("end", [("/", "10"), ("/10",), (" out", " of", " ", "10")])
def test_the_ten_that_it_is_out_of_is_not_the_grade(end: tuple[str, ...]) -> None:
    place = token("10", {"10": 0.5, "8": 0.5})
    tokens = [place, *(token(text, {text.strip() or text: 1.0}) for text in end)]
    reply = Completion("10" + "".join(end), "stop", tokens=tuple(tokens))
    assert grade_by([reply], SAMPLES) == Grade(pytest.approx(0.9))


@pytest.mark.parametrize("tokens", [[], [ReplyToken("7", ())], [ReplyToken("x", (("7", -0.1),))]])
def test_without_probabilities_at_its_place_nothing_is_expected(tokens: list[ReplyToken]) -> None:
    assert expected_grade(tokens, 7) is None


@given(st.dictionaries(st.integers(0, 10), st.floats(1e-6, 1.0), min_size=1), st.floats(1e-3, 1.0))
def test_only_the_shares_of_the_integers_matter(chances: dict[int, float], scale: float) -> None:
    said = max(chances, key=lambda value: chances[value])
    words = {str(value): chance for value, chance in chances.items()}
    expected = sum(value * chance for value, chance in chances.items()) / sum(chances.values())
    for factor in (1.0, scale):
        place = token(str(said), {word: chance * factor for word, chance in words.items()})
        assert expected_grade([place], said) == pytest.approx(expected / 10)
