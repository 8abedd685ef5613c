"""One call of a tool as an agent's step would make it, outside any run."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.text import one_line
from branchwise.corpora.open import open_retriever
from branchwise.graphs.state import ItemContext, Spent
from branchwise.graphs.system import Budget, PluginSettings
from branchwise.graphs.tool_node import make_tool_node
from branchwise.kg.open import open_kg
from branchwise.tools.registry import ToolContext, close_now, make_tools
from branchwise.trace.events import Tool

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


SECONDS = 600.0
"""An item's default time."""


async def try_tool(
    spec: str,
    arguments: Mapping[str, Any],
    *,
    corpus: Path | None = None,
    retriever: str | None = None,
    k: int | None = None,
    kg: str | None = None,
    settings: PluginSettings | None = None,
    question: str = "",
    model: str | None = None,
    keys: Keys = NO_KEYS,
) -> Tool:
    """The call as a trace would record it, with `content`, which the model reads.

    `model`: spec of a model that the tool may ask. `question`: the one in its `RunContext`. Raises
    InputError for a tool that cannot be made; errors of the call are in the result.
    """
    # Only the built-in tool uses a retriever, which may be large.
    searches = spec == "local_retriever" and (corpus or retriever) is not None
    searched = open_retriever(corpus, retriever, keys=keys) if searches else None
    opened_kg = open_kg(kg, keys) if kg else None
    tools: list[BaseTool] = []
    try:
        tools = make_tools(
            [spec], ToolContext(searched, k, opened_kg, corpus, settings or {}, keys)
        )
        if len(tools) != 1:
            what = f"the server has several tools: {', '.join(t.name for t in tools) or 'none'}"
            raise InputError(what, where=spec, remedy="name one: SPEC#NAME")
        return await _called(tools[0], arguments, one_line(question), model, keys)
    finally:
        close_now(tools)
        if opened_kg is not None:
            opened_kg.close()


async def _called(
    tool: "BaseTool", arguments: Mapping[str, Any], question: str, model: str | None, keys: Keys
) -> Tool:
    from langchain_core.messages import AIMessage
    from langgraph.runtime import Runtime

    caller = None
    if model is not None:
        caller = ModelCaller(ModelSpec.parse(model), Decoding(), Prompts.load(None), keys=keys)
    journal = MemoryJournal()
    asked = {"name": tool.name, "args": dict(arguments), "id": "call_1", "type": "tool_call"}
    message = AIMessage("", tool_calls=[asked])
    step = make_tool_node([tool], Budget(), caller)
    try:
        await step(
            {"messages": [message], "pending": [], "spent": Spent()},
            runtime=Runtime(context=ItemContext(journal, SECONDS, question=question)),
        )
    finally:
        if caller is not None:
            await caller.aclose()
    return next(Tool.read(data) for kind, data in journal.events if kind == Tool.KIND)


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments of `--args`. Raises InputError for anything but a JSON object."""
    import orjson

    remedy = """write --args '{"name": "value"}'"""
    try:
        arguments = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error}", where="--args", remedy=remedy) from None
    if not isinstance(arguments, dict):
        what = f"is a {type(arguments).__name__}, not an object"
        raise InputError(what, where="--args", remedy=remedy)
    return arguments
