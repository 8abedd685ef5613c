"""Errors counted over items."""

import json

from branchwise.eval.errors.attribution import attribute
from branchwise.eval.errors.item_errors import ItemErrors, LabelTotal, totals
from branchwise.eval.errors.labels import Label
from support.eval.hand_traces import hand_traces


def errors(*names: str) -> list[ItemErrors]:
    """Of the hand-made traces with these names."""
    traces = {trace.name: trace for trace in hand_traces()}
    return [attribute(traces[name].item, traces[name].events) for name in names]


MIXED = errors(
    "everything goes wrong at once",
    "a spent budget, a wrong call and an answer that cannot be read",
    "a failed item blames nobody for its answers",
    "without a trace only the wrong branch is known",
    "no span holds the answer",
    "an answer that could not be read at all is lost with the repair",
)


def test_items_answers_and_calls_are_counted_by_label() -> None:
    found = totals(MIXED).subsets["all"]
    assert (found.items, found.traced, found.failed) == (6, 5, 1)
    # Missing: 6, 2, 2, 2, 1, 3 in this order; wrong: 3 and 2.
    assert (found.missing, found.wrong, found.branches) == (16, 5, 1)
    assert found.labels == {
        Label.INCOMPLETE_EXTRACTION: LabelTotal(items=2, missing=3),
        Label.PERHAPS_STATED: LabelTotal(),
        Label.NOT_IN_CORPUS: LabelTotal(),
        Label.MISSING_BRANCH: LabelTotal(items=1),
        Label.INCORRECT_REASONING: LabelTotal(items=4, missing=8),
        Label.WRONG_TOOL_CALL: LabelTotal(items=3),
        Label.WRONG_BRANCH: LabelTotal(items=2, missing=2, wrong=2),
        Label.AMBIGUOUS_ANSWER: LabelTotal(),
        Label.UNSUPPORTED_ANSWER: LabelTotal(items=1, wrong=1),
        Label.FORMAT_ERROR: LabelTotal(items=2),
        Label.CUT_REPLY: LabelTotal(),
        Label.INTERRUPTED: LabelTotal(),
        Label.BUDGET_SPENT: LabelTotal(items=2),
    }
    assert found.lost_at == {"agent": 4, "extraction": 2, "node": 0, "repair": 2}
    assert found.calls == {"arguments": 1, "unknown_tool": 2, "failed": 0, "not_run": 1}


def test_order_is_nothing_and_totals_are_plain_json() -> None:
    found = totals(MIXED)
    assert totals(reversed(MIXED)) == found
    record = json.loads(json.dumps(found.to_json()))
    assert record["ambiguous"]["labels"]["wrong_branch"] == {"items": 2, "missing": 2, "wrong": 2}


def test_answers_mentioned_only_elsewhere_are_counted_among_those_never_retrieved() -> None:
    found = totals(
        errors(
            "an answer that only other passages mention was never retrieved",
            "an answer was left out where a passage that supports it was seen",
            "each branch has its own support, "
            "and what gold says none of is perhaps stated by a mention",
        )
    ).subsets["all"]
    assert found.missing == 5
    assert found.labels[Label.INCOMPLETE_EXTRACTION].missing == found.elsewhere == 2
    assert found.labels[Label.PERHAPS_STATED].missing == 1
    assert found.lost_at["agent"] == 2
