"""What the model says in runs that are forked: nine questions, each of another kind."""

import json

from support.by_role import by_role, passages_of, says_of_each, turn_of, user_of
from support.chat_server import call, calls, context_length, fail, refuse, say

SEARCHES = calls(
    ("local_retriever", {"query": "King Kong film"}),
    ("local_retriever", '{"query": '),
    ("local_retriever", {"query": "Heat film"}),
    ("no_such_tool", {"query": "Heat"}),
    ("local_retriever", {"query": "Heat film"}),
)


def number_of(body):
    """Which question a request is of: its text begins "Question number 0004"."""
    return int(user_of(body).split("number ", 1)[1][:4])


def results_of(body):
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]


def answer_of(body):
    return json.dumps({"reasoning": "r", "answers": {"default": [user_of(body)[:20]]}})


def searches(body):
    """Two turns of calls, several at a time, some of which cannot be made; then the answer."""
    if turn_of(body) < 2:
        return SEARCHES if turn_of(body) == 0 else call("local_retriever", query="Heat film")
    return say(answer_of(body), reasoning_content="thought")


def searches_on(body):
    """Searches until it is told to answer."""
    if body.get("tools"):
        return call("local_retriever", query=f"Heat {turn_of(body)}")
    return say(answer_of(body))


def in_prose(body):
    """An answer that only its repair brings into form."""
    if "no JSON" in body["messages"][-1]["content"]:
        return say(answer_of(body))
    return say("It was Michael Mann.") if turn_of(body) else searches(body)


def never_in_form(body):
    """An answer in prose whose repair is refused."""
    if "no JSON" in body["messages"][-1]["content"]:
        return fail(400, "no repairs")
    return say("It was Michael Mann.")


def has_a_small_window(body):
    """Refuses a conversation of more than two results that are shown."""
    shown = [text for text in results_of(body) if "left out to fit" not in text]
    return context_length() if len(shown) > 2 else searches(body)


def fails_late(body):
    return fail(400, "no more of this") if turn_of(body) else searches(body)


def answers_at_once(body):
    return say(answer_of(body))


def refuses(body):
    return refuse() if turn_of(body) else searches(body)


def calls_although_told(body):
    """Calls tools in its last turn, too, when there are none any more."""
    return call("local_retriever", query=f"Heat {turn_of(body)}")


AGENTS = (
    searches, searches_on, in_prose, never_in_form, has_a_small_window,
    fails_late, answers_at_once, refuses, calls_although_told,
)  # fmt: skip


def expands(body):
    number = number_of(body)
    if number == 2:
        return fail(400, "no readings today")
    return say("none" if number == 6 else "Who directed Heat of 1995?\nWho directed Heat of 1986?")


def extracts(body):
    if any("1933" in title for title, _ in passages_of(body)):
        return fail(400, "no extraction of this one")
    return say(says_of_each(body, copied))


def copied(title, text):
    return "NONE" if "1986" in title else f"{text[:20]}\nnot in the passage at all"


SCRIPT = by_role(
    expander=expands, extractor=extracts, agent=lambda body: AGENTS[number_of(body)](body)
)
