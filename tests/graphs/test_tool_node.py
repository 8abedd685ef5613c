"""Tool calls get results, whatever the tool does."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import create_schema_from_function
from langgraph.runtime import Runtime
from pydantic import SkipValidation

from branchwise.agents.journal import MemoryJournal
from branchwise.graphs.budget import Budget
from branchwise.graphs.shown import KnownPassages, ShownWhole
from branchwise.graphs.state import AgentState, ItemContext, Spent
from branchwise.graphs.tool_node import make_tool_node
from branchwise.tools.artifacts import ToolArtifact
from branchwise.tools.built_in import BuiltInTool
from branchwise.tools.result_text import ShownPassages
from branchwise.tools.tool_results import MAX_RESULT_CHARS


class Telling(BuiltInTool):
    """Tells the model what a function of the query tells."""

    tells: SkipValidation[Callable[[str], str]]

    @classmethod
    def of(cls, function: Callable[[str], str]) -> "Telling":
        schema = create_schema_from_function(function.__name__, function)
        return cls(
            name=function.__name__, description="A tool.", args_schema=schema, tells=function
        )

    def _run(self, query: str) -> Any:
        raise NotImplementedError

    async def _arun(
        self, query: str, shown: ShownPassages | None = None
    ) -> tuple[str, ToolArtifact]:
        return self.tells(query), ToolArtifact()


@Telling.of
def half_a_character(query: str) -> str:
    """Says what no record can hold."""
    return f"{query} \ud83d"


@Telling.of
def failing(query: str) -> str:
    """Fails with what no record can hold."""
    raise ValueError("\udc00 " + query)


@Telling.of
def talkative(query: str) -> str:
    """Says far too much."""
    return query * 10_000_000


async def results_of(
    tools: list[BuiltInTool],
    calls: list[dict[str, Any]],
    budget: Budget,
    known: KnownPassages | None = None,
) -> tuple[list[str], dict[str, Any], MemoryJournal]:
    journal = MemoryJournal()
    valid = [c for c in calls if c["type"] == "tool_call"]
    message = AIMessage(
        "", tool_calls=valid, invalid_tool_calls=[c for c in calls if c not in valid]
    )
    state = AgentState(messages=[message], spent=Spent())
    context = ItemContext(journal, 60.0)
    node = make_tool_node(tools, budget, known=known)
    update: Any = await node(state, runtime=Runtime(context=context))
    return [message.text for message in update["pending"]], update, journal


def call(name: str, number: int = 1, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": f"c{number}", "type": "tool_call"}


async def test_half_characters_of_tools_become_whole_ones_that_can_be_recorded() -> None:
    calls = [call("half_a_character", 1, query="a"), call("failing", 2, query="b")]
    texts, _, journal = await results_of([half_a_character, failing], calls, Budget())
    assert texts == ["a \ufffd", "Error: ValueError: \ufffd b"]
    json.dumps(journal.events, ensure_ascii=False).encode()


async def test_an_endless_result_is_cut_and_says_so() -> None:
    (text,), _, _ = await results_of([talkative], [call("talkative", query="x")], Budget())
    assert len(text) < MAX_RESULT_CHARS + 100
    assert text.endswith("[cut: 10000000 characters]")


async def test_calls_beyond_the_budget_are_answered_and_not_run() -> None:
    calls = [call("half_a_character", n, query=str(n)) for n in range(3)]
    texts, update, _ = await results_of([half_a_character], calls, Budget(calls=2))
    assert texts[2] == "Error: not run: the tool-call budget is spent"
    assert update["spent"].calls == 2


async def test_bad_arguments_and_unknown_tools_say_what_fits() -> None:
    calls = [call("failing", 1), call("nope", 2, query="a")]
    texts, _, _ = await results_of([failing], calls, Budget())
    assert texts[0] == "Error: bad arguments: query: Field required"
    assert texts[1] == "Error: there is no tool 'nope'; the tools are: failing"


async def test_a_result_says_which_kind_of_failure_it_is() -> None:
    invalid = {"name": "failing", "args": "{", "id": "c5", "error": "", "type": "invalid_tool_call"}
    calls = [
        call("half_a_character", 1, query="a"), call("failing", 2, query="b"), call("failing", 3),
        call("nope", 4), invalid,
    ]  # fmt: skip
    for allowed, last in ((5, "arguments"), (4, "not_run")):
        _, _, journal = await results_of([failing, half_a_character], calls, Budget(calls=allowed))
        failures = {data["call"]["id"]: data["failure"] for _, data in journal.events}
        kinds = [None, "failed", "arguments", "unknown_tool", last]
        assert failures == dict(zip(["c1", "c2", "c3", "c4", "c5"], kinds, strict=True))


async def test_a_search_waits_for_no_other_tool() -> None:
    searched = asyncio.Event()

    class Waits(Telling):
        """Ends when the search has ended."""

        async def _arun(
            self, query: str, shown: ShownPassages | None = None
        ) -> tuple[str, ToolArtifact]:
            await searched.wait()
            return query, ToolArtifact()

    class Search(Telling):
        """Asks what is shown before it."""

        async def _arun(
            self, query: str, shown: ShownPassages | None = None
        ) -> tuple[str, ToolArtifact]:
            assert shown is not None
            before = await shown.ids()
            searched.set()
            return f"{query} {len(before)}", ToolArtifact()

    def waits(query: str) -> str: ...
    def local_retriever(query: str) -> str: ...

    calls = [call("waits", 1, query="a"), call("local_retriever", 2, query="b")]
    async with asyncio.timeout(20):
        texts, _, _ = await results_of(
            [Waits.of(waits), Search.of(local_retriever)], calls, Budget(), ShownWhole()
        )
    assert texts == ["a", "b 0"]
