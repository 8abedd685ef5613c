"""A model's list, one item per line in any dress, such as the readings of a question."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    """The items of a reply: a JSON list of texts, or its lines without empty ones and fences. White
    space is collapsed; nothing else is changed. Never raises, whatever the text."""
    lines = without_fences(text)
    items = _json_items("\n".join(lines))
    if items is None:
        each = [(line, _json_items(line)) for line in lines]
        items = [one for line, inner in each for one in ([line] if inner is None else inner)]
    return [item for item in map(one_line, items) if item]


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


def _json_items(text: str) -> list[str] | None:
    """The texts of a JSON list, or of the one list in a JSON object; None for anything else."""
    text = text.strip()
    if (text[:1], text[-1:]) not in (("[", "]"), ("{", "}")):
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


MAX_READINGS = 14
MAX_CHARS = 500
"""Of one reading: an agent could not repeat a longer one as a key."""
NOT_A_READING, REPEATED, TOO_LONG = "not a reading", "repeated", "too long"
TOO_MANY, ALONE = "too many", "no other reading beside it"
NOT_MEANT = "cannot be meant"
_NOT_MEANT = re.compile(r"not:\s*(?=\S)", re.IGNORECASE)
"""Before what an expander was shown and rules out."""
_LABEL = re.compile(r"^(?:reading|interpretation)\s*\d{1,3}\s*[:.)–—-]\s*", re.IGNORECASE)
_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
# Marks that turn the direction of all text behind them (Unicode UAX 9, explicit formatting).
_TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Readings:
    """The readings in a reply, likeliest first: none, or as many as make an expansion."""

    kept: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()


def read_readings(text: str, least: int = 2) -> Readings:
    """Read a reply, one reading per line. Keeps at most 14 lines of at most 500 characters with
    different words (ignoring case). A line that only talks about the readings does not count, nor
    one that rules something out. Fewer than `least`, such as the question alone, are not an
    expansion. Never raises."""
    items = [item for item in listed(text) if _LETTER.search(item)]
    looked_at = [clean for item in items[:MAX_ITEMS] if _LETTER.search(clean := _clean(item))]
    ruled_out = [_NOT_MEANT.sub("", one, 1) for one in looked_at if _NOT_MEANT.match(one)]
    looked_at = [one for one in looked_at if not _NOT_MEANT.match(one)]
    talk = _talk(looked_at)
    kept: dict[tuple[str, ...], str] = {}
    dropped = [not_taken(one, NOT_MEANT) for one in ruled_out]
    for n, reading in enumerate(looked_at):
        words = tuple(_WORD.findall(reading.casefold()))
        faults = {
            NOT_A_READING: n in talk,
            REPEATED: words in kept,
            TOO_LONG: len(reading) > MAX_CHARS,
            TOO_MANY: len(kept) >= MAX_READINGS,
        }
        if fault := next((fault for fault, holds in faults.items() if holds), None):
            dropped.append(not_taken(reading, fault))
        else:
            kept[words] = reading
    if len(items) > MAX_ITEMS:
        dropped.append(Dropped(f"({len(items) - MAX_ITEMS} more lines)", TOO_MANY))
    if len(kept) < least:
        return Readings((), (*(not_taken(alone, ALONE) for alone in kept.values()), *dropped))
    return Readings(tuple(kept.values()), tuple(dropped))


def _clean(item: str) -> str:
    """Without bullet, number, label, quotation marks and unprintable characters."""
    shown = _TURNING.sub("", _TERMINAL.sub("", item))
    visible = "".join(" " if ord(c) < 32 or 127 <= ord(c) < 160 else c for c in shown)
    *_, bare = undressed(one_line(visible))
    *_, bare = undressed(_LABEL.sub("", bare))
    return bare


def _talk(readings: Sequence[str]) -> set[int]:
    """Positions of lines that talk about the readings: "Here they are:", "I hope this helps!". The
    latter is recognised only if the other lines are questions, and only at either end."""
    headings = {n for n, reading in enumerate(readings) if reading.endswith(":")}
    asked = sum(reading.endswith("?") for reading in readings)
    ends = {0, len(readings) - 1} if asked > 1 else set()
    return headings | {n for n in ends if not readings[n].endswith("?")}


COMPLETE, UNREAD = "complete", "the reply neither lists what is missing nor says COMPLETE"
MAX_MISSING = 20
_MISSING = re.compile(r"missing\b\s*[:.–—-]*\s*", re.IGNORECASE)
_EDGES = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True)
class MissingList:
    """What a reply says is missing; nothing of an answer that is complete."""

    kept: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()


def read_missing(text: str) -> MissingList | None:
    """Read a reviewer's reply: COMPLETE, or "MISSING: ..." a line. Also taken are the lines below a
    line MISSING, a list in bullets or numbers, and a JSON list; a first or last line that says
    COMPLETE makes it so. Keeps at most 20 things of at most 500 characters, without repeats. None
    where it says neither. Never raises."""
    lines = [(item, _clean(item)) for item in listed(text)[: MAX_ITEMS + 1]]
    lines = [(item, clean) for item, clean in lines if _LETTER.search(clean)]
    if not lines:
        return None
    if any(_EDGES.sub("", clean).casefold() == COMPLETE for _, clean in (lines[0], lines[-1])):
        return MissingList()
    things = [_MISSING.sub("", clean, 1) for _, clean in lines if _MISSING.match(clean)]
    if things == [""]:
        below = next(n for n, (_, clean) in enumerate(lines) if _MISSING.match(clean)) + 1
        things = [clean for _, clean in lines[below:]]
    if not things:
        is_json = _json_items("\n".join(without_fences(text))) is not None
        things = [clean for item, clean in lines if is_json or _BULLET.match(item)]
    kept: dict[tuple[str, ...], str] = {}
    dropped = []
    for thing in filter(_LETTER.search, things):
        words = tuple(_WORD.findall(thing.casefold()))
        faults = {
            REPEATED: words in kept,
            TOO_LONG: len(thing) > MAX_CHARS,
            TOO_MANY: len(kept) >= MAX_MISSING,
        }
        if fault := next((fault for fault, holds in faults.items() if holds), None):
            dropped.append(not_taken(thing, fault))
        else:
            kept[words] = thing
    return MissingList(tuple(kept.values()), tuple(dropped)) if kept else None
