"""The tests' own server counts what it is asked: kill tests rely on it."""

import json
import urllib.request
from typing import Any

from support.chat_server import say


def fetch(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=10) as response:
        return json.load(response)


def question(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def test_repeats_are_counted_by_body(chat_server):
    chat_server.play(lambda body: say("x"))
    for text in ("one", "two", "one", "one"):
        fetch(f"{chat_server.url}/chat/completions", question(text))
    assert sorted(chat_server.counts.values()) == [1, 3]
    assert chat_server.repeats == 2
    assert fetch(f"{chat_server.url}/models")["data"][0]["id"] == "scripted"
