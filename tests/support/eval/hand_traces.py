"""Reads tests/eval/hand_traces/*.yaml: traces in short form, with the errors a person sees.

A trace has its `question` ("Who?"), `gold` and `answers` (branch: [texts]; a gold answer may be
{text, aliases, qid, support}), and `events`, numbered from 1 (0 is the start, with the passages
`given`). The short forms of events are the functions of `_EVENTS`. Calls of a turn are named in its
`model` event; a `tool` event says which of them it answers (`of`, the first if it says nothing).
Expected are, each in full:

  labels:   the question's labels
  branches: {gold branch: [its labels]}, those that have some
  missing:  [branch, answer, label, lost_at or key, place, ...]; `unknown` for no label; behind
            `elsewhere` the places that only mention it
  wrong:    [key, text, label (`wrong_branch of` a gold branch; `read`, `unknown`), place, ...]
  calls:    [number, tool, kind]
  format_error, budget_spent: the reason and the step

A place is `step.call`, then the passage or `row N`, then `hidden` where the agent did not see it,
and `by N` where the node of step N took it out. Behind `node` stands the step that lost the answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import yaml

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.errors.item_errors import ItemErrors, MissingAnswer, WrongAnswer
from branchwise.eval.items import AnsweredItem, Matched
from branchwise.trace.events import Event
from support import TESTS

FOLDER = TESTS / "eval" / "hand_traces"
Record = dict[str, Any]


@dataclass(frozen=True)
class HandTrace:
    name: str
    item: AnsweredItem
    events: tuple[Event, ...]
    expected: Record


def hand_traces() -> list[HandTrace]:
    files = sorted(FOLDER.glob("*.yaml"))
    records = [r for file in files for r in yaml.safe_load(file.read_text("utf-8"))]
    return [_trace(record) for record in records]


def found(errors: ItemErrors) -> Record:
    """Errors in the short form of the files; what is empty is left out."""
    record = {
        "labels": [label.value for label in errors.labels],
        "branches": {b.name: [x.value for x in b.labels] for b in errors.branches if b.labels},
        "missing": [_missing(answer) for answer in errors.missing],
        "wrong": [_wrong(answer, errors) for answer in errors.wrong],
        "calls": [[call.call, call.tool, call.kind] for call in errors.failed_calls],
        "format_error": errors.format_error and [*astuple(errors.format_error)],
        "budget_spent": errors.budget_spent and [*astuple(errors.budget_spent)],
    }
    return {key: value for key, value in record.items() if value}


def _missing(answer: MissingAnswer) -> list[str]:
    head = [answer.branch, answer.text, answer.label.value if answer.label else "unknown"]
    step = "" if answer.lost_step is None else f" {answer.lost_step}"
    lost = [f"{w}{step}" for w in (answer.lost_at, answer.under) if w]
    elsewhere = _listed(answer.elsewhere, answer.mentioned)
    return head + lost + _places(answer) + (["elsewhere", *elsewhere] if elsewhere else [])


def _wrong(answer: WrongAnswer, errors: ItemErrors) -> list[str]:
    known = "read" if errors.traced else "unknown"
    label = answer.label.value if answer.label else known
    if answer.belongs_to:
        label += f" of {answer.belongs_to}"
    return [answer.branch, answer.text, label, *_places(answer)]


def _places(answer: MissingAnswer | WrongAnswer) -> list[str]:
    return _listed(answer.places, answer.retrieved)


def _listed(places: Sequence[EvidencePlace], count: int) -> list[str]:
    more = count - len(places)
    return [*map(_place, places), *([f"and {more} more"] if more else [])]


def _place(place: EvidencePlace) -> str:
    where = place.passage or (f"row {place.row}" if place.row is not None else "")
    taken = "" if place.node is None else f"by {place.node}"
    words = [f"{place.step}.{place.call}", where, "" if place.shown else "hidden", taken]
    return " ".join(word for word in words if word)


def _trace(record: Record) -> HandTrace:
    question = Question(
        id=record["name"],
        question=record.get("question", "Who?"),
        ambiguous=len(record["gold"]) > 1,
        branches=tuple(_branch(name, answers) for name, answers in record["gold"].items()),
    )
    matched = record.get("matched")
    item = AnsweredItem(
        question,
        Prediction(answers={k: tuple(v) for k, v in record.get("answers", {}).items()}),
        how=record.get("how", "strict"),
        error=record.get("error"),
        matched=Matched("llm", matched) if matched else None,
    )
    expected = {k: record[k] for k in _EXPECTED if record.get(k)}
    return HandTrace(record["name"], item, tuple(_events(record)), expected)


_EXPECTED = ("labels", "branches", "missing", "wrong", "calls", "format_error", "budget_spent")


def _branch(name: str, answers: list[Any]) -> Branch:
    texts = [{"text": a} if isinstance(a, str) else a for a in answers]
    return Branch(name=name, answers=tuple(Answer(**text) for text in texts))


def _events(record: Record) -> Iterator[Event]:
    if record.get("untraced"):
        return
    given = {"passages": _passages(record.get("given", {}))}
    yield Event(0, "start", 0.0, {"system": "", "content": "Who?", "artifact": given})
    calls: list[Record] = []
    for number, short in enumerate(record.get("events", []), start=1):
        name = next(iter(short))
        kind, data = _EVENTS[name](short, calls)
        if kind == "model" and "role" not in data:
            calls = [*data["tool_calls"], *data["invalid_tool_calls"]]
        yield Event(number, kind, float(number), data)


def _passages(passages: Mapping[str, Any]) -> list[Record]:
    """{id: text} or {id: [title, text]}."""
    pairs = {id: p if isinstance(p, list) else ["Page", p] for id, p in passages.items()}
    return [{"id": id, "title": t, "text": x, "score": 1.0} for id, (t, x) in pairs.items()]


_USAGE = {"input": 100, "output": 10, "cached": 0, "reasoning": 0}


def _model(short: Record, calls: list[Record]) -> tuple[str, Record]:
    """`model: [tool, ...]`, a call perhaps as {id, name, args}; `says`, `thinks`, `finish`."""
    made = [{"name": c} if isinstance(c, str) else c for c in short.get("model") or []]
    numbered = [{"id": f"c{n}", "args": {}, **call} for n, call in enumerate(made)]
    return "model", {
        "turn": 1,
        "text": short.get("says", ""),
        "tool_calls": [c for c in numbered if isinstance(c["args"], dict)],
        "invalid_tool_calls": [c for c in numbered if not isinstance(c["args"], dict)],
        "reasoning": short.get("thinks", ""),
        "finish": short.get("finish", "stop"),
        "usage": _USAGE,
    }


def _repaired(short: Record, calls: list[Record]) -> tuple[str, Record]:
    """`repaired: text`: the model's reply to the repair."""
    _, data = _model({"says": short["repaired"]}, calls)
    return "model", data | {"role": "repair"}


def _tool(short: Record, calls: list[Record]) -> tuple[str, Record]:
    """`tool: content`, with `passages`, `rows`, `matches`, or `error` and `failure`; `of`."""
    of = short.get("of", 0)
    artifact: Record = {}
    if "passages" in short:
        artifact["passages"] = _passages(short["passages"])
    if "rows" in short:
        artifact["rows"] = _rows(short)
    if "matches" in short:
        artifact["matches"] = [{"name": m["label"], **m} for m in short["matches"]]
    return "tool", {
        "call": calls[of],
        "of": of,
        "content": short["tool"] or "",
        "artifact": short.get("artifact", artifact),
        "error": short.get("error"),
        "failure": short.get("failure"),
    }


def _rows(short: Record) -> Record:
    """`rows: [[cell, ...]]` under `variables`; a cell that is `wd:Q1` is an IRI."""
    width = max(map(len, short["rows"]), default=0)
    return {
        "variables": short.get("variables", [f"v{n}" for n in range(width)]),
        "rows": [[_cell(cell) for cell in row] for row in short["rows"]],
        "complete": True,
        "boolean": None,
        "labels": {_iri(k): label for k, label in short.get("labels", {}).items()},
    }


def _cell(cell: str | None) -> Record | None:
    if cell is None:
        return None
    if cell.startswith("wd:"):
        return {"type": "uri", "value": _iri(cell)}
    return {"type": "literal", "value": cell}


def _iri(short: str) -> str:
    return short.replace("wd:", "http://www.wikidata.org/entity/")


def _extraction(short: Record, calls: list[Record]) -> tuple[str, Record]:
    """`extraction: {passage: [span, ...]}`, or `failed`, or `whole`; no span is `none`."""
    passages = []
    for id, spans in short["extraction"].items():
        listed = spans if isinstance(spans, list) else []
        how = "failed" if spans == "failed" else "spans" if spans else "none"
        record = {"id": id, "spans": listed, "dropped": [], "how": how, "usage": _USAGE}
        passages.append(record | {"whole": spans == "whole"})
    of = short.get("of", 0)
    call = {"id": calls[of]["id"], "name": calls[of]["name"]}
    return "extraction", {"call": call, "of": of, "passages": passages, "content": ""}


def _node(short: Record, calls: list[Record]) -> tuple[str, Record]:
    """`node: {call: {passages, text}}` behind tools; `node: text` puts it in the answer's place."""
    changed = short["node"]
    if isinstance(changed, str):
        update: Record = {"messages": [{"type": "ai", "content": changed}]}
    else:
        update = {"pending": [_changed(of, record) for of, record in changed.items()]}
    slot = "before_answer" if isinstance(changed, str) else "after_tools"
    return "node", {"name": "n", "slot": slot, "error": None, "printed": "", "update": update}


def _changed(of: int, record: Record) -> Record:
    """The text is that of the passages, unless it is given."""
    listed = _passages(record.get("passages", {}))
    text = "\n\n".join(f"[{p['id']}] {p['title']}\n{p['text']}" for p in listed)
    artifact = {"passages": listed} if "passages" in record else {}
    return {"of": of, "content": record.get("text", text), "artifact": artifact}


_EVENTS = {
    "node": _node,
    "model": _model,
    "says": _model,
    "repaired": _repaired,
    "tool": _tool,
    "extraction": _extraction,
    "compacted": lambda short, _: ("compacted", {"results": short["compacted"], "newly": 1}),
    "trimmed": lambda short, _: ("context_trimmed", {"omitted": short["trimmed"], "newly": 1}),
    "budget": lambda short, _: ("budget", {"reason": short["budget"], "text": ""}),
    "repair": lambda short, _: ("repair", {"problem": short["repair"], "text": ""}),
    "repair_failed": lambda short, _: ("repair_failed", {"error": "timeout", "message": ""}),
    "answer": lambda short, _: (
        "answer",
        {"how": short["answer"], "problem": short.get("problem"), "raw": None, "prediction": {}},
    ),
    "expansion": lambda short, _: (
        "expansion",
        {"readings": short["expansion"], "how": "readings", "text": "", "usage": _USAGE},
    ),
    "failed": lambda short, _: ("error", {"kind": "server", "message": short["failed"]}),
}
