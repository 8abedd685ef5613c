"""The steps of a trace as rows of a tree, and how many gold answers each brought."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.eval.errors.mentions import Mentions
from branchwise.trace.events import Event
from branchwise.trace.records import listed, mapping
from branchwise.ui.step_labels import failed, label
from branchwise.ui.traces.marks import mentions_of
from branchwise.ui.traces.trace import Step
from branchwise.ui.traces.turns import in_order

MAX_SEARCHED = 50_000
"""Characters of one text that are searched for gold answers."""
MAX_IN_ALL = 2_000_000
"""Characters of all texts of a trace; behind them nobody looks."""


def steps(events: Sequence[Event], names: Sequence[Sequence[str]] = ()) -> list[Step]:
    """The steps in the order of the tree; with `names`, each with its count of gold answers."""
    seen = _Seen(mentions_of(names)) if names else None
    return [
        Step(
            event.seq,
            event.kind,
            label(event.kind, event.data),
            depth,
            failed(event.kind, event.data),
            seen.gold(event) if seen else None,
        )
        for event, depth in in_order(events)
    ]


class _Seen:
    """What texts mention; each is searched once, since passages come again and again."""

    def __init__(self, mentions: Mentions) -> None:
        self._mentions = mentions
        self._known: dict[str, frozenset[int]] = {}
        self._left = MAX_IN_ALL

    def gold(self, event: Event) -> int | None:
        """How many gold answers are named in what a step brought.

        None where it brought nothing, or where the trace is too long to be searched.
        """
        texts = _BROUGHT.get(event.kind)
        if texts is None or event.data.get("error") or self._left <= 0:
            return None
        found: set[int] = set()
        for text in texts(event.data):
            found |= self._in(text)
        return len(found)

    def _in(self, text: str) -> frozenset[int]:
        if (found := self._known.get(text)) is None:
            searched = text[:MAX_SEARCHED]
            found = self._known[text] = frozenset(self._mentions.present(searched))
            self._left -= len(searched)
        return found


def _of_tool(data: Mapping[str, Any]) -> Iterator[str]:
    artifact = mapping(data.get("artifact"))
    if not artifact.keys() & {"passages", "rows", "matches"}:
        yield str(data.get("content") or "")
        return
    yield from _passages(artifact)
    for match in listed(artifact.get("matches")):
        yield from (str(match.get(key) or "") for key in ("label", "name"))
    yield from _cells(mapping(artifact.get("rows")))


def _passages(artifact: Mapping[str, Any]) -> Iterator[str]:
    for passage in listed(artifact.get("passages")):
        yield f"{passage.get('title')}\n{passage.get('text')}"


def _cells(rows: Mapping[str, Any]) -> Iterator[str]:
    """Literals, and the labels of what stands in the rows."""
    yield from map(str, mapping(rows.get("labels")).values())
    found = rows.get("rows")
    for row in found if isinstance(found, list) else ():
        for cell in row if isinstance(row, list) else ():
            if mapping(cell).get("type") == "literal":
                yield str(cell.get("value"))


def _of_start(data: Mapping[str, Any]) -> Iterator[str]:
    yield from _passages(mapping(data.get("artifact")))


def _of_extraction(data: Mapping[str, Any]) -> Iterator[str]:
    for passage in listed(data.get("passages")):
        spans = passage.get("spans")
        yield from map(str, spans if isinstance(spans, list) else ())


def _of_node(data: Mapping[str, Any]) -> Iterator[str]:
    """The tool results as it left them: the agent read these texts."""
    for record in listed(mapping(data.get("update")).get("pending")):
        if "of" in record:
            yield str(record.get("content") or "")


_BROUGHT = {
    "tool": _of_tool,
    "start": _of_start,
    "extraction": _of_extraction,
    "node": _of_node,
}
