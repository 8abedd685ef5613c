"""What a run costs, and the prices that say so."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from branchwise.agents.reply import Reply
from branchwise.base.errors import InputError
from branchwise.graphs.ledger import Ledger, RoleUsage
from branchwise.runs.costs.prices import Price, Prices
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
    ledger = Ledger()
    for replayed in (False, True):
        usage = Usage(input=1000, output=100, cached=400, reasoning=50)
        ledger.charge("agent", Reply("x", "stop", usage=usage, seconds=0.25, replayed=replayed))
    found = run_costs([{"error": None, "usage": ledger.record()}], SYSTEM, PRICES)
    assert found.usage == RoleUsage(2, 2000, 200, 800, 100, 0.5)


def test_a_predictions_file_costs_what_matcher_and_judge_did() -> None:
    scoring = {"matcher": RoleSpending("openai:small", RoleUsage(2, 1_000_000, 0))}
    found = file_costs(4, 1, scoring, PRICES)
    assert (found.items, found.failed) == (4, 1)
    # a million input tokens at .05, over four items
    assert found.cost == pytest.approx(0.05)
    assert found.per_item["cost"] == pytest.approx(0.0125)
    assert found.per_item["calls"] == 0.5


SERVER = "http://localhost:8000/v1"
BUILT_IN = Prices.load()
USAGE = RoleUsage(calls=3, input=1_000_000, output=200_000, cached=400_000, reasoning=150_000)
WRITTEN = RoleUsage(calls=3, input=1_000_000, output=0, cached=400_000, written=500_000)


def price_table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    return path


def refusal(tmp_path: Path, text: str) -> str:
    """The message about a table, from its line number on."""
    with pytest.raises(InputError) as caught:
        Prices.load(price_table(tmp_path, text))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path}/prices.yaml:")
    return message.removeprefix(f"{tmp_path}/prices.yaml:")


def test_cached_tokens_cost_their_own_price_and_reasoning_is_output() -> None:
    # .6 million at .1, .4 million at .01, .2 million at .5: .06 + .004 + .1
    assert BUILT_IN.cost("openai:gpt-6-luna", USAGE) == pytest.approx(0.164)


def test_tokens_written_to_the_cache_cost_their_own_price() -> None:
    # .1 million at 2, .4 million at .1, .5 million at 2.5: .2 + .04 + 1.25
    assert BUILT_IN.cost("openai:gpt-6.2-sol", WRITTEN) == pytest.approx(1.49)
    # gpt-5.5 has no price of writing: .6 million at 5, .4 million at .5
    assert BUILT_IN.cost("openai:gpt-5.5", WRITTEN) == pytest.approx(3.2)


def test_more_tokens_written_than_there_were_cost_no_more_than_all() -> None:
    odd = RoleUsage(calls=1, input=1_000_000, cached=900_000, written=900_000)
    # .9 million at .1, .1 million at 2.5
    assert BUILT_IN.cost("openai:gpt-6.2-sol", odd) == pytest.approx(0.34)


def test_a_bound_takes_the_dearest_price_of_input() -> None:
    assert Price(input=2, cached=0.1, written=2.5, output=10).dearest_input == 2.5
    assert Price(input=2, output=10).dearest_input == 2


def test_a_dated_name_costs_what_its_base_does_unless_it_has_its_own_entry(tmp_path: Path) -> None:
    own = "models: {'openai:gpt-5.5-2026-05-01': {input: 1, output: 1}}"
    prices = Prices.load(price_table(tmp_path, own))
    assert prices.price("openai:gpt-5.5-2026-04-23") == prices.price("openai:gpt-5.5")
    assert prices.price("openai:gpt-5.5-2026-05-01") != prices.price("openai:gpt-5.5")
    assert prices.price("openai:gpt-5.5-2026") is None
    assert prices.price("openai:gpt-5.5-turbo") is None


@pytest.mark.parametrize(
    "model", ["openai:gpt-77", f"openai:gpt-6-luna@{SERVER}", f"openai:x@{SERVER}", "", "nonsense"]
)
def test_an_unknown_price_is_unknown_and_not_0(model: str) -> None:
    assert Prices.load().cost(model, USAGE) is None
    assert Prices.load().cost(model, RoleUsage()) is None


def test_openais_own_service_may_be_written_out() -> None:
    prices = Prices.load()
    assert prices.cost("openai:gpt-5.5@https://api.openai.com/v1", USAGE) == prices.cost(
        "openai:gpt-5.5", USAGE
    )
    assert prices.cost("openai:gpt-5.5@https://api.openai.com.example/v1", USAGE) is None


def test_a_users_price_goes_before_the_built_in_one_and_the_others_stay(tmp_path: Path) -> None:
    given = price_table(tmp_path, "models:\n  openai:gpt-5.5: {input: 1, output: 2}\n")
    prices = Prices.load(given)
    # No cached price: 1 million at 1, .2 million at 2
    assert prices.cost("openai:gpt-5.5", USAGE) == pytest.approx(1.4)
    assert prices.cost("openai:gpt-6-luna", USAGE) == pytest.approx(0.164)


def test_a_users_model_is_any_servers_unless_it_names_one(tmp_path: Path) -> None:
    text = f"""
        models:
          openai:Qwen/Qwen3-8B: {{input: 1, output: 1}}
          openai:Qwen/Qwen3-8B@{SERVER}/: {{input: 0, output: 0}}
          openai:vendor/model@v2: {{input: 3, cached: 0, output: 0}}
    """
    prices = Prices.load(price_table(tmp_path, text))
    assert prices.cost("openai:Qwen/Qwen3-8B@https://elsewhere.example/v1", USAGE) == 1.2
    assert prices.cost(f"openai:Qwen/Qwen3-8B@{SERVER}", USAGE) == 0
    assert prices.cost("openai:vendor/model@v2", USAGE) == pytest.approx(1.8)
    assert prices.cost(f"openai:vendor/model@v2@{SERVER}", USAGE) == pytest.approx(1.8)
    assert prices.cost("openai:vendor/model@v3", USAGE) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "models:\n  openai:m:\n    input: 1\n    ouput: 2\n",
            "4: 'openai:m': unknown key 'ouput'",
        ),
        ("model:\n  openai:m: {input: 1, output: 2}\n", "1: unknown key 'model'; did you mean"),
        ("models:\n  openai:m:\n    input: 1\n", "2: 'openai:m': output is missing; write"),
        ("models:\n  a: 1\n  openai:m: {input: 1}\n", "2: 'a' has no prices; write openai:NAME:"),
        ("models:\n  openai:m: {input: -1, output: 2}\n", "2: 'openai:m': input is -1; write a"),
        ("models:\n  openai:m: {input: 1, output: '2'}\n", "2: 'openai:m': output is '2'; write a"),
        ("models:\n  openai:m: {input: 2000000, output: 1}\n", "2: 'openai:m': input is 2000000;"),
        ("models:\n\n  gpt-6: {input: 1, output: 2}\n", "3: unknown model 'gpt-6'; did you mean"),
        ("models: 3\n", "1: models has no table of prices by model; write openai:NAME:"),
        ("", "1: the file has no table of prices by model; write openai:NAME:"),
        ("models: {}\nas_of: soon\n", "2: as_of is not a date such as 2026-11-21, without quotes"),
        ("models: {}\nsource: 1\n", "2: source is not a text of at most 1000 characters"),
        (
            "models:\n  openai:m: {input: 1, output: 2}\n  openai:m: {input: 3, output: 4}\n",
            "3: 'openai:m' is repeated here, first in line 2; keep one of them",
        ),
        (
            f"models:\n  openai:m@{SERVER}: {{input: 1, output: 2}}\n"
            f"  openai:m@{SERVER}/: {{input: 3, output: 4}}\n",
            f"3: 'openai:m@{SERVER}/' and 'openai:m@{SERVER}' are one",
        ),
        ("models: {openai:m: {input: 1\n", "1: is not YAML (expected"),
        ("models:\n  5: {input: 1, output: 2}\n", "2: a key is not text; put it in quotes"),
    ],
)
def test_a_faulty_table_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text).startswith(message)


def test_the_built_in_table_has_its_date_its_source_and_plausible_prices() -> None:
    prices = Prices.load()
    assert prices.as_of is not None
    assert "https://developers.openai.com/api/docs/pricing" in prices.source
    for name, price in prices.built_in.items():
        if name != "offline":
            assert 0 < price.input < price.output <= 15 * price.input, name
            assert price.cached is None or 0 < price.cached <= price.input / 2, name
            assert price.written in (None, pytest.approx(1.25 * price.input)), name
