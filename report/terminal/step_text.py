"""Pieces of the lines that say what a step did."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MAX_LINE = 160
SHOWN_RESULTS = 5
_INDENT = " " * 10


def begun(word: str, said: str) -> str:
    """The first line of a step: the word that begins it, then what it did."""
    return f"{word:<9} {said}"


def indented(line: str) -> str:
    """Below the word that begins a step."""
    return f"{_INDENT}{line}"


def few(lines: Sequence[str], most: int, rest: str = "more lines") -> Iterator[str]:
    """The first `most` and how many there are besides; a single one besides is shown itself."""
    kept = most if len(lines) > most + 1 else len(lines)
    yield from lines[:kept]
    if kept < len(lines):
        yield f"… and {len(lines) - kept} {rest}"


def short(value: Any, most: int = MAX_LINE) -> str:
    """On one line, cut where it is too long."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def count(number: int, what: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number} {what if number == 1 else many or f'{what}s'}"


def branch_lines(answers: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Each branch with its entities, below an `answer` or `gold` heading."""
    for branch, entities in answers.items():
        yield indented(f"{branch}: {'; '.join(entities) or '(none)'}")
