"""The evidence says what the agent saw: the requests that the server got are the witness."""

import json
from pathlib import Path
from typing import Any

import pytest

from branchwise import run
from branchwise.eval.errors.attribution import Examined, examine
from support.chat_server import ChatServer, call, calls, context_length, say

GOLD = {"default": ["Michael Mann", "John Guillermin", "Michael Bay", "Nobody Else"]}
NOTHING = say(json.dumps({"reasoning": "", "answers": {"default": []}}))
HEAT, KONG, ISLAND = (
    call("local_retriever", query=query) for query in ("Mann wrote", "Guillermin second", "Bay")
)


@pytest.fixture
def examined(chat_server: ChatServer, make_system: Any, tmp_path: Path) -> Any:
    """Runs one question against a script and examines its stored trace."""

    def play(script: list[Any], **budget: Any) -> Examined:
        chat_server.play(script)
        question = {"id": "q", "question": "Who directed which film?", "answers": GOLD}
        (tmp_path / "q.jsonl").write_text(json.dumps(question))
        made = run(str(tmp_path / "q.jsonl"), make_system(budget), out=tmp_path / "run")
        reader = made.open()
        (row,) = reader.items()
        (item,) = reader.answered_items()
        found = examine(item, reader.events(row.item))
        reader.close()
        return found

    return play


def seen(server: ChatServer, name: str) -> bool:
    """Whether a request that was answered had the name in a tool's result."""
    return any(
        name in message["content"]
        for request in answered(server)
        for message in request["messages"]
        if message["role"] == "tool"
    )


def answered(server: ChatServer) -> list[Any]:
    """Requests but those that were refused as too long: the next one is the same turn again."""
    turns = {len(request["messages"]): request for request in server.requests}
    return list(turns.values())


@pytest.mark.parametrize(
    "script",
    [
        [HEAT, NOTHING],
        [HEAT, context_length(), NOTHING],
        [HEAT, KONG, context_length(), NOTHING],
        [HEAT, KONG, context_length(), ISLAND, context_length(), NOTHING],
        [
            calls(
                ("local_retriever", {"query": "Mann wrote"}),
                ("local_retriever", {"query": "Guillermin second"}),
            ),
            context_length(),
            NOTHING,
        ],
    ],
    ids=["all fits", "one too long", "the first left out later", "twice", "one of two at once"],
)
def test_an_answer_is_shown_where_a_request_had_it(examined, chat_server, script):
    found = examined(script)
    for answer in found.errors.missing:
        assert any(place.shown for place in answer.places) == seen(chat_server, answer.text)
        wanted = "incorrect_reasoning" if answer.places else "incomplete_extraction"
        assert answer.label == wanted
