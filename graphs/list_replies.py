"""A model's list, one item per line, in any dress: bullets, fences, quotes, JSON."""

import json
import re
from collections.abc import Iterator
from typing import Any

from branchwise.base.text import one_line, whole_characters
from branchwise.trace.parts import Dropped

MAX_ITEMS = 200
"""Items of a reply that are examined one by one; the rest counts as one."""
MAX_SHOWN = 500
"""Characters of a dropped item that the trace keeps."""
_FENCE = re.compile(r"^\s*(?:```|~~~)[\w-]*\s*$")
_BULLET = re.compile(r"^(?:[-*+•‣◦▪·–—]|\(?\d{1,3}[.)]|\[\d{1,3}\])\s+")
_QUOTED = (
    *('""', "''", "“”", "„“", "‘’", "«»", "``"),
    *("****", "``````"),
)
"""Marks around a whole item: the first half of each opens, the second closes."""


def not_taken(text: str, why: str) -> Dropped:
    """A dropped item, and why; a long one is cut, with a note."""
    return Dropped(text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…", why)


def listed(text: str) -> list[str]:
    """The items of a reply: a JSON list of texts, or its lines without empty ones and fences.

    White space is collapsed; nothing else is changed. Never raises, whatever the text.
    """
    lines = without_fences(text)
    whole = _json_items("\n".join(lines))
    items = whole if whole is not None else [item for line in lines for item in _line_items(line)]
    return [item for item in (one_line(item) for item in items) if item]


def without_fences(text: str) -> list[str]:
    """The lines of a reply, those left out that only open or close a block of code."""
    return [line for line in text.splitlines() if not _FENCE.match(line)]


def undressed(item: str) -> Iterator[str]:
    """`item` unchanged, then without its bullet or number, then without quotation marks."""
    yield item
    bare = _BULLET.sub("", item)
    if bare != item:
        yield bare
    for _ in range(3):
        inner = _unquoted(bare)
        if inner == bare:
            return
        bare = inner
        yield bare


def _unquoted(text: str) -> str:
    # Lines of a broken JSON list end with a comma after the quotation mark.
    ends = text.removesuffix(",")
    for marks in _QUOTED:
        width = len(marks) // 2
        opening, inside, closing = ends[:width], ends[width:-width], ends[-width:]
        # `"Heat" and "Ronin"` is not in quotation marks.
        if inside and opening + closing == marks and opening not in inside:
            return inside.strip()
    return text


def _line_items(line: str) -> list[str]:
    items = _json_items(line)
    return [line] if items is None else items


def _json_items(text: str) -> list[str] | None:
    """The texts of a JSON list, or of the one list in a JSON object; None for anything else."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")) and not (
        text.startswith("{") and text.endswith("}")
    ):
        return None
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict):
        lists = [value for value in data.values() if isinstance(value, list)]
        data = lists[0] if len(lists) == 1 else None
    if not isinstance(data, list) or not all(isinstance(item, str) for item in data):
        return None
    # Escapes may spell lone surrogates, which no record can hold.
    return [whole_characters(item) for item in data]
