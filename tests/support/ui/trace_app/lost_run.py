"""A run in which answers were lost in every way there is; two questions."""

import asyncio
from pathlib import Path
from typing import Any

from branchwise.corpora.questions import Answer
from branchwise.runs.store import RunSpec, RunStore, create_run
from support.eval.scoring_cases import question
from support.ui.trace_app.film_runs import model, outcome

GOLD = ("Al Pacino", "Robert De Niro", "Val Kilmer", "Ashley Judd", "Jon Voight")
QUESTION = "Who plays in Heat (1995 film), from the lead to the smallest part?"
SEARCH, SECOND, EXTRACTION, QUERY, ANSWER = 2, 3, 4, 6, 8
"""Steps of the trace: two searches of one turn, what was extracted from the second, a query."""
FILLING = "A film is made of many scenes. " * 12
SPARQL = "SELECT ?actor ?name WHERE { wd:Q1 wdt:P161 ?actor . ?actor rdfs:label ?name }"


def lost_run(path: Path) -> Path:
    new_run(path)
    with RunStore(path) as store:
        pending = next(iter(store.pending()))
        journal = store.begin(pending)
        for kind, data in events():
            journal.event(kind, data)
        answers = {"default": ["Al Pacino", "James Woods"]}
        asyncio.run(journal.finish("done", outcome(answers, tokens=4321)))
    return path


def new_run(path: Path) -> None:
    """The same run before anything has begun."""
    # As gold says, so that no rule decides whether a passage states them.
    support = {"Robert De Niro": ("p12",), "Val Kilmer": ("s1",)}
    gold = [Answer(text=name, support=support.get(name, ())) for name in GOLD]
    questions = [
        question("heat", {"default": gold}, QUESTION),
        question("kong", {"default": ["Fay Wray"]}, "Who is in King Kong?"),
    ]
    system = {"model": "offline", "tools": ["local_retriever", "wikisparql"]}
    create_run(path, RunSpec("branches", "films", "d", system, {}, "s", 1, "0"), questions)


def events() -> list[tuple[str, dict[str, Any]]]:
    """Two searches in one turn, evidence extraction of the second, a query, the answer."""
    search = {"id": "c1", "name": "local_retriever", "args": {"query": "Heat cast"}}
    second = {"id": "c2", "name": "local_retriever", "args": {"query": "Heat thieves"}}
    query = {"id": "c3", "name": "wikisparql", "args": {"query": SPARQL}}
    return [
        (
            "start",
            {"system": "Answer every reading.", "content": QUESTION, "artifact": {"passages": []}},
        ),
        ("model", model(1, [search, second], "I look for the cast of the film first.")),
        ("tool", tool(0, search, {"passages": passages()})),
        ("tool", tool(1, second, {"passages": [passage("s1", f"{FILLING}\nVal Kilmer robs.")]})),
        ("extraction", _extraction(second)),
        ("model", model(2, [query])),
        ("tool", tool(0, query, {"rows": _rows()})),
        ("model", model(3, text="Al Pacino and James Woods")),
        ("answer", {"how": "strict", "problem": None, "raw": None, "prediction": _prediction()}),
    ]


def passages() -> list[dict[str, Any]]:
    """Fifteen, of which p0 names Al Pacino and p12, at its end, Robert De Niro."""
    texts = {0: "Al Pacino is Vincent. ", 12: f"{FILLING * 8}\nRobert De Niro is Neil."}
    return [passage(f"p{n}", texts.get(n, "") or f"{FILLING}Nothing more.") for n in range(15)]


def passage(id: str, text: str) -> dict[str, Any]:
    return {"id": id, "title": f"Heat, part {id}", "text": text, "score": 0.5}


def tool(of: int, call: dict[str, Any], artifact: dict[str, Any]) -> dict[str, Any]:
    shown = "\n".join(found["text"] for found in artifact.get("passages", ()))
    result = {"content": shown or "3 rows", "artifact": artifact, "error": None, "failure": None}
    return {"call": call, "of": of, **result, "seconds": 0.01, "replayed": False}


def _rows() -> dict[str, Any]:
    names = ("Al Pacino", "Amy Brenneman", "Ashley Judd")
    rows = [
        [
            {"type": "uri", "value": f"http://www.wikidata.org/entity/Q{n}"},
            {"type": "literal", "value": name},
        ]
        for n, name in enumerate(names)
    ]
    kept: dict[str, Any] = {"variables": ["actor", "name"], "rows": rows, "complete": True}
    return {**kept, "boolean": None, "labels": {}}


def _extraction(call: dict[str, Any]) -> dict[str, Any]:
    said = {"reasoning": "", "error": None, "replayed": False, "seconds": 0.1}
    said["usage"] = {"input": 0, "output": 0}
    record = {"id": "s1", "spans": [], "how": "none", "dropped": [], "whole": False, **said}
    return {"call": call, "of": 1, "passages": [record], "content": "nothing"}


def _prediction() -> dict[str, Any]:
    return {"reasoning": "", "answers": {"default": ["Al Pacino", "James Woods"]}}
