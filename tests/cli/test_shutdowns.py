"""A model that its server shuts down within 60 days is named before a run, and nothing else is."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from branchwise.agents import spec as shutdowns
from branchwise.agents.spec import shutdown_warnings
from branchwise.base.keys import Keys
from support.chat_server import ChatServer, say

ANSWER = say(json.dumps({"answers": {"Heat": ["Michael Mann"]}}))
TODAY = datetime.now(UTC).date()
SOON = (TODAY + timedelta(days=14)).isoformat()


class ListingServer(ChatServer):
    """Answers `GET /v1/models` with what it was given, and keeps the headers that came."""

    def __init__(self, listing: Any) -> None:
        super().__init__(lambda _: ANSWER)
        self.listing, self.asked = listing, []

    async def _models(self, request: web.Request) -> web.Response:
        self.asked.append(dict(request.headers))
        if self.listing is None:
            await self._released.wait()
        if isinstance(self.listing, int):
            return web.Response(status=self.listing, headers={"Location": "/v1/elsewhere"})
        body = (
            self.listing if isinstance(self.listing, bytes) else json.dumps(self.listing).encode()
        )
        return web.Response(body=body, content_type="application/json")


def listing(**days: Any) -> dict[str, Any]:
    return {"data": [{"id": name, "shutdown_date": day} for name, day in days.items()]}


@pytest.fixture
def questions(tmp_path) -> Path:
    path = tmp_path / "q.jsonl"
    question = {"id": "q1", "question": "Who directed Heat?", "answers": {"Heat": ["Mann"]}}
    path.write_text(json.dumps(question))
    return path


@pytest.fixture
def server() -> Iterator[ListingServer]:
    with ListingServer(listing(scripted=SOON)) as started:
        yield started


def lines(server: ListingServer, name: str = "scripted", keys: Keys | None = None) -> list[str]:
    return list(shutdown_warnings([f"openai:{name}@{server.url}"], keys or Keys({}), {}, TODAY))


@pytest.mark.slow
def test_run_ask_and_ablate_say_it_in_one_line_and_answer_all_the_same(
    server, type_in, questions, tmp_path
) -> None:
    model = f"openai:scripted@{server.url}"
    study = tmp_path / "s.yaml"
    base = {"model": model, "tools": []}
    factors = {"max_turns": [3, 4]}
    study.write_text(
        json.dumps({"name": "s", "questions": str(questions), "base": base, "factors": factors})
    )
    line = f"{model}: its server shuts this model down on {SOON}, in 14 days;"
    named = ("--model", model, "--tool", "none")
    for command in (
        ("run", "--questions", questions, *named, "--out", tmp_path / "r"),
        ("ask", "Who directed Heat?", *named),
        ("ablate", study, "--out", tmp_path / "s"),
    ):
        code, _, error = type_in(*command)
        assert code == 0, error
        assert " ".join(error.split()).count(line) == 1, command


def test_a_dry_run_asks_no_server(server, type_in, questions) -> None:
    model = f"openai:scripted@{server.url}"
    type_in("run", "--questions", questions, "--model", model, "--dry-run")
    assert server.asked == []


@pytest.mark.parametrize(
    ("days", "says"),
    [(60, "in 60 days"), (1, "in 1 day;"), (0, "down on"), (-9, "down on"), (61, None)],
)
def test_sixty_days_are_soon(server, days: int, says: str | None) -> None:
    day = (TODAY + timedelta(days=days)).isoformat()
    server.listing = listing(scripted=day, other=SOON)
    found = lines(server)
    assert len(found) == (says is not None)
    assert all(says in line and day in line for line in found)


@pytest.mark.parametrize(
    "odd",
    [
        listing(scripted=None), listing(scripted=""), listing(scripted="soon"), listing(scripted=7),
        listing(scripted=["2026-12-11"]), listing(other=SOON), {"data": [{"id": "scripted"}]},
        {"data": [None, 3, {"id": {}, "shutdown_date": SOON}]}, {"data": "scripted"}, [], None,
        404, 401, 500, 302, b"", b"<html>", b"[" * 100_000, b"\xff", b" " * 5_000_000,
    ],
    ids=lambda odd: str(odd)[:30],
)  # fmt: skip
def test_a_server_that_is_odd_or_slow_or_knows_no_days_says_nothing(server, odd, monkeypatch):
    if odd is None:
        monkeypatch.setattr(shutdowns, "SECONDS", 0.05)
    server.listing = odd
    assert lines(server) == []
    assert len(server.asked) == 1


def test_one_server_is_asked_once_for_all_of_its_models(server) -> None:
    server.listing = listing(a=SOON, b=SOON)
    models = [f"openai:{name}@{server.url}" for name in ("a", "b", "c", "a")]
    assert len(list(shutdown_warnings([*models, "offline", "nonsense"], Keys({}), {}, TODAY))) == 2
    assert len(server.asked) == 1


def test_a_key_goes_to_its_host_alone(server, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-openai")
    monkeypatch.setenv("OWN_KEY", "own-canary")
    lines(server)
    assert "Authorization" not in server.asked[0]
    lines(server, keys=Keys({server.host: "OWN_KEY"}))
    assert server.asked[1]["Authorization"] == "Bearer own-canary"
    assert "canary-openai" not in str(server.asked)
