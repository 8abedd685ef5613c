"""Tables as GitHub renders them (GitHub Flavored Markdown)."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.base.text import counted
from branchwise.report.exports.text import MAX_TEXT, Shown, one_line, shown_rows

if TYPE_CHECKING:
    from branchwise.report.study_report import StudyReport
    from branchwise.report.tables import Table

# What begins a code span, emphasis, a link, an image, a cell, deleted text or a formula. Colons
# and points only where they would make an address or an emoji, so that names stay readable.
_MARKUP = re.compile(
    r"[\\`*_{}\[\]#|~$!]|:(?=//)|:(?=[\w+-]+:)|(?<=\bwww)\.", re.ASCII | re.IGNORECASE
)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def markdown(report: "StudyReport", tables: "Sequence[Table]") -> str:
    """The tables that are for readers, each under its title and over its notes."""
    questions = f"{counted(len(report.questions), 'question')} of {escape(report.source_names)}"
    head = f"# {escape(report.title)}\n\n{questions}, by branchwise {escape(report.version)}.\n"
    parts = [_section(table.as_printed()) for table in tables if table.printed]
    return "\n".join([head, *parts])


def escape(text: str, most: int = MAX_TEXT) -> str:
    """Text from outside that shows as it is, on one line of at most so many characters of it."""
    line = one_line(text, most)
    entities = "".join(_ENTITIES.get(character, character) for character in line)
    return _MARKUP.sub(r"\\\g<0>", entities)


def _section(table: "Table") -> str:
    notes = "".join(f"- {escape(note)}\n" for note in table.notes)
    return f"## {escape(table.title)}\n\n{''.join(_lines(table))}\n{notes}"


def _lines(table: "Table") -> Iterator[str]:
    yield _line(escape(column.whole_title) for column in table.columns)
    yield _line("---" if column.unit == "text" else "---:" for column in table.columns)
    for row in shown_rows(table):
        yield _line(map(_cell, row))


def _line(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _cell(shown: Shown) -> str:
    if shown.is_text:
        return escape(shown.text)
    return " ".join(shown.parts).replace("<", "&lt;")
