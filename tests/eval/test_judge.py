"""Entities settled by a model, against the scripted chat server."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.prompt_files import Prompts
from branchwise.corpora.questions import Answer
from branchwise.eval.branch_scores import align_answers, gold_branches, pooled_score, strict_score
from branchwise.eval.items import Accepted, Matched
from branchwise.eval.judging.consultant import MemoryJudgements
from branchwise.eval.judging.judge import MAX_LISTED, judge_entities, unmatched
from support.chat_server import fail, say
from support.eval.judging_cases import KEY, a_caller, an_item, listed, user_message

STARS = {
    "Heat (1986 film)": ["Burt Reynolds"],
    "Heat (1995 film)": [
        Answer(text="Al Pacino", aliases=("Alfredo James Pacino", "Sonny")),
        "Robert De Niro",
        "Val Kilmer",
    ],
}
ITEM = an_item(
    {"Heat (1995 film)": ["Bobby De Niro", "Val Kilmer", "Pacino, A."], "a play": ["Reynolds"]},
    STARS,
)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


async def judge(items, url, journal=None):
    caller = a_caller(url)
    try:
        kept = journal or MemoryJudgements()
        return (await judge_entities(items, caller, kept, concurrency=1))[:2]
    finally:
        await caller.aclose()


def verdicts(found):
    """A judge that knows which given text (by name) is which gold answer."""

    def reply(body):
        gold = {name.partition(" (also: ")[0]: id for id, name in listed(body, "g").items()}
        given = listed(body, "a").items()
        return say(json.dumps({id: gold.get(found.get(text, "")) for id, text in given}))

    return reply


def scored(item):
    gold, answers = gold_branches(item.question.branches), item.prediction.answers
    alignment = item.matched.alignment if item.matched else align_answers(gold, answers)
    strict, pooled = strict_score(gold, answers, alignment), pooled_score(gold, answers)
    return (strict.right, strict.predicted, strict.gold), (pooled.right, pooled.predicted)


async def test_accepted_texts_count_and_everything_else_stays(chat_server):
    chat_server.play(verdicts({"Bobby De Niro": "Robert De Niro"}))
    assert scored(ITEM) == ((1, 4, 4), (1, 4))
    (item,), report = await judge([ITEM], chat_server.url)
    assert scored(item) == ((2, 4, 4), (2, 4))
    assert item.accepted == (Accepted("Heat (1995 film)", "Robert De Niro", "Bobby De Niro"),)
    assert item.prediction is ITEM.prediction
    assert [a.aliases for a in item.question.branches[1].answers] == [
        ("Alfredo James Pacino", "Sonny"), ("Bobby De Niro",), (),
    ]  # fmt: skip
    assert ITEM.question.branches[1].answers[1].aliases == ()
    assert (report.asked, report.requests, report.accepted, report.refused) == (1, 1, 1, 0)
    assert (report.repaired, report.failed, report.unasked) == (0, (), ())


async def test_the_judge_sees_what_is_left_over_under_one_branch_and_nothing_else(chat_server):
    chat_server.play(verdicts({}))
    await judge([ITEM], chat_server.url)
    (body,) = chat_server.requests
    assert body["messages"][0]["content"] == Prompts.load().render("judge")
    # Val Kilmer is right; Reynolds stands under a branch that means none; Burt has no rival.
    assert user_message(body) == (
        "Question: Who stars in Heat?\nReading: Heat (1995 film)\n\n"
        "Right answers:\ng1: Al Pacino (also: Alfredo James Pacino; Sonny)\ng2: Robert De Niro\n\n"
        "Given answers:\na1: Bobby De Niro\na2: Pacino, A."
    )


async def test_the_alignment_of_a_model_decides_what_is_left_over(chat_server):
    item = an_item({"a play": ["Reynolds, Burt"], "b": ["Bobby"]}, STARS)
    matched = Matched("llm", {"a play": 0, "b": None})
    item = type(item)(**{**vars(item), "matched": matched})
    chat_server.play(verdicts({"Reynolds, Burt": "Burt Reynolds"}))
    (item,), _ = await judge([item], chat_server.url)
    assert item.accepted == (Accepted("Heat (1986 film)", "Burt Reynolds", "Reynolds, Burt"),)
    assert item.matched == matched
    assert scored(item) == ((1, 2, 4), (1, 2))


@pytest.mark.parametrize(
    "item",
    [
        an_item({"Heat (1995 film)": ["Al Pacino", "Robert De Niro", "Val Kilmer", "X"]}, STARS),
        an_item({"Heat (1995 film)": ["Al Pacino"]}, STARS),
        an_item({"Heat (2013 film)": ["Sandra Bullock"]}, STARS),
        an_item({}, STARS),
        an_item({"Heat (1995 film)": ["X"]}, STARS, error="timeout"),
        an_item({"Heat (1995 film)": ["\u200b"]}, STARS),
    ],
    ids=["nothing missing", "nothing wrong", "unaligned", "empty", "failed", "unseen text"],
)
async def test_nothing_is_asked_where_nothing_is_left_over(chat_server, item):
    (same,), report = await judge([item], chat_server.url)
    assert same == item
    assert (report.asked, report.requests, chat_server.requests) == (0, 0, [])


async def test_the_second_claim_on_a_gold_answer_is_refused(chat_server):
    chat_server.play(lambda body: say('{"a1": "g2", "a2": "g2"}'))
    (item,), report = await judge([ITEM], chat_server.url)
    assert [pair.predicted for pair in item.accepted] == ["Bobby De Niro"]
    assert (report.accepted, report.refused) == (1, 1)
    assert scored(item)[0] == (2, 4, 4)


async def test_an_alias_that_would_take_a_right_answer_away_is_refused(chat_server):
    # "Victoria" counts as "Victoria (Australia)" while no other gold answer has that bare name.
    gold = {"default": ["Victoria (Australia)", "King's Cross"]}
    item = an_item({"default": ["Victoria", "Victoria (London)"]}, gold)
    assert scored(item)[0] == (1, 2, 2)
    chat_server.play(verdicts({"Victoria (London)": "King's Cross"}))
    (item,), report = await judge([item], chat_server.url)
    assert (report.accepted, report.refused) == (0, 1)
    assert scored(item)[0] == (1, 2, 2)


async def test_an_alias_reaches_its_wikidata_id_in_other_branches(chat_server):
    gold = {
        "Heat (1986 film)": [Answer(text="R. De Niro", qid="Q36949")],
        "Heat (1995 film)": [Answer(text="Robert De Niro", qid="Q36949"), "Val Kilmer"],
    }
    item = an_item({"Heat (1986 film)": ["Bobby"], "Heat (1995 film)": ["Val Kilmer"]}, gold)
    chat_server.play(verdicts({"Bobby": "R. De Niro"}))
    (item,), _ = await judge([item], chat_server.url)
    assert scored(item) == ((2, 2, 3), (2, 2))


@pytest.mark.parametrize(
    ("script", "accepted", "problem", "repaired"),
    [
        ([say("a1 is g2"), say('{"a1": "g2", "a2": null}')], 1, None, 1),
        ([say("a1 is g2"), say('{"a1": "g9", "a2": null}')], 0, '"g9" is neither', 0),
        ([say('{"a1": "g2"}'), say('{"a1": "g2"}')], 0, "there is no entry for a2", 0),
        ([fail(500, "down"), fail(500, "down")], 0, "500 down", 0),
    ],
)
async def test_replies_are_repaired_once_and_failures_accept_nothing(
    chat_server, script, accepted, problem, repaired
):
    chat_server.play(script)
    (item,), report = await judge([ITEM], chat_server.url)
    assert len(item.accepted) == report.accepted == accepted
    assert report.repaired == repaired
    assert len(report.failed) == (problem is not None)
    if problem:
        assert item == ITEM
        assert report.failed[0].why.startswith("Heat (1995 film): ")
        assert problem in report.to_json()["failed"][0]["why"]


@pytest.mark.slow
async def test_more_than_forty_are_recorded_as_not_asked(chat_server):
    gold = {"default": [f"gold {n:02d}" for n in range(45)]}
    item = an_item({"default": [f"given {n:02d}" for n in range(42)]}, gold)
    chat_server.play(lambda body: say(json.dumps(dict.fromkeys(listed(body, "a"), None))))
    _, report = await judge([item], chat_server.url)
    (body,) = chat_server.requests
    assert (len(listed(body, "a")), len(listed(body, "g"))) == (MAX_LISTED, MAX_LISTED)
    assert report.unasked == (("q1", 0, "default: 2 given and 5 gold answers"),)


GOLD = st.sampled_from(["Heat", "Heat (1986)", "Ronin (1998)", "Alien", "Victoria (London)"])
GIVEN = st.sampled_from(["Heat (1995)", "heat", "R.", "Ronin", "A.", "Victoria", "Victoria (B)"])


@pytest.mark.slow
@given(
    gold=st.dictionaries(st.sampled_from(["a", "b"]), st.lists(GOLD, max_size=4), min_size=1),
    answers=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.lists(GIVEN, max_size=5)),
    choices=st.lists(st.none() | st.integers(0, 3), min_size=40, max_size=40),
)
def test_accepting_makes_exactly_so_many_more_answers_right(gold, answers, choices):
    from branchwise.eval.judging.judge import accept
    from branchwise.eval.judging.mapping import MappingOutcome

    item = an_item(answers, gold)
    parts, left = unmatched(item), iter(choices)
    found = {}
    for part in parts:
        size = len(part.entities)
        chosen = (next(left) for _ in part.texts)
        indices = tuple(None if n is None or n >= size else n for n in chosen)
        found[part.request] = MappingOutcome(indices)
    settled = accept(item, parts, found)[0]
    (right, _, total), (pooled, _) = scored(item)
    after_right, _, after_total = scored(settled)[0]
    assert after_right == right + len(settled.accepted)
    assert after_total == total
    assert scored(settled)[1][0] >= pooled
