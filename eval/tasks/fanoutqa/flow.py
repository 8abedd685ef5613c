"""Something is asked of each of several things: entities under the names of these (FanOutQA)."""

from dataclasses import replace

from branchwise.eval.tasks.branches.flow import BRANCHES

KEYED = replace(
    BRANCHES,
    name="keyed",
    prompts={"search": "keyed_with_tools", "direct": "keyed_directly"},
    readings="keyed_readings",
)
