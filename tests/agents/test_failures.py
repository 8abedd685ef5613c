"""Refusals are recognised by what they say, whichever server says it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from branchwise.agents.failures import failure_of


def rows(name: str) -> list[Any]:
    listed = yaml.safe_load((Path(__file__).parent / f"{name}_refusals.yaml").read_text())
    return [pytest.param(row, id=row["server"]) for row in listed]


@pytest.mark.parametrize("row", rows("length"))
def test_a_conversation_that_is_too_long_is_told_from_rates_and_ranges(row):
    body = row.get("body") or {"message": row["message"]}
    found = failure_of(row["status"], body, "refused")
    assert (found.kind == "context_length") is row.get("is_length", True)
    assert not (found.kind == "context_length" and found.retryable)


@pytest.mark.parametrize("row", rows("credit"))
def test_a_spent_credit_is_told_from_a_rate(row):
    found = failure_of(row["status"], row["body"], "refused", row.get("retry_after"))
    assert (found.kind == "credit") is row.get("is_spent", True)
    assert not (found.kind == "credit" and found.retryable)
