"""One call of a tool as an agent's step would make it, outside any run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.corpora.errors import InputError
from branchwise.corpora.keys import NO_KEYS, Keys
from branchwise.corpora.text import one_line

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from branchwise.corpora.retrieval import Retriever
    from branchwise.graphs.system import PluginSettings
    from branchwise.trace.events import Tool

SECONDS = 600.0
"""An item's default time."""


@dataclass(frozen=True)
class ToolTrial:
    """A call to try. `model`: spec of a model that the tool may ask. `question`: the one in its
    `RunContext`.
    """

    spec: str
    arguments: Mapping[str, Any]
    corpus: Path | None = None
    retriever: str | None = None
    k: int | None = None
    kg: str | None = None
    settings: "PluginSettings | None" = None
    question: str = ""
    model: str | None = None
    keys: Keys = NO_KEYS

    async def made(self) -> "Tool":
        """The call as a trace would record it, with `content`, which the model reads.

        Raises InputError for a tool that cannot be made; errors of the call are in the result.
        """
        from branchwise.corpora.graph.open import open_graph
        from branchwise.tools.mcp.opening import close_now
        from branchwise.tools.registry import ToolContext, make_tools

        searched = self._retriever() if self._searches() else None
        graph = open_graph(self.kg, self.keys) if self.kg else None
        tools: list[BaseTool] = []
        try:
            tools = make_tools(
                [self.spec],
                ToolContext(searched, self.k, graph, self.corpus, self.settings or {}, self.keys),
            )
            return await self._called(_only(tools, self.spec))
        finally:
            close_now(tools)
            if graph is not None:
                graph.close()

    def _retriever(self) -> "Retriever":
        from branchwise.corpora.open import open_retriever

        return open_retriever(self.corpus, self.retriever, keys=self.keys)

    def _searches(self) -> bool:
        """Whether a retriever is needed: only the built-in tool uses one, and it may be large."""
        return self.spec == "local_retriever" and (self.corpus or self.retriever) is not None

    async def _called(self, tool: "BaseTool") -> "Tool":
        from langchain_core.messages import AIMessage
        from langgraph.runtime import Runtime

        from branchwise.agents.journal import MemoryJournal
        from branchwise.graphs.state import ItemContext, Spent
        from branchwise.graphs.system import Budget
        from branchwise.graphs.tool_node import make_tool_node
        from branchwise.trace.events import Tool

        caller = self._caller()
        journal = MemoryJournal()
        asked = {"name": tool.name, "args": dict(self.arguments), "id": "call_1"}
        message = AIMessage("", tool_calls=[{**asked, "type": "tool_call"}])
        context = ItemContext(journal, SECONDS, question=one_line(self.question))
        step = make_tool_node([tool], Budget(), caller)
        try:
            await step(
                {"messages": [message], "pending": [], "spent": Spent()},
                runtime=Runtime(context=context),
            )
        finally:
            if caller is not None:
                await caller.aclose()
        return next(Tool.read(data) for kind, data in journal.events if kind == Tool.KIND)

    def _caller(self) -> Any:
        if self.model is None:
            return None
        from branchwise.agents.caller import ModelCaller
        from branchwise.agents.decoding import Decoding
        from branchwise.agents.prompt_files import Prompts
        from branchwise.agents.spec import ModelSpec

        spec = ModelSpec.parse(self.model)
        return ModelCaller(spec, Decoding(), Prompts.load(None), keys=self.keys)


def _only(tools: "list[BaseTool]", spec: str) -> "BaseTool":
    if len(tools) == 1:
        return tools[0]
    names = ", ".join(tool.name for tool in tools) or "none"
    raise InputError(
        f"the server has several tools: {names}", where=spec, remedy="name one: SPEC#NAME"
    )


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments of `--args`. Raises InputError for anything but a JSON object."""
    import orjson

    try:
        arguments = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"is not JSON: {error}", where="--args", remedy="""write --args '{"name": "value"}'"""
        ) from None
    if not isinstance(arguments, dict):
        raise InputError(
            f"is a {type(arguments).__name__}, not an object",
            where="--args",
            remedy="""write --args '{"name": "value"}'""",
        )
    return arguments
