"""A built-in tool, as an agent calls it. Import lazily: it loads langchain."""

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from branchwise.tools.artifacts import ToolArtifact
from branchwise.tools.passage_blocks import ShownPassages


class BuiltInTool(BaseTool):
    """Answers an agent directly: LangChain's way to a tool, with callbacks, run contexts and a walk
    through its schema's classes, takes longer than a search. Others invoke it like any tool.

    `_arun` takes the fields of `args_schema` and `shown`.
    """

    args_schema: type[BaseModel]
    response_format: Literal["content_and_artifact"] = "content_and_artifact"

    @property
    def address(self) -> str | None:
        """The address of the server that it asks; None for what is searched here."""
        return None

    async def answer(
        self, arguments: Mapping[str, Any], shown: ShownPassages | None = None
    ) -> tuple[str, ToolArtifact]:
        """The text for the model and the artifact for the trace.

        `shown`: the passages that the model has before it; None where that is not to matter.

        Raises:
            ValidationError: the arguments do not fit the schema.
            ToolError: the call failed, in words for the model.
        """
        given = self.args_schema.model_validate(arguments)
        found: tuple[str, ToolArtifact] = await self._arun(**vars(given), shown=shown)
        return found
