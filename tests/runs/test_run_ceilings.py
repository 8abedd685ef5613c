"""Ceilings of a run as it is stored: two searches, an extraction, and an answer by heart."""

import json
from pathlib import Path
from typing import Any

import pytest

from branchwise import run
from branchwise.eval.ceilings import TracedItem, ceilings
from branchwise.eval.errors.attribution import examine
from branchwise.eval.reach import Reach, find_reach
from branchwise.eval.sources import run_sources
from support.by_role import by_role
from support.chat_server import ChatServer, call, say

SUPPORT = {
    "Michael Mann": "heat-1995",
    "John Guillermin": "kong-1976",
    "Michael Bay": "island",
    "Nobody Else": "in-no-corpus",
}
ANSWER = {"reasoning": "", "answers": {"default": ["John Guillermin", "Michael Bay"]}}


@pytest.fixture
def reviewed(chat_server: ChatServer, make_system: Any, tmp_path: Path) -> Any:
    """Answers one question with two searches of one passage each, and reads the run back."""
    answers = [{"text": name, "support": [id]} for name, id in SUPPORT.items()]
    question = {"id": "q", "question": "Who directed which film?"}
    question["branches"] = [{"name": "default", "answers": answers}]
    (tmp_path / "q.jsonl").write_text(json.dumps(question))

    def play(extract: bool) -> tuple[TracedItem, Reach]:
        turns = iter(
            [
                call("local_retriever", query="Mann wrote"),
                call("local_retriever", query="Guillermin second"),
                say(json.dumps(ANSWER)),
            ]
        )
        chat_server.play(by_role(agent=lambda body: next(turns), extractor=extractor))
        system = make_system().model_copy(update={"extract": extract})
        reader = run(str(tmp_path / "q.jsonl"), system, out=tmp_path / "run").open()
        (item,) = reader.answered_items()
        (row,) = reader.items()
        found = examine(item, reader.events(row.item))
        reach = find_reach([item.question], run_sources(reader.meta))
        return TracedItem(item, found.matches, found.evidence), reach

    return play


def extractor(body: dict[str, Any]) -> Any:
    """Keeps Guillermin's sentence and nothing of any other passage."""
    kept = "John Guillermin directed the second King Kong film."
    return say(kept if kept in body["messages"][-1]["content"] else "NONE")


@pytest.mark.parametrize(
    ("extract", "expected"),
    [
        # The last loss: Michael Bay was known by heart.
        (True, [0.75, 0.5, 0.25, 0.25, 0.5, 0.25, 0.25, 0, -0.25]),
        (False, [0.75, 0.5, 0.5, 0.5, 0.5, 0.25, 0, 0, 0]),
    ],
)
def test_ceilings_by_hand(reviewed: Any, extract: bool, expected: list[float]) -> None:
    item, reach = reviewed(extract=extract)
    [found] = ceilings([item], reach, recall="strict_recall").items
    assert list(found.metrics.values()) == expected
    assert (reach.unknown, reach.final) == ((), True)
