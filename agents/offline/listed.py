"""The section of a user's message that lists the question's readings, one a line after a dash."""

import re
from itertools import groupby

MAX_READINGS = 50
_ITEM = re.compile(r"\s*[-*•–]\s+(\S.*)")
_GIVEN = re.compile(r"\s*\[?Fragment\s+\d", re.IGNORECASE)
_OF_QUESTION = re.compile(r"\bquestion\b", re.IGNORECASE)
_OF_READINGS = re.compile(
    r"\b(?:understood|readings?|interpret\w*|mean\w*|ways|senses?)\b", re.IGNORECASE
)


def split_readings(message: str) -> tuple[str, tuple[str, ...]]:
    """The message before its section of readings, and the readings: at least two, or none.

    Passages may hold lists of their own. Where some are given, only a list that is introduced as
    ways to understand the question counts; a question alone is one line, so any list will do.
    """
    lines = message.splitlines()
    runs = _runs(lines)
    if not runs:
        return message, ()
    first, readings = runs[-1]
    start = _introduction(lines, first)
    if not any(map(_GIVEN.match, lines)):
        start = next((n for n in range(1, first) if not lines[n].strip()), first)
    elif not _introduces("\n".join(lines[start:first])):
        return message, ()
    return "\n".join(lines[:start]).rstrip(), readings[:MAX_READINGS]


def _runs(lines: list[str]) -> list[tuple[int, tuple[str, ...]]]:
    """Lines with dashes that follow each other, two at least: number of the first, and texts."""
    items = [_ITEM.match(line) for line in lines]
    groups = [list(group) for listed, group in groupby(enumerate(items), lambda e: bool(e[1]))]
    return [
        (group[0][0], tuple(found[1].rstrip() for _, found in group if found))
        for group in groups
        if group[0][1] and len(group) > 1
    ]


def _introduction(lines: list[str], first: int) -> int:
    """Where the paragraph begins that a list belongs to: on the lines before it, or apart."""
    start = first
    while start > 1 and not lines[start - 1].strip():
        start -= 1
    while start > 1 and lines[start - 1].strip():
        start -= 1
    return start


def _introduces(paragraph: str) -> bool:
    return bool(_OF_QUESTION.search(paragraph) and _OF_READINGS.search(paragraph))
