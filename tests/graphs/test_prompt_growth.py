"""A server's count of tokens that stands still while the conversation grows is noticed, and nothing
else is taken for it."""

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from branchwise.graphs.messages import PromptGrowth
from branchwise.trace.parts import Usage

START = [SystemMessage("s" * 4000), HumanMessage("q" * 8000)]
LONG = HumanMessage("passage " * 750)  # 6,000 bytes: at most 2,400 tokens


@pytest.mark.parametrize(
    ("counted", "cached", "is_cut"),
    [
        (3000, 0, True),
        (2700, 0, True),
        (4500, 0, False),  # it grew
        (1400, 0, False),  # new tokens only, as with a cache that is not counted
        (2500, 3000, False),  # the rest is told to be cached
        (0, 0, False),  # nothing was counted
    ],
)
def test_only_a_count_that_stands_still_is_a_prompt_that_was_cut(
    counted: int, cached: int, is_cut: bool
) -> None:
    growth = PromptGrowth()
    assert not growth.is_cut(START, 0, Usage(3000, 1))
    usage = Usage(counted, 1, cached=cached)
    assert growth.is_cut([*START, LONG], 0, usage) is is_cut


@pytest.mark.parametrize(
    ("messages", "omitted"),
    [
        ([*START, LONG], 1),  # results are left out
        ([START[0], HumanMessage("shorter"), LONG], 0),  # a node compacted the conversation
        ([*START, HumanMessage("go on")], 0),  # it hardly grew
        (START, 0),  # the same once more
    ],
)
def test_other_requests_are_not_compared(messages: list[BaseMessage], omitted: int) -> None:
    growth = PromptGrowth()
    growth.is_cut(START, 0, Usage(3000, 1))
    assert not growth.is_cut(messages, omitted, Usage(2900, 1))
