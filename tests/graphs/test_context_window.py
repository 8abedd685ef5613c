"""Leaving out the oldest tool results."""

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from branchwise.graphs.messages import OMITTED, oldest_to_omit, with_omissions


def conversation(results):
    messages = [HumanMessage("q")]
    for n in range(results):
        messages += [AIMessage(f"turn {n}"), ToolMessage(f"result {n}", tool_call_id=f"c{n}")]
    return messages


def test_half_of_the_results_that_are_left_are_omitted_rounded_up():
    messages = conversation(5)
    assert oldest_to_omit(messages, 0) == 3
    assert oldest_to_omit(messages, 3) == 4
    assert oldest_to_omit(messages, 4) == 5
    assert oldest_to_omit(messages, 5) == 5


def test_the_oldest_results_lose_their_content_and_keep_their_call():
    messages = conversation(3)
    shown = with_omissions(messages, 2)
    results = [m for m in shown if isinstance(m, ToolMessage)]
    assert [m.content for m in results] == [OMITTED, OMITTED, "result 2"]
    assert [m.tool_call_id for m in results] == ["c0", "c1", "c2"]
    assert next(m.content for m in messages if isinstance(m, ToolMessage)) == "result 0"


def test_without_omissions_nothing_changes():
    messages = conversation(2)
    assert with_omissions(messages, 0) == messages
