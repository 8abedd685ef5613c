"""The tests' own server counts what it is asked: kill tests rely on it."""

import json
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from support import TESTS
from support.chat_server import ChatServer, say


def fetch(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=10) as response:
        return json.load(response)


def question(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def test_repeats_are_counted_by_body(chat_server: ChatServer) -> None:
    chat_server.play(lambda body: say("x"))
    for text in ("one", "two", "one", "one"):
        fetch(f"{chat_server.url}/chat/completions", question(text))
    assert sorted(chat_server.counts.values()) == [1, 3]
    assert chat_server.repeats == 2
    assert fetch(f"{chat_server.url}/models")["data"][0]["id"] == "scripted"


@pytest.mark.usefixtures("process")
def test_as_a_program_it_prints_its_url_and_its_counts() -> None:
    command = [sys.executable, "-m", "support.chat_server", "--port", "0", "--script", "direct"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            reply = fetch(f"{url}/chat/completions", question("Heat again"))
            content = json.loads(reply["choices"][0]["message"]["content"])
            counts = fetch(url.replace("/v1", "/counts"))
        finally:
            process.kill()
    assert content["answers"] == {"default": ["Heat"]}
    assert (counts["requests"], counts["repeats"]) == (1, 0)
