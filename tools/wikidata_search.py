"""`wikidata_search(text)`: from a name to the entities that bear it. Import lazily."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from pydantic import BaseModel, Field, SkipValidation

from branchwise.corpora.graph.answers import Graph, GraphError, Match
from branchwise.corpora.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.tools.artifacts import MatchRecord, ToolArtifact
from branchwise.tools.built_in import BuiltInTool
from branchwise.tools.errors import ToolError
from branchwise.tools.graph_text import matches_text

NAME = "wikidata_search"
DEFAULT_LIMIT, MAX_LIMIT, MAX_TEXT_CHARS = 8, 50, 1000
MAX_AT_ONCE = 32

_DESCRIPTION = """Find entities or properties of the knowledge graph by name, for use in a query.

With kind "item": everything that is called `text` (name or alias), with number, description, kind \
and number of statements; things that share a name are listed together, and each may be meant. \
Where nothing is, the nearest names, and that they are only near. With kind "property": the \
property that a phrase means, such as "starred in" or "date of birth"."""
_IN_PAPER = """Find entities of the knowledge graph by name, or with kind "property" properties \
by a word or phrase. Returns numbers, labels and descriptions."""


class _Search(BaseModel):
    text: str = Field(
        description="A name, or for properties a word or phrase.",
        min_length=1,
        max_length=MAX_TEXT_CHARS,
    )
    kind: Literal["item", "property"] = Field(default="item", description="What to look for.")
    limit: int = Field(default=DEFAULT_LIMIT, description="How many names.", ge=1, le=MAX_LIMIT)


class _WikidataSearch(BuiltInTool):
    graph: SkipValidation[Graph]
    threads: SkipValidation[ThreadPoolExecutor]

    @property
    def address(self) -> str | None:
        """The address that names are searched at; None for a graph in a folder."""
        return getattr(self.graph, "name_address", None)

    def _run(
        self, text: str, kind: Literal["item", "property"] = "item", limit: int = DEFAULT_LIMIT
    ) -> tuple[str, ToolArtifact]:
        try:
            matches = self.graph.search(text, kind, limit)
        except GraphError as error:
            raise ToolError(str(error)) from error
        records = [_record(match) for match in matches]
        return matches_text(text, matches), ToolArtifact(matches=records)

    async def _arun(
        self,
        text: str,
        kind: Literal["item", "property"] = "item",
        limit: int = DEFAULT_LIMIT,
        **_: Any,
    ) -> tuple[str, ToolArtifact]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, self._run, text, kind, limit)


def _record(match: Match) -> MatchRecord:
    record = MatchRecord(
        id=match.id,
        label=match.label,
        description=match.description,
        name=match.name,
        types=list(match.types),
        statements=match.statements,
        near=match.near,
    )
    if match.members:
        record["members"] = match.members
    return record


def make_wikidata_search(graph: Graph, prompt_set: PromptSet = DEFAULT_SET) -> BuiltInTool:
    """The tool over a graph; its result is text and a `ToolArtifact` with the matches.

    `prompt_set`: in whose words it describes itself.
    """
    return _WikidataSearch(
        name=NAME,
        description=_IN_PAPER if prompt_set == "paper" else _DESCRIPTION,
        args_schema=_Search,
        graph=graph,
        threads=ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix=NAME),
    )
