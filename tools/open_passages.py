"""`open_passages(title)`: all passages of a title. Import lazily: it loads langchain."""

import asyncio
from collections.abc import Collection

from pydantic import BaseModel, Field, SkipValidation

from branchwise.corpora.passages import Passage
from branchwise.corpora.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.corpora.retrieval import Hit
from branchwise.corpora.titles import Titles
from branchwise.tools.artifacts import ToolArtifact
from branchwise.tools.built_in import BuiltInTool
from branchwise.tools.passage_blocks import (
    MAX_OPENED,
    ShownPassages,
    blocks,
    new_and_repeated,
    passage_record,
)

NAME = "open_passages"
MAX_TITLE_CHARS = 1000

_DESCRIPTION = """Show all passages of a title, in their order.

Use it where a search result says "2 of 3" behind a title, or where you know the title: it costs \
less than searching for the rest. Copy the title as the search showed it."""
_IN_PAPER = "Open all passages of a title, in their order."


class _Title(BaseModel):
    title: str = Field(
        description="The title, without the id and the number of the passage.",
        min_length=1,
        max_length=MAX_TITLE_CHARS,
    )


class _OpenPassages(BuiltInTool):
    titles: SkipValidation[Titles]

    def _run(self, title: str) -> tuple[str, ToolArtifact]:
        return self._shown(title, self.titles.passages(title), ())

    async def _arun(
        self, title: str, shown: ShownPassages | None = None
    ) -> tuple[str, ToolArtifact]:
        # The first look-up reads the whole corpus.
        passages = await asyncio.to_thread(self.titles.passages, title)
        return self._shown(title, passages, await shown.ids() if shown else ())

    def _shown(
        self, title: str, passages: list[Passage], known: Collection[str]
    ) -> tuple[str, ToolArtifact]:
        if not passages:
            said = "No passage has this title; search for it: titles must be written in full."
            return said, ToolArtifact(passages=[])
        hits, repeats = new_and_repeated([Hit(one, 0.0) for one in passages], MAX_OPENED, known)
        records = [passage_record(hit, self.titles) for hit in hits]
        artifact = ToolArtifact(passages=records)
        if repeats:
            artifact["repeats"] = repeats
        left = len(passages) - len(hits) - len(repeats)
        more = [f"{left} more passages of this title are not shown."] if left else []
        return "\n\n".join([blocks(records, repeats), *more]), artifact


def make_open_passages(titles: Titles, prompt_set: PromptSet = DEFAULT_SET) -> BuiltInTool:
    """The tool over the titles of a corpus; its result is text and a `ToolArtifact`.

    `prompt_set`: in whose words it describes itself.
    """
    return _OpenPassages(
        name=NAME,
        description=_IN_PAPER if prompt_set == "paper" else _DESCRIPTION,
        args_schema=_Title,
        titles=titles,
    )
