"""A tool that says what a name may refer to, from a `names.jsonl` such as a world has.

    branchwise tools try disambiguation.py:disambiguation --args '{"name": "King Kong"}' --corpus F

It shows what a tool may declare: settings, a section of the system prompt, an injected corpus, an
artifact for the trace, and how the trace app shows a call.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from branchwise import Corpus, ToolError, ToolResult, tool

SECTION = """A name may be shared by several things. Before you answer a question about a name, \
look it up with the tool disambiguation: each thing that it lists, and that the question may mean, \
is a reading of the question. Search for each by its full title, and answer each."""


class Settings(BaseModel):
    """`names`: a names.jsonl; without it, the one in the corpus folder. `most`: titles shown."""

    names: Path | None = None
    most: int = Field(default=20, ge=1, le=200)


def show(arguments: Mapping[str, Any], content: str, artifact: Mapping[str, Any]) -> Iterator[str]:
    """What the trace app shows of a call."""
    titles = artifact.get("titles", ())
    yield f"{len(titles)} titles for {arguments.get('name')!r}"
    yield from titles


@tool(section=SECTION, seconds=30, settings=Settings, render=show)
def disambiguation(name: str, settings: Settings, corpus: Corpus | None) -> ToolResult:
    """List what a name may refer to, each by its full title and in a few words.

    Args:
        name: the name alone, as the question writes it.
    """
    file = settings.names or (corpus.path / "names.jsonl" if corpus else None)
    if file is None:
        raise ToolError("this tool has no names: give them with --set disambiguation.names=FILE")
    shared = _pages(file).get(name.strip().casefold())
    if shared is None:
        return ToolResult(f"No two things share the name {name.strip()[:100]!r}.")
    lines = [f"  {_line(one)}" for one in shared["entities"]]
    rest = [f"  … and {len(lines) - settings.most} more"] if len(lines) > settings.most else []
    text = "\n".join([f"{shared['name']} may refer to:", *lines[: settings.most], *rest])
    return ToolResult(text, {"titles": [one["title"] for one in shared["entities"]]})


def _line(entity: Mapping[str, str]) -> str:
    """A title, and a few words on it where there are some."""
    return ": ".join(filter(None, [entity["title"], entity.get("description", "")]))


@lru_cache(maxsize=4)
def _pages(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """By name in lower case. A world of a million entities has some hundred thousand of them."""
    try:
        with file.open(encoding="utf-8") as lines:
            return {page["name"].casefold(): page for page in map(json.loads, lines)}
    except OSError as error:
        raise ToolError(f"the names cannot be read: {error.strerror}") from None
