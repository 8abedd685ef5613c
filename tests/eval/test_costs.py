import json
from datetime import date
from typing import Any

import pytest

from branchwise.agents.reply import Reply
from branchwise.graphs.ledger import Ledger, RoleUsage
from branchwise.runs.costs.price_table import Price
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.usage import Costs, RoleCost, RoleSpending, file_costs, run_costs
from branchwise.trace.parts import Usage

PRICES = Prices(
    built_in={
        "offline": Price(input=0, output=0),
        "openai:large": Price(input=1.25, cached=0.125, output=10),
        "openai:small": Price(input=0.05, cached=0.005, output=0.4),
    },
    as_of=date(2026, 11, 21),
    source="https://prices.example",
    given={},
)
SYSTEM = {"model": "openai:large", "roles": {"extractor": "openai:small", "expander": None}}


def outcome(error: str | None = None, **roles: RoleUsage) -> dict[str, Any]:
    return {"error": error, "usage": {role: dict(vars(usage)) for role, usage in roles.items()}}


def role(found: Costs, name: str) -> RoleCost:
    return next(part for part in found.roles if part.role == name)


# 1 million input (half of it cached) at 1.25 and .125, .1 million output at 10: 1.6875
AGENT = RoleUsage(5, 1_000_000, 100_000, 500_000, 60_000, 10.0)
# 2 million input at .05, 1 million output at .4: .5
EXTRACTOR = RoleUsage(40, 2_000_000, 1_000_000, 0, 0, 4.0)


def test_usage_is_summed_by_role_over_done_and_failed_items() -> None:
    items = [
        outcome(agent=AGENT, extractor=EXTRACTOR),
        outcome("ModelError: cut", agent=AGENT),
        outcome("ModelError: auth"),
    ]
    found = run_costs(items, SYSTEM, PRICES)
    assert (found.items, found.failed) == (3, 1 + 1)
    assert role(found, "agent") == RoleCost(
        "agent", "openai:large", RoleUsage(10, 2_000_000, 200_000, 1_000_000, 120_000, 20.0), 3.375
    )
    assert role(found, "extractor") == RoleCost("extractor", "openai:small", EXTRACTOR, 0.5)
    assert found.usage == RoleUsage(50, 4_000_000, 1_200_000, 1_000_000, 120_000, 24.0)
    assert found.cost == pytest.approx(3.875)
    assert found.unpriced == ()


def test_means_are_over_all_ended_items_failed_ones_included() -> None:
    items = [outcome(agent=AGENT, extractor=EXTRACTOR), outcome("boom", agent=RoleUsage())]
    means = run_costs(items, SYSTEM, PRICES).per_item
    assert means["calls"] == 22.5
    assert means["input"] == 1_500_000
    assert means["cached"] == 250_000
    assert means["output"] == 550_000
    assert means["reasoning"] == 30_000
    assert means["seconds"] == 7.0
    assert means["cost"] == pytest.approx(1.09375)


def test_matcher_and_judge_are_added_by_the_caller_with_their_own_models() -> None:
    matcher = RoleSpending("openai:small", RoleUsage(2, 1_000_000, 0))
    found = run_costs([outcome(agent=AGENT)] * 2, SYSTEM, PRICES, {"matcher": matcher})
    assert [part.role for part in found.roles] == ["agent", "matcher"]
    assert role(found, "matcher").cost == pytest.approx(0.05)
    assert found.cost == pytest.approx(2 * 1.6875 + 0.05)
    assert found.per_item["cost"] == pytest.approx(1.6875 + 0.025)
    assert found.per_item["calls"] == 6


def test_a_total_is_unknown_where_a_part_is_and_the_model_is_named_once() -> None:
    system = {
        "model": "openai:m@http://localhost:8000/v1",
        "roles": {"extractor": "openai:small", "expander": None},
    }
    items = [outcome(agent=AGENT, expander=AGENT, extractor=EXTRACTOR)]
    found = run_costs(items, system, PRICES)
    assert found.cost is None
    assert found.per_item["cost"] is None
    assert role(found, "extractor").cost == pytest.approx(0.5)
    assert role(found, "expander").cost is None
    assert found.unpriced == ("openai:m@http://localhost:8000/v1",)
    assert found.usage.calls == 50


def test_one_item_whose_server_counted_nothing_makes_the_roles_cost_unknown() -> None:
    silent = RoleUsage(calls=3, seconds=1.0)
    found = run_costs([outcome(agent=AGENT), outcome(agent=silent)], SYSTEM, PRICES)
    assert role(found, "agent").cost is None
    assert role(found, "agent").uncounted == 1
    assert found.cost is None
    assert found.unpriced == ()


def test_the_ledgers_own_record_is_read() -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.messages import AIMessage

    ledger = Ledger()
    for replayed in (False, True):
        usage = Usage(input=1000, output=100, cached=400, reasoning=50)
        ledger.charge("agent", Reply(AIMessage("x"), usage, 0.25, replayed, "", "stop"))
    found = run_costs([{"error": None, "usage": ledger.record()}], SYSTEM, PRICES)
    assert found.usage == RoleUsage(2, 2000, 200, 800, 100, 0.5)


def test_json_says_null_for_what_is_unknown() -> None:
    found = run_costs([outcome(agent=AGENT)], {"model": "openai:m"}, PRICES)
    read = json.loads(json.dumps(found.to_json()))
    assert read["cost"] is None
    assert read["roles"][0]["cost"] is None
    assert read["roles"][0]["usage"]["input"] == 1_000_000
    assert read["unpriced"] == ["openai:m"]
    assert read["per_item"]["calls"] == 5
    assert (read["as_of"], read["source"]) == (None, None)
    priced = run_costs([outcome(agent=AGENT)], SYSTEM, PRICES).to_json()
    assert priced["as_of"] == "2026-11-21"


def test_a_predictions_file_costs_what_matcher_and_judge_did() -> None:
    scoring = {"matcher": RoleSpending("openai:small", RoleUsage(2, 1_000_000, 0))}
    found = file_costs(4, 1, scoring, PRICES)
    assert (found.items, found.failed) == (4, 1)
    # a million input tokens at .05, over four items
    assert found.cost == pytest.approx(0.05)
    assert found.per_item["cost"] == pytest.approx(0.0125)
    assert found.per_item["calls"] == 0.5
