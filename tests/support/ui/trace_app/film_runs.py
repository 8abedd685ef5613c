"""Two small runs over the same questions, written through the store, with scores done by hand."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from branchwise.agents.journal import CallKey
from branchwise.corpora.questions import Answer, Question
from branchwise.runs.store import RunSpec, RunStore, create_run
from support.eval.scoring_cases import question
from support.ui import written_runs

Gold = Mapping[str, Sequence[str]]
KONG = {
    "King Kong (1933 film)": ["Fay Wray", "Bruce Cabot"],
    "King Kong (1976 film)": ["Jessica Lange"],
}
GOLD: Mapping[str, tuple[str, Gold]] = {
    "kong": ("Who is in King Kong?", KONG),
    "heat": ("Who plays Vincent and Neil in Heat?", {"default": ["Al Pacino", "Robert De Niro"]}),
    "alien": ("Who directed Alien?", {"default": ["Ridley Scott"]}),
    "jaws": ("Who directed Jaws?", {"default": ["Steven Spielberg"]}),
    "brazil": ("Who directed Brazil?", {"default": ["Terry Gilliam"]}),
    "tron": ("Who directed Tron?", {"default": ["Steven Lisberger"]}),
}
BASE: Mapping[str, Gold] = {
    "kong": KONG,
    "heat": {"default": ["Al Pacino"]},
    "alien": {"default": ["Ridley Scott", "James Cameron"]},
}
OTHER: Mapping[str, Gold] = {"kong": KONG, "heat": GOLD["heat"][1], "alien": {}}
RETRIEVED = "Al Pacino and Robert De Niro play in Heat. King Kong has Fay Wray. Ridley Scott."


def questions() -> list[Question]:
    return [
        question(
            id,
            {branch: [_supported(name) for name in names] for branch, names in gold.items()},
            text,
        )
        for id, (text, gold) in GOLD.items()
    ]


def _supported(name: str) -> Answer:
    """An answer that the passage states: gold says so."""
    return Answer(text=name, support=("p1",))


def base_run(path: Path) -> Path:
    """Three done, one failed, one running, one pending."""
    new_run(path, {"model": "offline", "tools": ["local_retriever"]})
    with RunStore(path) as store:
        pending = {item.question.id: item for item in store.pending()}
        for id, answers in BASE.items():
            asyncio.run(finish(store, pending[id], answers))
        asyncio.run(fail(store, pending["jaws"], "the server said 500 [bold]five hundred[/bold]"))
        asyncio.run(begin(store, pending["brazil"]))
    return path


def other_run(path: Path) -> Path:
    """Three done, three pending; another model."""
    new_run(path, {"model": "openai:gpt-6-luna", "tools": ["local_retriever"], "expand": True})
    with RunStore(path) as store:
        pending = {item.question.id: item for item in store.pending()}
        for id, answers in OTHER.items():
            asyncio.run(finish(store, pending[id], answers))
    return path


def new_run(path: Path, system: Mapping[str, Any]) -> None:
    create_run(path, RunSpec("branches", "films", "d", system, {}, "s", 1, "0"), questions())


async def begin(store: RunStore, pending: Any) -> Any:
    journal = store.begin(pending)
    journal.event("start", _start(pending.question.id))
    reply = model(1, text="Let me think.")
    await journal.keep(journal.recall(CallKey("model", "agent", "digest")), reply)
    return journal


async def finish(store: RunStore, pending: Any, answers: Gold) -> None:
    id = pending.question.id
    journal = store.begin(pending)
    for kind, data in events(id, answers):
        journal.event(kind, data)
    await journal.finish("done", outcome(answers, tokens=1200 + 10_000 * pending.item))


async def fail(store: RunStore, pending: Any, error: str) -> None:
    journal = store.begin(pending)
    journal.event("start", _start(pending.question.id))
    journal.event("error", {"kind": "ModelError", "message": error})
    await journal.finish("failed", {**outcome({}, tokens=300), "how": "failed", "error": error})


def outcome(answers: Gold, *, tokens: int) -> dict[str, Any]:
    ended = written_runs.outcome(evidence=["p1"], turns=2, calls=1, tokens=tokens, seconds=12.5)
    return ended | {"prediction": _prediction(answers)}


def _prediction(answers: Gold) -> dict[str, Any]:
    return {"reasoning": "", "answers": {name: list(texts) for name, texts in answers.items()}}


def events(id: str, answers: Gold) -> list[tuple[str, dict[str, Any]]]:
    call = {"id": "c1", "name": "local_retriever", "args": {"query": GOLD[id][0]}}
    passage = {"id": "p1", "title": "Films", "text": RETRIEVED, "score": 0.9}
    result = {"content": f"[p1] Films\n{RETRIEVED}", "artifact": {"passages": [passage]}}
    answer = {"how": "strict", "problem": None, "raw": None, "prediction": _prediction(answers)}
    tool = {"call": call, "of": 0, **result, "error": None, "failure": None}
    return [
        ("start", _start(id)),
        ("model", model(1, [call], "I look for the cast.")),
        ("tool", {**tool, "seconds": 0.01, "replayed": False}),
        ("model", model(2, text="{}")),
        ("answer", answer),
    ]


def _start(id: str) -> dict[str, Any]:
    return {"system": "Answer every reading.", "content": GOLD[id][0], "artifact": {"passages": []}}


def model(
    turn: int, calls: Sequence[Mapping[str, Any]] = (), reasoning: str = "", text: str = ""
) -> dict[str, Any]:
    said = {"turn": turn, "text": text, "tool_calls": list(calls), "reasoning": reasoning}
    usage = {"input": 800, "output": 100, "cached": 0, "reasoning": 80}
    finish = "tool_calls" if calls else "stop"
    return {**written_runs.TURN, **said, "finish": finish, "usage": usage, "seconds": 1.25}
