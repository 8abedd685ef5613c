"""The structured part of a tool's result, which the trace keeps beside the text."""

# pydantic checks what plug-ins return, and rejects typing.TypedDict below Python 3.12.
from typing import NotRequired

from typing_extensions import TypedDict


class PassageRecord(TypedDict):
    """A passage that a tool showed to the agent. `part`: which of how many passages of its title it
    is, from 1; missing for a title's only one."""

    id: str
    title: str
    text: str
    score: float
    part: NotRequired[list[int]]


class RepeatRecord(TypedDict):
    """A passage that a search found and that the agent has before it: it was shown by its title."""

    id: str
    title: str


class MatchRecord(TypedDict):
    """An entity or property that a search by name showed to the agent. `near`: its name is only
    similar to the text. `members`: how many things are instances of it, if it is a class."""

    id: str
    label: str
    description: str
    name: str
    types: list[str]
    statements: int
    near: NotRequired[bool]
    members: NotRequired[int]


class RowsRecord(TypedDict):
    """Rows of a query: values as in SPARQL's JSON results, null where a variable is unbound.
    `complete`: there were no more rows. `boolean`: of ASK. `labels`: of IRIs in the rows."""

    variables: list[str]
    rows: list[list[dict[str, str] | None]]
    complete: bool
    boolean: bool | None
    labels: dict[str, str]


class ToolArtifact(TypedDict):
    """`passages` in the order shown; `repeats`, found again and shown by their titles; `rows` of a
    query; `matches` of a search by name."""

    passages: NotRequired[list[PassageRecord]]
    repeats: NotRequired[list[RepeatRecord]]
    rows: NotRequired[RowsRecord]
    matches: NotRequired[list[MatchRecord]]
