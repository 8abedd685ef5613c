"""From the expander's reply to the readings of a question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.base.text import one_line
from branchwise.graphs.list_replies import MAX_ITEMS, listed, not_taken, undressed
from branchwise.trace.parts import Dropped

MAX_READINGS = 14
MAX_CHARS = 500
"""Of one reading: an agent could not repeat a longer one as a key."""
NOT_A_READING, REPEATED, TOO_LONG = "not a reading", "repeated", "too long"
TOO_MANY, ALONE = "too many", "no other reading beside it"
_LABEL = re.compile(r"^(?:reading|interpretation)\s*\d{1,3}\s*[:.)–—-]\s*", re.IGNORECASE)
_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
# Marks that turn the direction of all text behind them (Unicode UAX 9, explicit formatting).
_TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Readings:
    """The readings in a reply, likeliest first: none, or at least two."""

    kept: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()


def read_readings(text: str) -> Readings:
    """Read a reply, one reading per line.

    Keeps at most 14 lines of at most 500 characters with different words (ignoring case). A line
    that only talks about the readings does not count. A single reading, such as the question
    itself, is not an expansion. Never raises.
    """
    items = [item for item in listed(text) if _LETTER.search(item)]
    looked_at = [clean for item in items[:MAX_ITEMS] if _LETTER.search(clean := _clean(item))]
    talk = _talk(looked_at)
    kept: dict[tuple[str, ...], str] = {}
    dropped: list[Dropped] = []
    for n, reading in enumerate(looked_at):
        words = tuple(_WORD.findall(reading.casefold()))
        why = NOT_A_READING if n in talk else _refusal(reading, words in kept, len(kept))
        if why:
            dropped.append(not_taken(reading, why))
        else:
            kept[words] = reading
    if len(items) > MAX_ITEMS:
        dropped.append(Dropped(f"({len(items) - MAX_ITEMS} more lines)", TOO_MANY))
    if len(kept) == 1:
        (alone,) = kept.values()
        return Readings((), (not_taken(alone, ALONE), *dropped))
    return Readings(tuple(kept.values()), tuple(dropped))


def _refusal(reading: str, repeated: bool, kept: int) -> str | None:
    if repeated:
        return REPEATED
    if len(reading) > MAX_CHARS:
        return TOO_LONG
    return TOO_MANY if kept >= MAX_READINGS else None


def _clean(item: str) -> str:
    """Without bullet, number, label, quotation marks and unprintable characters."""
    shown = _TURNING.sub("", _TERMINAL.sub("", item))
    visible = "".join(" " if ord(c) < 32 or 127 <= ord(c) < 160 else c for c in shown)
    *_, bare = undressed(one_line(visible))
    *_, bare = undressed(_LABEL.sub("", bare))
    return bare


def _talk(readings: Sequence[str]) -> set[int]:
    """Positions of lines that talk about the readings: "Here they are:", "I hope this helps!".

    The latter is recognised only if the other lines are questions, and only at either end.
    """
    headings = {n for n, reading in enumerate(readings) if reading.endswith(":")}
    asked = sum(reading.endswith("?") for reading in readings)
    ends = {0, len(readings) - 1} if asked > 1 else set()
    return headings | {n for n in ends if not readings[n].endswith("?")}
