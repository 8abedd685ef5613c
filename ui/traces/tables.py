"""Rows of a query, or matches of a search by name, as a table of aligned columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from branchwise.tools.graph_text import short_iri
from branchwise.trace.records import listed, mapping
from branchwise.ui.traces.blocks import Block, Mark
from branchwise.ui.traces.parts import Looked, line

MAX_ROWS = 1_000
"""Rows that are laid out; an agent is shown 100 at most."""
MAX_COLUMNS, MAX_CELLS = 100, 10_000
"""Columns, and cells in all, that are laid out."""
MAX_CELL = 60
_GAP = "  "


def rows_table(record: Mapping[str, Any], looked: Looked) -> Block:
    """A query's rows; entities by label and id, what has no value as "-"."""
    names = [str(name) for name in record.get("variables") or ()][:MAX_COLUMNS]
    labels = mapping(record.get("labels"))
    rows = [
        [_cell(cell, labels) for cell in row[:MAX_COLUMNS]]
        for row in (record.get("rows") or ())[: rows_laid_out(record)]
        if isinstance(row, list)
    ]
    return _table([f"?{name}" for name in names], rows, looked)


def rows_laid_out(record: Mapping[str, Any]) -> int:
    """How many rows of a query its table has."""
    columns = min(len(record.get("variables") or ()), MAX_COLUMNS)
    return min(len(record.get("rows") or ()), MAX_ROWS, MAX_CELLS // max(columns, 1))


def matches_table(matches: Sequence[Mapping[str, Any]], looked: Looked) -> Block:
    """Matches of a search by name, in order."""
    head = ["id", "label", "description", "types", "statements", "name"]
    rows = []
    for match in listed(matches)[:MAX_ROWS]:
        types = match.get("types")
        kinds = ", ".join(map(str, types)) if isinstance(types, list) else ""
        own = [match.get("id"), match.get("label"), match.get("description"), kinds]
        near = " (only like it)" if match.get("near") else ""
        cells = [*own, match.get("statements"), f"{match.get('name') or ''}{near}"]
        rows.append(["" if cell is None else str(cell) for cell in cells])
    return _table(head, rows, looked)


def _cell(value: Any, labels: Mapping[str, Any]) -> str:
    cell = mapping(value)
    if not cell:
        return "-"
    text = str(cell.get("value"))
    if cell.get("type") != "uri":
        return text
    label = labels.get(text)
    return f"{label} ({short_iri(text)})" if label else short_iri(text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], looked: Looked) -> Block:
    """Names of the columns, a rule, then a row a line."""
    from rich.cells import cell_len

    shown = [[line(cell, MAX_CELL) for cell in row] for row in [head, *rows]]
    columns = max(map(len, shown), default=0)
    widths = [max(cell_len(row[n]) for row in shown if n < len(row)) for n in range(columns)]
    lines, marks, at = [], [], 0
    for number, row in enumerate(shown):
        start = at
        parts = []
        for width, cell in zip(widths, row, strict=False):
            found = looked.marks(cell) if number else (Mark(0, len(cell), "strong"),)
            marks += [Mark(start + m.start, start + m.end, m.kind) for m in found]
            padded = cell + " " * (width - cell_len(cell)) + _GAP
            parts.append(padded)
            start += len(padded)
        lines.append("".join(parts))
        at += len(lines[-1]) + 1
        if not number:
            lines.append(_GAP.join("─" * width for width in widths))
            at += len(lines[-1]) + 1
    return Block("table", "\n".join(lines), marks=tuple(marks), row=0)
