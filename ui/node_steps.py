"""A plug-in's node, in lines of a trace."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.ui.tool_steps import few, indented, short

MAX_PRINTED_LINES = 5


def node_label(data: Mapping[str, Any]) -> str:
    """Name, and what it changed or why nothing."""
    if data["error"]:
        return f"node failed: {data['error']}"
    return f"node {data['name']}: {'; '.join(changes(data['update'])) or 'no change'}"


def node_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """The same with slot and seconds; below it what it printed and asked."""
    facts = [data["slot"], f"{data['seconds']:.2f} s", *(["replayed"] if data["replayed"] else [])]
    if data["error"]:
        said = f"failed: {short(data['error'])}"
    else:
        said = "; ".join(changes(data["update"])) or "no change"
    yield f"{'node':<9} {data['name']}: {said} ({', '.join(facts)})"
    for asked in data.get("asked") or ():
        yield indented(f"asked: {short(asked.get('message'))}")
    lines = [line for line in str(data["printed"]).splitlines() if line.strip()]
    yield from (indented(f"printed: {short(line)}") for line in few(lines, MAX_PRINTED_LINES))


def changes(update: Mapping[str, Any]) -> list[str]:
    """What an update changes, each in a few words."""
    pending: Sequence[Any] = update.get("pending") or ()
    results = [record for record in pending if "of" in record]
    said = [f"call {record['of'] + 1}: {_passages(record)}" for record in results]
    if len(results) < len(pending):
        said.append(_count(len(pending), "opening message"))
    if "readings" in update:
        said.append(_count(len(update["readings"]), "reading"))
    if "messages" in update:
        said.append("another answer")
    return said


def _passages(record: Mapping[str, Any]) -> str:
    listed = record["artifact"].get("passages")
    return "rewritten" if listed is None else _count(len(listed), "passage")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
