"""A run whose every text attacks the terminal, the layout or the page, in the real store."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.runs.store import RunSpec, RunStore, create_run

MARKUP = (
    "[bold red]x[/] [link=https://evil.example]y[/link] [@click=app.quit]z[/] [/nothing] :bomb:"
)
ESCAPES = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;https://evil.example\x1b\\link \x9b2J"
CONTROLS = "\x00 \x07 \x08 \r \x0b \x0c \x7f \x85 \x1bc \x90q\x9c"
DIRECTIONS = "\u202egnp.exe\u202c \u2066left\u2069 \u200f שלום עולם العربية"
ZERO_WIDTH = "a\u200bb\u200cc\u200dd\ufeffe\u00adf\u2060g"
WIDE = "👩‍👩‍👧‍👦 🇩🇪 ☀️ 日本語 한국어 e\u0301\u0327 ﷽ \u00a0\u3000\u2009"
PAGES = "<script>alert(1)</script> ![x](http://evil.example/x.png) `` ``` ```` | # * ~~~ <!--"
ATTACK = " ".join((MARKUP, ESCAPES, CONTROLS, DIRECTIONS, ZERO_WIDTH, WIDE, PAGES, "\u2028\u2029"))
"""One line for whoever splits at "\\n" only, several for whoever splits at anything else."""
LONG_LINE = 100_000
GOLD = ("John Guillermin", "Merian C. Cooper", "Jessica Lange", "Rick Baker")
QUESTION_IDS = ("hostile", "failed", "pending")
_COST = {"usage": {"input": 12, "output": 3, "cached": 1, "reasoning": 2}, "seconds": 0.1234}


def hostile_run(path: Path, line: int = LONG_LINE) -> Path:
    """A run folder of three items: one that ended, one that failed, one that has not begun.

    One passage is a line of so many characters.

    What the store itself refuses (lone surrogates) is in `hostile_event`.
    """
    questions = [
        Question(id=id, question=f"Who? {ATTACK}", ambiguous=True, branches=_branches())
        for id in QUESTION_IDS
    ]
    system = {"model": f"openai:{ATTACK}", "tools": ["local_retriever", "wikisparql"]}
    create_run(path, RunSpec("branches", ATTACK, "d", system, {}, "s", 1, "0"), questions)
    asyncio.run(_fill(path, line))
    return path


def hostile_event() -> Mapping[str, Any]:
    """An event of no known kind, with lone surrogates and numbers that are no JSON."""
    return {"text": f"\ud800{ATTACK}\udfff", "nested": {"\udc80": [float("nan"), 10**40, None]}}


def _branches() -> tuple[Branch, ...]:
    # The long line is gold's only support of the answer that it names.
    first, second, third, fourth = (
        Answer(
            text=text,
            aliases=(f"{text} {ATTACK}",),
            support=("p3",) if text == "Jessica Lange" else (),
        )
        for text in GOLD
    )
    return (
        Branch(name=f"1976 film {ATTACK}", answers=(first, third, fourth)),
        Branch(name=f"1933 film {ATTACK}", answers=(second,)),
    )


async def _fill(path: Path, line: int) -> None:
    with RunStore(path) as store:
        ended, failed, _ = list(store.pending())
        journal = store.begin(ended)
        for kind, data in events(line):
            journal.event(kind, data)
        outcome = {"prediction": prediction(), "evidence": [], "how": "repaired", "error": None}
        await journal.finish("done", outcome)
        journal = store.begin(failed)
        journal.event("start", _start())
        journal.event("error", {"kind": ATTACK, "message": ATTACK})
        nothing = {"reasoning": "", "answers": {}, "citations": {}, "task_output": None}
        outcome = {"prediction": nothing, "evidence": [], "how": "failed", "error": ATTACK}
        await journal.finish("failed", outcome)


def prediction() -> dict[str, Any]:
    """One right answer, one wrong, one under the wrong branch."""
    keys = (f"1976 film {ATTACK}", f"1933 film {ATTACK}", ATTACK)
    answers = {keys[0]: [GOLD[0], GOLD[1], f"nobody {ATTACK}"], keys[1]: [], keys[2]: [ATTACK * 3]}
    return {"reasoning": ATTACK, "answers": answers, "citations": {keys[0]: [ATTACK]}}


def passages(line: int = LONG_LINE) -> list[dict[str, Any]]:
    """The last one is one long line; gold answers stand in all of them."""
    return [
        {"id": "p0", "title": "King Kong", "text": f"{ATTACK} John Guillermin", "score": 0.5},
        {"id": f"p1 {ATTACK}", "title": ATTACK, "text": f"Jessica Lange {ATTACK}", "score": 0.25},
        {"id": "p2", "title": "t" * 2_000, "text": f"{ATTACK}\n\nJessica\tLange", "score": -1.0},
        {"id": "p3", "title": "long", "text": long_line(line), "score": 1e-9},
    ]


def long_line(characters: int) -> str:
    """A line that names a gold answer at both ends."""
    filling = "wörd " * (characters // 5)
    return f"Jessica Lange {filling[: characters - 28]} Jessica Lange"


def _start() -> dict[str, Any]:
    given = [{"id": f"g {ATTACK}", "title": ATTACK, "text": ATTACK}]
    return {"system": ATTACK, "content": ATTACK, "artifact": {"passages": given}}


def events(line: int = LONG_LINE) -> list[tuple[str, dict[str, Any]]]:
    """Events of every kind that there is, and of one that is not known."""
    query = {"id": f"c1 {ATTACK}", "name": "wikisparql", "args": {"query": f"SELECT * {{ {ATTACK}"}}
    search = {"id": "c2", "name": "local_retriever", "args": {"query": ATTACK, ATTACK: {"k": [1]}}}
    names = {"id": "c3", "name": "wikidata_search", "args": {"text": f"a\n{ATTACK}"}}
    plain = {"id": "c4", "name": ATTACK, "args": {}}
    bad = {"id": None, "name": ATTACK, "args": f"{{{ATTACK}"}
    calls = [query, search, names, plain]
    made = [*calls, bad]
    turn = {"turn": 1, "text": ATTACK, "tool_calls": calls, "invalid_tool_calls": [bad]}
    turn |= {"reasoning": f"{ATTACK}\n{ATTACK}", "finish": "tool_calls", "replayed": True, **_COST}
    last = {**turn, "turn": 2, "tool_calls": [], "invalid_tool_calls": [], "finish": "length"}
    results = list(zip(range(5), made, _results(line), strict=True))
    # Calls of one turn end in any order.
    tools = [_tool(of, call, result) for of, call, result in (results[1], results[0], *results[2:])]
    return [
        ("start", _start()),
        ("expansion", _expansion()),
        ("retry", {"role": "agent", "attempt": 1, "kind": ATTACK, "message": ATTACK, "wait": 0.5}),
        ("left_out", {"role": "agent", "field": ATTACK, "message": ATTACK}),
        ("compacted", {"results": 3, "newly": 2, "tokens": 41_000, "reopens": True}),
        ("context_trimmed", {"omitted": 3, "newly": 2}),
        ("model", turn),
        *(("tool", tool) for tool in tools),
        ("retry", {"role": "extractor", "attempt": 2, "kind": "x", "message": "y", "wait": None}),
        ("extraction", _extraction(search, line)),
        (f"kind of a plug-in {ATTACK}", {"text": ATTACK, "deep": [{ATTACK: [1, 2.5, None, True]}]}),
        ("budget", {"reason": ATTACK, "text": f"{ATTACK}\n{ATTACK}"}),
        ("model", last),
        ("repair", {"problem": ATTACK, "text": ATTACK}),
        ("model", {**last, "role": "repair"}),
        ("repair_failed", {"error": ATTACK, "message": ATTACK}),
        ("stage", {"name": ATTACK, "option": ATTACK, "system": ATTACK, "content": ATTACK}),
        ("stage_end", {"name": "question", "question": ATTACK, "options": [ATTACK] * 2}),
        ("stage_end", {"name": ATTACK, "option": ATTACK, "answers": [ATTACK], "problem": ATTACK}),
        (
            "answer",
            {"how": "repaired", "problem": ATTACK, "raw": ATTACK, "prediction": prediction()},
        ),
    ]


def _tool(of: int, call: Mapping[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    known = {"call": dict(call), "of": of, "seconds": 0.5, "replayed": False, "error": None}
    return {**known, "failure": None, "artifact": {}, **result}


def _results(line: int) -> list[dict[str, Any]]:
    """Of a query, a search, a search by name, a tool of plain text, and a call that failed."""
    cells = [
        {"type": "uri", "value": f"http://www.wikidata.org/entity/Q1{ATTACK}"},
        {"type": "literal", "value": ATTACK, "xml:lang": ATTACK},
        None,
    ]
    rows = {"variables": [ATTACK, "b", "c"], "rows": [cells, [*cells[::-1]]], "complete": False}
    rows |= {"boolean": None, "labels": {cells[0]["value"]: f"Rick Baker {ATTACK}"}}
    match = {"id": ATTACK, "label": ATTACK, "description": ATTACK, "name": "Rick Baker"}
    match |= {"types": [ATTACK, "film"], "statements": 7, "near": True}
    found = passages(line)
    shown = "\n\n".join(f"[{p['id']}] {p['title']}\n{' '.join(p['text'].split())}" for p in found)
    return [
        {"content": f"1 row: {ATTACK}", "artifact": {"rows": rows}},
        {"content": shown, "artifact": {"passages": found}},
        {"content": ATTACK, "artifact": {"matches": [match], ATTACK: ATTACK}},
        {"content": f"{ATTACK}\n{'x' * 3_000}", "artifact": {}},
        {"content": f"Error: {ATTACK}", "error": ATTACK, "failure": "arguments"},
    ]


def _expansion() -> dict[str, Any]:
    dropped = [{"text": ATTACK, "why": ATTACK}]
    said = {"text": ATTACK, "reasoning": ATTACK, "error": None, "replayed": False, **_COST}
    found = [{"id": ATTACK, "title": ATTACK, "name": ATTACK, "about": ATTACK, ATTACK: ATTACK}]
    searches = [
        {"tool": ATTACK, "args": {"query": ATTACK}, "hits": 1, "found": found, ATTACK: ATTACK},
        {"tool": ATTACK, "args": {ATTACK: ATTACK}, "error": ATTACK},
    ]
    asked = {"question": ATTACK, "readings": [ATTACK, "plain"], "how": "readings"}
    asked["looked"] = searches
    return {**asked, "dropped": dropped, **said}


def _extraction(call: Mapping[str, Any], line: int) -> dict[str, Any]:
    """Spans, nothing, a failure, and the whole of a passage."""
    first, second, third, fourth = passages(line)
    said = {"reasoning": ATTACK, "error": None, "replayed": False, **_COST}
    span = {"dropped": [{"text": ATTACK, "why": "not in the passage"}], "whole": False, **said}
    records = [
        {"id": first["id"], "spans": ["John Guillermin"], "how": "spans", **span},
        {"id": second["id"], "spans": [], "how": "none", **span},
        {"id": third["id"], "spans": [], "how": "failed", **span, "error": ATTACK},
        {
            "id": fourth["id"],
            "spans": [fourth["text"][: line // 5].rstrip()],
            "how": "spans",
            **span,
        },
    ]
    named = {"id": call["id"], "name": call["name"]}
    return {"call": named, "of": 1, "passages": records, "content": ATTACK}
