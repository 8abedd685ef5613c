"""Rows of a query, or matches of a search by name, as a table of aligned columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.report.terminal.blocks import Block, Mark
from branchwise.tools.result_text import class_size, short_iri
from branchwise.trace.artifacts import ResultCell, ResultRows, ShownMatch
from branchwise.ui.steps import parts
from branchwise.ui.steps.parts import Looked, line

MAX_ROWS = 1_000
"""Rows that are laid out; an agent is shown 100 at most."""
MAX_COLUMNS, MAX_CELLS = 100, 10_000
"""Columns, and cells in all, that are laid out."""
MAX_CELL = 60
_GAP = "  "


def rows_blocks(rows: ResultRows, looked: Looked) -> Iterator[Block]:
    """A query's rows: how many, those that are laid out, and all as they were recorded."""
    columns = min(len(rows.variables), MAX_COLUMNS)
    laid_out = min(len(rows), MAX_ROWS, MAX_CELLS // max(columns, 1))
    facts = [f"{len(rows)} row{'' if len(rows) == 1 else 's'}"]
    if not rows.complete:
        facts.append("there are more")
    if rows.boolean is not None:
        facts = ["yes" if rows.boolean else "no"]
    if laid_out < len(rows):
        facts.append(f"the first {laid_out} are laid out")
    if columns < len(rows.variables):
        facts.append(f"the first {MAX_COLUMNS} columns are laid out")
    yield from parts.note(*facts)
    if len(rows):
        head = [f"?{name}" for name in rows.variables[:columns]]
        labels = rows.labels
        cells = rows.cells(laid_out, MAX_COLUMNS)
        yield _table(head, [[_shown(cell, labels) for cell in row] for row in cells], looked)
    yield parts.as_json(rows.data, "as recorded", folded=True)


def matches_blocks(matches: Sequence[ShownMatch], looked: Looked) -> Iterator[Block]:
    """Matches of a search by name, in order, and as they were recorded."""
    head = ["id", "label", "description", "types", "statements", "name"]
    yield _table(head, [_match(match) for match in matches[:MAX_ROWS]], looked)
    yield parts.as_json([match.data for match in matches], "as recorded", folded=True)


def _match(match: ShownMatch) -> list[str]:
    near = " (only like it)" if match.near else ""
    size = [class_size(match.members)] * bool(match.members)
    own = [match.id, match.label, match.description, ", ".join([*match.types, *size])]
    return [*own, match.statements, f"{match.name}{near}"]


def _shown(cell: ResultCell | None, labels: Mapping[str, Any]) -> str:
    """An entity by label and id; "-" for what has no value."""
    if cell is None:
        return "-"
    if not cell.is_iri:
        return cell.text
    label = labels.get(cell.text)
    return f"{label} ({short_iri(cell.text)})" if label else short_iri(cell.text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], looked: Looked) -> Block:
    """Names of the columns, a rule, then a row a line."""
    from rich.cells import cell_len

    shown = [[line(cell, MAX_CELL) for cell in row] for row in [head, *rows]]
    columns = max(map(len, shown), default=0)
    widths = [max(cell_len(row[n]) for row in shown if n < len(row)) for n in range(columns)]
    lines, marks, at = [], [], 0
    for number, row in enumerate(shown):
        start = at
        laid_out = []
        for width, cell in zip(widths, row, strict=False):
            found = looked.marks(cell) if number else (Mark(0, len(cell), "strong"),)
            marks += [Mark(start + m.start, start + m.end, m.kind) for m in found]
            padded = cell + " " * (width - cell_len(cell)) + _GAP
            laid_out.append(padded)
            start += len(padded)
        lines.append("".join(laid_out))
        at += len(lines[-1]) + 1
        if not number:
            lines.append(_GAP.join("─" * width for width in widths))
            at += len(lines[-1]) + 1
    return Block("table", "\n".join(lines), marks=tuple(marks), row=0)
