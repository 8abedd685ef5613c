"""A chat server that keeps an account: who asked for what, and whether it was asked for again."""

import json
import re
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.by_role import role_of, says_of_each, turn_of, user_of
from support.chat_server import Answer, Body, ChatServer, call, digest, say


class CountingServer(ChatServer):
    """Answers by the request alone, and numbers its answers.

    The number stands where a run keeps it and nothing depends on it, in the usage
    (`reasoning_tokens`): with it, a response in a store names the request that it answers.
    """

    def __init__(self, delay: float = 0.0) -> None:
        super().__init__(self._numbered, delay=delay)
        self.log: list[str] = []

    def _numbered(self, body: Body) -> Answer:
        number = len(self.log)
        self.log.append(digest(body))
        usage = {
            "prompt_tokens": len(json.dumps(body["messages"])) // 4,
            "completion_tokens": 10,
            "completion_tokens_details": {"reasoning_tokens": number},
        }
        return replace(reply(body), usage=usage)

    def drain(self) -> int:
        """How many requests have come, all of those included that a dead process has sent.

        A request of this process's own is accepted behind those that wait; then the others are
        handled or dropped when their connections are gone.
        """
        with urllib.request.urlopen(f"{self.url}/models") as response:
            response.read()
        assert self._runner is not None
        assert self._runner.server is not None
        while self._runner.server.connections:
            time.sleep(0.001)
        return len(self.log)

    def since(self, place: int) -> Counter[str]:
        """How often each request came from this place in the log on."""
        return Counter(self.log[place:])


def reply(body: Body) -> Answer:
    """Reads, searches, asks the graph and another program's tool, and answers: by turns."""
    role = role_of(body)
    if role == "expander":
        return say("Who directed Heat (1995 film)?\nWho directed Heat (1986 film)?")
    if role == "extractor":
        return say(says_of_each(body, lambda _, text: " ".join(text.split()[:3])))
    if role == "checker":
        return say("MISSING: Heat (1972 film)")
    question = user_of(body)
    if "\nn1: " in question:
        return say(_mapping(question))
    turn, tools = turn_of(body), [tool["function"]["name"] for tool in body.get("tools") or ()]
    if turn < len(tools):
        return _call(tools[turn], question)
    if turn == len(tools) == 1:
        return call(tools[0], query=f"King Kong {question[:40]}")
    right = {"the film of 1995": ["Michael Mann"], "the film of 1986": ["Burt Reynolds"]}
    return say(json.dumps({"reasoning": "r", "answers": right}))


def _call(tool: str, question: str) -> Answer:
    arguments: Mapping[str, Any] = {"query": question[:60]}
    if tool == "wikisparql":
        arguments = {"query": "SELECT ?thing WHERE { ?thing wdt:P31 wd:Q11424 } LIMIT 3"}
    elif tool == "film_year":
        arguments = {"title": "Heat"}
    return call(tool, **arguments)


def _mapping(question: str) -> str:
    """Every name means the reading of the same number, where there is one."""
    known = re.findall(r"^(r\d+): ", question, re.MULTILINE)
    names = re.findall(r"^(n\d+): ", question, re.MULTILINE)
    return json.dumps({name: known[n] if n < len(known) else None for n, name in enumerate(names)})
