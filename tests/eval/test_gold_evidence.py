"""The evidence for gold answers: places, the order and the cost of calls."""

from typing import Any

from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.branch_scores import GoldPair, gold_branches
from branchwise.eval.errors.gold_evidence import (
    CallCost,
    EvidencePlace,
    GoldEvidence,
    Targets,
    gold_evidence,
)
from branchwise.trace.conversation import read_conversation
from branchwise.trace.events import Event

QUESTION = Question(
    id="q",
    question="Who?",
    branches=(
        Branch(name="film", answers=(Answer(text="Ann Lee"), Answer(text="Bo Diaz"))),
        Branch(name="play", answers=(Answer(text="Bo Diaz"),)),
    ),
)
ANN = GoldPair(0, 0)


def usage(total: int) -> dict[str, int]:
    return {"input": total - 1, "output": 1, "cached": 5, "reasoning": 1}


def tool(of: int, passages: dict[str, str], error: str | None = None) -> tuple[str, Any]:
    records = [{"id": id, "title": "", "text": text} for id, text in passages.items()]
    data = {"call": {"id": f"c{of}", "name": f"tool{of}"}, "of": of, "content": "", "error": error}
    return "tool", data | {"artifact": {"passages": records}}


def model(total: int, calls: int = 0, **more: Any) -> tuple[str, Any]:
    made = [{"id": f"c{n}", "name": f"tool{n}", "args": {}} for n in range(calls)]
    return "model", {"tool_calls": made, "invalid_tool_calls": [], "usage": usage(total), **more}


def evidence(*events: tuple[str, Any], wrong: tuple[str, ...] = ()) -> GoldEvidence:
    gold = gold_branches(QUESTION.branches)
    numbered = (Event(seq, kind, 0.0, data) for seq, (kind, data) in enumerate(events))
    return gold_evidence(Targets(gold, QUESTION, wrong), read_conversation(numbered))


def test_calls_cost_what_was_spent_before_them_modules_and_repair_included() -> None:
    extraction = {
        "of": 0,
        "call": {},
        "passages": [
            {"id": "p1", "spans": [], "how": "none", "usage": usage(1000)},
            {"id": "p2", "spans": [], "how": "failed", "usage": None},
        ],
    }
    found = evidence(
        ("expansion", {"readings": [], "usage": usage(7)}), model(10, 2),
        tool(1, {}, error="broken"), tool(0, {"p1": "x", "p2": "y"}), ("extraction", extraction),
        model(100, 1), tool(0, {}), model(20), ("repair", {"problem": "none", "text": ""}),
        model(3, role="repair"),
    )  # fmt: skip
    assert found.calls == (
        CallCost(step=3, tool="tool0", tokens=17),
        CallCost(step=2, tool="tool1", tokens=17, error="broken"),
        CallCost(step=6, tool="tool0", tokens=1117),
    )
    assert found.tokens == 7 + 10 + 1000 + 100 + 20 + 3
    assert found.extracted == {3}


def test_calls_before_any_turn_and_more_results_than_calls_are_kept() -> None:
    found = evidence(
        tool(0, {"a": "Ann Lee"}), model(10, 1), tool(0, {}), tool(0, {"b": "Ann Lee"})
    )
    assert found.places[ANN] == (EvidencePlace(0, 1, "a"), EvidencePlace(3, 3, "b"))
    assert [call.step for call in found.calls] == [0, 2, 3]
