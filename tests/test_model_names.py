"""Examples name models that exist, and the built-in prices are of models that were served."""

from pathlib import Path

import pytest

from branchwise.runs.costs.prices import Prices
from support.retired_models import RETIRED, retired_in
from support.rooms import ROOMS, ROOT

FOLDERS = (*ROOMS, "benchmarks", "docs", "examples", "tests")
TEXTS = {".diff", ".html", ".ipynb", ".md", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml"}
OTHERS_WORDS = {
    "docs/benchmarks/condambigqa.md": "the judge of the paper, and what replaces it",
    "runs/costs/prices.yaml": "prices of models that are still served",
    "report/published/condambigqa.yaml": "the judge of the paper",
    "tests/agents/credit_refusals.yaml": "refusals as they were received",
    "tests/agents/length_refusals.yaml": "refusals as they were received",
    "tests/agents/refusals.yaml": "refusals as they were received",
    "tests/runs/test_openai_models.py": "the manners of older models",
    "tests/support/openai_refusals.yaml": "refusals as they were received",
    "tests/support/peers/litellm.yaml": "names that litellm knows the manners of",
    "tests/support/retired_models.py": "the list itself",
    "tests/test_model_names.py": "this test",
}
"""Files that may name a retired model, and why."""


def texts() -> list[Path]:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    return [path for path in (*ROOT.glob("*.md"), *paths) if path.suffix in TEXTS]


@pytest.mark.slow
def test_nothing_that_a_user_reads_offers_a_retired_model() -> None:
    named = {str(path.relative_to(ROOT)): retired_in(path.read_text("utf-8")) for path in texts()}
    assert {
        path: names for path, names in named.items() if names and path not in OTHERS_WORDS
    } == {}
    assert [path for path in OTHERS_WORDS if not named.get(path)] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("--model openai:gpt-5-mini.", {"gpt-5-mini"}),
        ("openai:gpt-4o-2024-08-06", {"gpt-4o"}),
        ("[openai:o3, `o1`]", {"o3", "o1"}),
        ("gpt-5.5, gpt-5-mini-turbo, GPT-4o, my-gpt-5, o3, gpt-5.4-mini", set()),
    ],
)
def test_a_mention_is_the_whole_name(text: str, names: set[str]) -> None:
    assert retired_in(text) == names


def test_built_in_prices_are_of_models_that_were_served_on_their_day() -> None:
    prices = Prices.load()
    assert prices.as_of
    gone = {
        name
        for name in prices.built_in
        if (day := RETIRED.get(name.removeprefix("openai:"))) and day <= prices.as_of
    }
    assert gone == set()
