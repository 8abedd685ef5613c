"""One fixed script through all four module combinations, beside what a person worked out.

The script and the expectations are in four_combinations.yaml, to be read.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from branchwise import run, score
from branchwise.agents.prompt_files import Prompts
from branchwise.eval.errors.attribution import attribute
from branchwise.eval.errors.gold_evidence import EvidencePlace
from support.chat_server import Answer, Body, call, calls, fail, say
from support.corpora.small import bm25_corpus

CASE: Mapping[str, Any] = yaml.safe_load(
    Path(__file__).with_name("four_combinations.yaml").read_text("utf-8")
)
MODULES = {
    "base": {},
    "expansion": {"expand": True, "readings_from": "memory"},
    "extraction": {"extract": True, "extract_by": "passage"},
    "both": {"expand": True, "readings_from": "memory", "extract": True, "extract_by": "passage"},
}
PROMPTS = Prompts.load()
REPAIR = PROMPTS.texts["repair"].split("$")[0]
ID_OF = {q["question"]: id for id, q in CASE["questions"].items()}


def scripted(body: Body) -> Answer:
    """The reply that the script has for a request, by the role that its first message gives."""
    messages = body["messages"]
    system, user, last = (messages[n]["content"] for n in (0, 1, -1))
    script = CASE["script"]
    if system == PROMPTS.texts["expander"]:
        return say(script["expander"][ID_OF[user]])
    if system == PROMPTS.texts["extractor"]:
        return extracted(user)
    question = ID_OF[user.split("\n")[0]]
    if messages[-1]["role"] == "user" and last.startswith(REPAIR):
        return say(script["repair"][question])
    return agent_turn(question, messages)


def extracted(user: str) -> Answer:
    text = user.rsplit("\n", 1)[1]
    passage = next(id for id, p in CASE["corpus"].items() if p["text"] == text)
    reply = CASE["script"]["extractor"][passage]
    return fail(400, "the script lets this call fail") if reply == "FAILS" else say(reply)


def agent_turn(question: str, messages: Sequence[Mapping[str, Any]]) -> Answer:
    turn = 1 + sum(m["role"] == "assistant" for m in messages)
    readings = "\n- " in messages[1]["content"]
    shown = "\n".join(m["content"] for m in messages if m["role"] == "tool")
    for rule in CASE["script"]["agent"]:
        if (
            rule["question"] == question
            and rule["turn"] == turn
            and rule.get("readings", readings) == readings
            and rule.get("shown", "") in shown
        ):
            return agent_reply(rule)
    raise AssertionError(f"the script has no turn {turn} of {question}, readings: {readings}")


def agent_reply(rule: Mapping[str, Any]) -> Answer:
    if "searches" in rule:
        return calls(*(("local_retriever", {"query": query}) for query in rule["searches"]))
    return call(rule["calls"], text="Night Ferry") if "calls" in rule else say(rule["says"])


class Trace:
    """An item's events in the order of the file: what a turn's tool calls brought, as called.

    `step`: the number of an event there, by its number in the store. Calls of one turn run
    concurrently, so their results may be stored in any order.
    """

    def __init__(self, events: Sequence[Any]) -> None:
        self.events: list[Any] = []
        for kind, run_of in groupby(events, lambda e: e.kind):
            same = list(run_of)
            concurrent = kind in ("tool", "extraction")
            self.events += sorted(same, key=lambda e: e.data["of"]) if concurrent else same
        self.step = {event.seq: n for n, event in enumerate(self.events, start=1)}

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        return [event.data for event in self.events if event.kind == kind]

    def lines(self) -> list[str]:
        return [LINES[event.kind](event.data) for event in self.events]


def model_line(data: Mapping[str, Any]) -> str:
    if data.get("role") == "repair":
        return "repair answers"
    made = data["tool_calls"]
    queries = [c["args"]["query"] for c in made if c["name"] == "local_retriever"]
    if queries:
        return f"turn {data['turn']} searches for {' and for '.join(queries)}"
    others = [c["name"] for c in made]
    return f"turn {data['turn']} {f'calls {others[0]}' if others else 'answers'}"


def tool_line(data: Mapping[str, Any]) -> str:
    if data["error"]:
        return f"failed {data['failure']}"
    return f"found {', '.join(p['id'] for p in data['artifact']['passages'])}"


def expansion_line(data: Mapping[str, Any]) -> str:
    return f"expanded into {len(data['readings'])} readings" if data["readings"] else "not expanded"


LINES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "start": lambda data: "question",
    "model": model_line,
    "tool": tool_line,
    "expansion": expansion_line,
    "extraction": lambda data: f"extracted from {', '.join(p['id'] for p in data['passages'])}",
    "repair": lambda data: "repair asked for",
    "answer": lambda data: f"answer {data['how']}",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    passages = {id: f"{p['title']}\n{p['text']}" for id, p in CASE["corpus"].items()}
    return bm25_corpus(tmp_path_factory.mktemp("four"), passages)


@pytest.fixture
def questions(tmp_path: Path) -> str:
    lines = [
        json.dumps({"id": id, "question": q["question"], "answers": q["branches"]})
        for id, q in CASE["questions"].items()
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(lines))
    return str(tmp_path / "questions.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_a_fixed_script_comes_to_what_was_worked_out_by_hand(
    name, chat_server, make_system, questions, tmp_path
):
    chat_server.play(scripted)
    system = make_system().model_copy(update=MODULES[name])
    made = run(questions, system, out=tmp_path / "run")
    assert (made.state.done, made.state.failed) == (2, 0)
    metrics = {row.id: row.metrics for row in score(made).items}
    reader = made.open()
    rows = {row.question.id: row for row in reader.items()}
    answered = {item.question.id: item for item in reader.answered_items()}
    assert rows.keys() == CASE["expected"][name].keys()
    for id, expected in CASE["expected"][name].items():
        events = list(reader.events(rows[id].item))
        trace, outcome = Trace(events), rows[id].outcome
        assert trace.lines() == expected["trace"]
        assert {r: u["calls"] for r, u in outcome["usage"].items()} == expected["calls"]
        assert outcome["prediction"]["answers"] == expected["prediction"]
        check_modules(trace, expected)
        for kind in ("strict", "pooled"):
            got = {key: metrics[id][f"{kind}_{key}"] for key in ("precision", "recall", "em")}
            assert got == {key: float(Fraction(s)) for key, s in expected[kind].items()}
        assert errors_of(attribute(answered[id], events), trace) == wanted_errors(expected, id)
    reader.close()


def check_modules(trace: Trace, expected: Mapping[str, Any]) -> None:
    readings = [{"kept": d["readings"], "dropped": d["dropped"]} for d in trace.of("expansion")]
    assert readings == ([expected["readings"]] if "readings" in expected else [])
    extractions = trace.of("extraction")
    passages = {
        p["id"]: {"how": p["how"], "kept": p["spans"], "dropped": p["dropped"], "whole": p["whole"]}
        for data in extractions
        for p in data["passages"]
    }
    wanted = expected.get("extracted", {})
    assert passages == {id: {"whole": False, **passage} for id, passage in wanted.items()}
    if "shown" in expected:
        assert expected["shown"] in [data["content"] for data in extractions]


def errors_of(errors: Any, trace: Trace) -> dict[str, Any]:
    """The errors in the words of the file."""
    return {
        "labels": [str(label) for label in errors.labels],
        "missing": {
            (a.branch, a.text): (a.label, a.lost_at, a.under, places(a.places, trace))
            for a in errors.missing
        },
        "wrong": {a.text: (a.label, places(a.places, trace)) for a in errors.wrong},
        "missing_branches": [b.name for b in errors.branches if "missing_branch" in b.labels],
        "failed_calls": [
            {"step": trace.step[c.step], "tool": c.tool, "kind": c.kind}
            for c in errors.failed_calls
        ],
        "others": (errors.format_error, errors.budget_spent, errors.error),
    }


def places(found: Sequence[EvidencePlace], trace: Trace) -> list[str]:
    return [
        f"step {trace.step[p.step]} in {p.passage}{'' if p.shown else ' not shown'}" for p in found
    ]


def wanted_errors(expected: Mapping[str, Any], id: str) -> dict[str, Any]:
    errors = expected["errors"]
    branch_of = {a: b for b, texts in CASE["questions"][id]["branches"].items() for a in texts}
    return {
        "labels": errors["labels"],
        "missing": {
            (branch_of[text], text): (e["label"], e.get("lost_at"), e.get("under"), e["at"])
            for text, e in errors["missing"].items()
        },
        "wrong": {text: (e["label"], e["at"]) for text, e in errors.get("wrong", {}).items()},
        "missing_branches": errors.get("missing_branches", []),
        "failed_calls": errors.get("failed_calls", []),
        "others": (None, None, None),
    }
