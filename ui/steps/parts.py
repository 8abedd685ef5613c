"""The pieces that every step is shown with: texts, notes, JSON, queries, passages, tables."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from branchwise.report.terminal.blocks import Block, BlockKind, Mark, harmless
from branchwise.report.terminal.console import harmless_json
from branchwise.report.terminal.marks import AnswerNames, json_marks, named, sparql_marks
from branchwise.tools.result_text import class_size, short_iri
from branchwise.trace.artifacts import ResultCell, ResultRows, ShownMatch, ShownPassage
from branchwise.trace.parts import Dropped, Usage

MAX_TITLE = 300
"""Characters of a title; what is longer stands below it once more (`overlong`)."""
MAX_FACT = 120
"""Characters of a fact in a title or a note."""
MAX_SEARCHED = 400_000
"""Characters of all texts of a step that are searched for answers."""
MAX_REFORMED = 200_000
"""Characters of a model's JSON that is laid out anew."""
MAX_ROWS = 1_000
"""Rows that are laid out; an agent is shown 100 at most."""
MAX_COLUMNS, MAX_CELLS = 100, 10_000
"""Columns, and cells in all, that are laid out."""
MAX_CELL = 60


@dataclass
class Looked:
    """What is looked for in the texts of a step: gold answers, and predicted texts; `left`: in
    how many characters still, so that a step of many long texts opens at once."""

    gold: AnswerNames = ()
    wrong: AnswerNames = ()
    left: int = MAX_SEARCHED

    def marks(self, text: str) -> tuple[Mark, ...]:
        """Where the text names them; of a long text at its beginning."""
        if not (self.gold or self.wrong):
            return ()
        searched = text[: self.left]
        self.left -= len(searched)
        return (*named(searched, self.gold), *named(searched, self.wrong, "wrong"))


def line(text: object, most: int = MAX_TITLE) -> str:
    """Text from outside on one line, cut where it is too long."""
    flat = " ".join(harmless(str(text)[: 4 * most]).split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def heading(text: str) -> Block:
    return Block("heading", line(text))


def note(*facts: str) -> Iterator[Block]:
    """Short facts on one line, if there are any."""
    shown = " · ".join(line(fact, MAX_FACT) for fact in facts if fact)
    if shown:
        yield Block("note", shown)


def overlong(most: int = MAX_FACT, **facts: object) -> Iterator[Block]:
    """Facts that do not fit where they are named, whole."""
    for name, value in facts.items():
        if len(str(value)) > most:
            yield from text(value, name.replace("_", " "))


def text(
    value: Any,
    title: str = "",
    *,
    looked: Looked | None = None,
    folded: bool = False,
    kind: BlockKind = "text",
) -> Iterator[Block]:
    """A text as it stands, its lines its own; nothing where it is empty."""
    given = "" if value is None else str(value)
    if given:
        marks = looked.marks(given) if looked else ()
        yield Block(kind, harmless(given), line(title), marks, folded)


def as_json(value: Any, title: str = "", *, folded: bool = False) -> Block:
    """Any value as coloured JSON in which every character can be told."""
    shown = pretty(value)
    return Block("json", shown, line(title), tuple(json_marks(shown)), folded)


def pretty(value: Any) -> str:
    """Indented JSON; what could steer a terminal is escaped in it."""
    import orjson

    try:
        shown = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        # Half a character, or a number of more than 64 bits: slower, but shown.
        shown = json.dumps(value, indent=2, ensure_ascii=False, default=_plain)
    return harmless_json(shown)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def written(value: str, title: str, looked: Looked) -> Iterator[Block]:
    """What a model wrote: as JSON where it is JSON and loses nothing by it."""
    try:
        is_json = len(value) <= MAX_REFORMED and value.lstrip()[:1] in ("{", "[")
        shown = pretty(json.loads(value)) if is_json else ""
    except (ValueError, RecursionError):
        shown = ""
    if shown and "".join(shown.split()) == "".join(value.split()):
        yield Block("json", shown, line(title), (*json_marks(shown), *looked.marks(shown)))
    else:
        yield from text(value, title, looked=looked)


def sparql(query: str, title: str = "") -> Block:
    shown = harmless(query)
    return Block("sparql", shown, line(title), tuple(sparql_marks(shown)))


def rest(more: Mapping[str, Any], title: str = "also") -> Iterator[Block]:
    """What a record has beside what is shown otherwise: of newer versions, of plug-ins."""
    if more:
        yield as_json(more, title)


def dropped_blocks(dropped: Iterable[Dropped], looked: Looked) -> Iterator[Block]:
    """Lines of a module's reply that were not taken, and why."""
    for reply in dropped:
        yield from text(reply.text, f"dropped: {line(reply.why, MAX_FACT)}", looked=looked)
        yield from overlong(why=reply.why)
        yield from rest(reply.more)


class _Cost(Protocol):
    """What a call of a model or of a tool cost; None if it was not counted."""

    @property
    def seconds(self) -> float | None: ...
    @property
    def replayed(self) -> bool | None: ...


def cost(call: _Cost, usage: Usage | None = None) -> list[str]:
    facts: list[str] = []
    if usage:
        counts = {
            "{} tokens in": usage.input,
            "{} out": usage.output,
            "{} of them cached": usage.cached,
            "{} written to the cache": usage.written,
            "{} for reasoning": usage.reasoning,
        }
        facts += (words.format(number) for words, number in counts.items() if number)
        facts += (f"{name}: {number}" for name, number in usage.more.items() if number)
    if call.seconds is not None:
        facts.append(f"{call.seconds} s")
    return [*facts, "replayed"] if call.replayed else facts


def passage_blocks(
    shown: ShownPassage, looked: Looked, *, notes: Sequence[str] = (), marks: Sequence[Mark] = ()
) -> Iterator[Block]:
    yield passage(shown, looked, notes=notes, marks=marks)
    yield from overlong(MAX_TITLE, id=shown.id, title=shown.title)
    yield from rest(shown.more)


def passage(
    shown: ShownPassage,
    looked: Looked,
    *,
    notes: Sequence[str] = (),
    marks: Sequence[Mark] = (),
    folded: bool = False,
) -> Block:
    """A passage under its id and title; answers are looked for in its title, too."""
    name = shown.title[:MAX_TITLE]
    answers, shift = looked.marks(f"{name}\n{shown.text}"), len(name) + 1
    prefix = f"[{_flat(shown.id)[:MAX_TITLE]}] "
    title = f"{prefix}{_flat(name)}{'…' if len(shown.title) > MAX_TITLE else ''}"
    facts = "".join(f" · {line(fact, MAX_FACT)}" for fact in notes)
    return Block(
        "passage",
        harmless(shown.text),
        title + facts,
        (*(_moved(mark, -shift) for mark in answers if mark.start >= shift), *marks),
        folded,
        passage=shown.id,
        title_marks=tuple(_moved(mark, len(prefix)) for mark in answers if mark.end < shift),
    )


def _flat(text: str) -> str:
    """On one line, of the same length."""
    return harmless(text).replace("\n", " ")


def _moved(mark: Mark, by: int) -> Mark:
    return replace(mark, start=mark.start + by, end=mark.end + by)


def rows_blocks(rows: ResultRows, looked: Looked) -> Iterator[Block]:
    """A query's rows: how many, those that are laid out, and all as they were recorded."""
    columns = min(len(rows.variables), MAX_COLUMNS)
    laid_out = min(len(rows), MAX_ROWS, MAX_CELLS // max(columns, 1))
    facts = [f"{len(rows)} row{'' if len(rows) == 1 else 's'}"]
    facts += [] if rows.complete else ["there are more"]
    if rows.boolean is not None:
        facts = ["yes" if rows.boolean else "no"]
    if laid_out < len(rows):
        facts.append(f"the first {laid_out} are laid out")
    if columns < len(rows.variables):
        facts.append(f"the first {MAX_COLUMNS} columns are laid out")
    yield from note(*facts)
    if len(rows):
        head = [f"?{name}" for name in rows.variables[:columns]]
        cells = rows.cells(laid_out, MAX_COLUMNS)
        labels = rows.labels
        yield _table(head, [[_cell(cell, labels) for cell in row] for row in cells], looked)
    yield as_json(rows.data, "as recorded", folded=True)


def _cell(cell: ResultCell | None, labels: Mapping[str, Any]) -> str:
    """An entity by label and id; "-" for what has no value."""
    if cell is None:
        return "-"
    if not cell.is_iri:
        return cell.text
    label = labels.get(cell.text)
    return f"{label} ({short_iri(cell.text)})" if label else short_iri(cell.text)


def matches_blocks(matches: Sequence[ShownMatch], looked: Looked) -> Iterator[Block]:
    """Matches of a search by name, in order, and as they were recorded."""
    head = ["id", "label", "description", "types", "statements", "name"]
    rows = []
    for match in matches[:MAX_ROWS]:
        size = [class_size(match.members)] * bool(match.members)
        types = ", ".join([*match.types, *size])
        name = f"{match.name}{' (only like it)' if match.near else ''}"
        rows.append([match.id, match.label, match.description, types, match.statements, name])
    yield _table(head, rows, looked)
    yield as_json([match.data for match in matches], "as recorded", folded=True)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], looked: Looked) -> Block:
    from rich.cells import cell_len

    shown = [[line(cell, MAX_CELL) for cell in row] for row in [head, *rows]]
    columns = max(map(len, shown), default=0)
    widths = [max(cell_len(row[n]) for row in shown if n < len(row)) for n in range(columns)]
    laid, marks = "", []
    for number, row in enumerate(shown):
        for width, cell in zip(widths, row, strict=False):
            marked = looked.marks(cell) if number else (Mark(0, len(cell), "strong"),)
            marks += [_moved(mark, len(laid)) for mark in marked]
            laid += cell + " " * (width - cell_len(cell)) + "  "
        laid += "\n"
        if not number:
            laid += "  ".join("─" * width for width in widths) + "\n"
    return Block("table", laid[:-1], marks=tuple(marks), row=0)
