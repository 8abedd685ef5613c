"""A model's wording is taken only where it keeps to the plan; a reviewer's word counts."""

import json
from collections.abc import Iterator

import pytest

from branchwise.agents.decoding import Decoding
from branchwise.agents.text_model import SpecTextModel
from branchwise.base.errors import InputError
from branchwise.worlds.questions.drafts import RejectedError
from branchwise.worlds.questions.plans import (
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Holds,
    Plan,
    Years,
)
from branchwise.worlds.questions.wording.writing import (
    EntityChooser,
    ModelWriter,
    Reviewer,
    TextModelError,
    Written,
)
from support.chat_server import ChatServer, fail, say

NAMES = {"Q1": "Mara Voss", "Q2": "2001: The Heat", "Q3": "science fiction film"}
FALLBACK = "Which actors appeared in at least three films that were directed by Mara Voss?"
OFTEN = Plan(
    steps=(
        Atomic(relation="directed_by", inverse=True, entity="Q1"),
        Filter(relation="released", of=0, condition=Years(first=1990, last=1999)),
        GroupBy(relation="cast", of=1, at_least=3),
    )
)
OFTEN_STEPS = (
    "1. films that were directed by Mara Voss",
    "2. of 1, those that were released from 1990 to 1999",
    "3. actors who appeared in at least three of 2",
)
GOOD = "Which actors are in 3 or more films by Mara Voss that came out between 1990 and 1999?"
WITHOUT = Plan(
    steps=(
        Atomic(relation="directed_by", inverse=True, entity="Q1"),
        Filter(relation="film_genre", of=0, condition=Holds(value="Q3")),
        Atomic(relation="sequels", entity="Q2"),
        Difference(of=1, other=2),
    )
)
WITHOUT_STEPS = (
    "1. films that were directed by Mara Voss",
    "2. of 1, the science fiction films",
    "3. sequels of 2001: The Heat",
    "4. what is in 2 but not in 3",
)


@pytest.fixture
def model(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[SpecTextModel]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    spec = f"openai:scripted@{chat_server.url}"
    with SpecTextModel.of_spec(spec, Decoding(attempts=1)) as made:
        yield made


@pytest.fixture
def write(chat_server, model):
    """What the writer makes of a plan when the model replies so."""

    def written(reply, plan=OFTEN, steps=OFTEN_STEPS, sees_answers=False) -> Written:
        chat_server.play([say(reply) if isinstance(reply, str) else reply])
        writer = ModelWriter(model, sees_answers=sees_answers)
        answers = [["Ann Bell", 'Bo "B" Cole'], ["Cy Dee"]]
        return writer.question(plan, steps, NAMES.__getitem__, FALLBACK, answers)

    return written


@pytest.mark.parametrize("reply", [GOOD, f'"{GOOD}"', f"<think>Hm, Ann.</think>\n{GOOD}\n"])
def test_a_wording_that_keeps_to_the_plan_is_taken(write, reply):
    assert write(reply) == Written(GOOD, "model")


STRAYING = {
    "Which actors are in three films from 1990 to 1999?": ("drops a name", "Mara Voss"),
    GOOD.replace("Voss", "Vosse"): ("drops a name", "Mara Voss"),
    GOOD.replace("films by", "films with Ann Bell by"): ("adds a name", "Ann"),
    GOOD.replace("Which actors", "Spielberg and which actors"): ("adds a name", "Spielberg"),
    GOOD.replace("films by", "films with 李安 by"): ("adds a name", "李安"),
    GOOD.replace("3 or more ", ""): ("drops a number", "3"),
    GOOD.replace("1999", "2000"): ("drops a number", "1999"),
    GOOD.replace("films by", "films over 90 minutes by"): ("adds a number", "90"),
    "Ann Bell and Bo Cole are in three of them.": ("not one question", None),
    f"Sure! {GOOD}": ("not one question", None),
    f"Question: {GOOD}": ("not one question", None),
    f"{GOOD} And which of them won a prize?": ("not one question", None),
    f"{GOOD}\nI hope that this helps?": ("not one question", None),
    "": ("not one question", ""),
    GOOD.replace("films", "films" + " very" * 60): ("too long", None),
    GOOD.replace("films", "films" + "s" * 600): ("too long", None),
    GOOD.replace("films", "fil\u202ems"): ("not one question", None),
}


@pytest.mark.parametrize(("reply", "why"), STRAYING.items())
def test_a_wording_that_strays_is_caught(write, reply, why):
    written = write(reply)
    assert (written.text, written.by) == (FALLBACK, "grammar")
    problem, detail = why
    assert written.problem == problem
    assert detail in (None, written.detail)


def test_what_was_so_before_must_be_said_to_be(write):
    steps = ("1. the films formerly directed by Mara Voss",)
    plan = Plan(steps=(WITHOUT.steps[0],))
    reply = "Which films did Mara Voss direct?"
    assert write(reply, plan, steps).problem == "drops 'formerly'"
    assert write(reply.replace("direct", "once direct"), plan, steps).by == "model"


def test_what_is_left_out_must_be_said(write):
    kept = "Which science-fiction films by Mara Voss are not sequels of 2001: The Heat?"
    assert write(kept, WITHOUT, WITHOUT_STEPS).by == "model"
    both = kept.replace("are not", "are also")
    assert write(both, WITHOUT, WITHOUT_STEPS).problem == "drops a negation"
    other_kind = kept.replace("science-fiction ", "")
    assert write(other_kind, WITHOUT, WITHOUT_STEPS).problem == "drops a name"
    other_year = kept.replace("2001: The", "2010: The")
    assert write(other_year, WITHOUT, WITHOUT_STEPS).by == "grammar"


def test_a_writer_that_fails_leaves_the_grammars_wording(write):
    written = write(fail(400, "no such model"))
    assert (written.text, written.problem) == (FALLBACK, "no reply")


@pytest.mark.parametrize("sees_answers", [False, True])
def test_the_writer_sees_the_steps_and_answers_only_where_it_may(chat_server, write, sees_answers):
    assert write(GOOD, sees_answers=sees_answers).by == "model"
    (request,) = chat_server.requests
    (message,) = request["messages"]
    assert "\n".join(OFTEN_STEPS) in message["content"]
    assert "exactly as they stand, each at least once: Mara Voss\n" in message["content"]
    listed = '["Ann Bell", "Bo \\"B\\" Cole"]\n["Cy Dee"]\n'
    assert (listed in message["content"]) == ("Ann Bell" in message["content"]) == sees_answers
    leaking = GOOD.replace("films by", "films with Ann Bell by")
    assert write(leaking, sees_answers=sees_answers).problem == "adds a name"


def verdict(word: str, reason: str = "It is so.") -> str:
    return json.dumps({"verdict": word, "reason": reason})


@pytest.fixture
def judge(chat_server, model):
    """What the reviewer says of a question when the model gives these replies."""

    def judged(*replies):
        chat_server.play([say(r) if isinstance(r, str) else r for r in replies])
        return Reviewer(model).judge(GOOD, OFTEN_STEPS, ["Ann Bell", 'Bo "B" Cole'])

    return judged


def test_a_reviewers_invalid_stands(judge):
    said = judge(verdict("Invalid", "It names  no\nkind of film."))
    assert (said.valid, said.reason) == (False, "It names no kind of film.")
    assert judge(verdict("Valid")).valid


def test_a_reviewer_sees_question_plan_and_answers(chat_server, judge):
    judge(verdict("Valid"))
    prompt = chat_server.requests[-1]["messages"][0]["content"]
    assert f'"{GOOD}"' in prompt
    assert "\n".join(OFTEN_STEPS) in prompt
    assert '["Ann Bell", "Bo \\"B\\" Cole"]' in prompt


@pytest.mark.parametrize(
    "reply",
    [
        "Valid.",
        "",
        verdict("valid"),
        f"```json\n{verdict('Valid')}\n```",
        '{"verdict": "Valid"}',
        '{"verdict": "Valid", "reason": "It is.", "score": 5}',
        '["Valid"]',
    ],
)
def test_an_unreadable_verdict_is_asked_for_once_more(chat_server, judge, reply):
    assert judge(reply, verdict("Valid")).valid
    asked = [request["messages"][0]["content"] for request in chat_server.requests]
    assert len(asked) == 2
    assert asked[1].startswith(asked[0])


def test_two_unreadable_verdicts_are_none(judge):
    with pytest.raises(RejectedError, match="verdict cannot be read"):
        judge("Valid.", "I said: valid.", verdict("Valid"))


def test_ten_unreadable_verdicts_in_a_row_end_it(chat_server, model):
    """A readable one among them begins the count anew; what is shown of a reply steers nothing."""
    reviewer = Reviewer(model)

    def review(reply, times=1):
        chat_server.play(lambda _: say(reply))
        for _ in range(times):
            with pytest.raises(RejectedError):
                reviewer.judge(GOOD, OFTEN_STEPS, ["Ann Bell"])

    review("Fine.", times=9)
    chat_server.play(lambda _: say(verdict("Valid")))
    assert reviewer.judge(GOOD, OFTEN_STEPS, ["Ann Bell"]).valid
    review("Fine.\n\x1b[31mBy me" + "!" * 1000, times=9)
    with pytest.raises(InputError) as refused:
        reviewer.judge(GOOD, OFTEN_STEPS, ["Ann Bell"])
    assert str(refused.value).startswith("--reviewer: 10 verdicts in a row cannot be read")
    assert "'Fine. �[31mBy me!" in str(refused.value)
    assert "name a model" in str(refused.value)
    assert len(str(refused.value)) < 300
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ('{"candidate": 2}', 1),
        ('{"candidate": 0}', None),
        ('{"candidate": 3}', None),
        ('{"candidate": "2"}', None),
        ('{"candidate": 2, "why": "It fits."}', None),
        ("The second.", None),
        ("", None),
    ],
)
def test_a_choice_is_one_of_the_candidates_or_none(chat_server, model, reply, place):
    chat_server.play([say(reply)])
    assert EntityChooser(model).choice(OFTEN_STEPS, ["Ann\nBell", "Bo Cole"]) == place
    prompt = chat_server.requests[0]["messages"][0]["content"]
    assert "1. Ann Bell\n2. Bo Cole\n" in prompt
    assert "\n".join(OFTEN_STEPS) in prompt


def test_a_reviewer_that_fails_is_no_verdict(judge):
    with pytest.raises(TextModelError, match="no such model"):
        judge(fail(400, "no such model"))
