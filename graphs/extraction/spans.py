"""From the extractor's reply to spans that occur word for word in the passage."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from branchwise.graphs.list_replies import MAX_ITEMS, listed, not_taken, undressed
from branchwise.trace.parts import Dropped

MAX_SPANS = 50
"""Of one passage. Together they are never longer than the passage: they do not overlap."""
NOT_IN_PASSAGE, REPEATED, TOO_MANY = "not in the passage", "repeated", "too many"
_NONE = re.compile(r"\W*none\b", re.IGNORECASE)
_NONE_ALONE = re.compile(r"\W*none\W*", re.IGNORECASE)

# One character for one character, so positions in the folded text are positions in the text.
_FOLD = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´ʼ＇", "'"),
        **dict.fromkeys("“”„‟″«»＂", '"'),
        **dict.fromkeys("‐‑‒–—―−﹘﹣－", "-"),
    }
)


@dataclass(frozen=True)
class Spans:
    """Spans in the order of the passage, in its own characters, and what was dropped.

    `whole`: one span is the whole passage.
    """

    kept: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    whole: bool = False


def read_spans(reply: str, passage: str) -> Spans:
    """The spans that `reply` copied from `passage` (text on one line, no title), one per line.

    A line is in the passage if it is a substring, with typographic quotation marks and dashes taken
    for plain ones; otherwise it is tried again without bullet, number, quotation marks and ellipses
    around it. Overlapping spans are merged; a line within an earlier one is a repeat. NONE, even
    with an explanation, is not a span; the explanation does not count as dropped. Never raises.
    """
    items = listed(reply)
    reader = _Reader(passage)
    for item in items[:MAX_ITEMS]:
        reader.read(item)
    dropped = reader.dropped
    if not reader.places and reader.says_none:
        return Spans()
    if len(items) > MAX_ITEMS:
        dropped.append(Dropped(f"({len(items) - MAX_ITEMS} more lines)", TOO_MANY))
    kept = tuple(passage[start:end] for start, end in sorted(reader.places))
    return Spans(kept, tuple(dropped), whole=(0, len(passage)) in reader.places)


class FoldedPassage:
    """A passage in which lines are looked for, whatever their dress."""

    def __init__(self, passage: str) -> None:
        self._folded = passage.translate(_FOLD)

    def find(self, forms: Iterable[str]) -> tuple[int, int] | None:
        """Where the first of a line's forms (`span_forms`) that it holds stands: [start, end)."""
        for form in forms:
            start = self._folded.find(form)
            if start >= 0:
                return start, start + len(form)
        return None


class _Reader:
    """Finds line after line in one passage; `places` are disjoint [start, end)."""

    def __init__(self, passage: str) -> None:
        self._passage = FoldedPassage(passage)
        self.places: list[tuple[int, int]] = []
        self.dropped: list[Dropped] = []
        self.says_none = False

    def read(self, item: str) -> None:
        if says_none(item):
            self.says_none = True
        elif any(c.isalnum() for c in item):
            place = self._passage.find(span_forms(item))
            if place is None:
                # "None of this helps." is an explanation, unless it is in the passage word for
                # word.
                first = not self.places and not self.dropped
                self.says_none = self.says_none or (first and bool(_NONE.match(item)))
                self.dropped.append(not_taken(item, NOT_IN_PASSAGE))
            else:
                self._take(item, place)

    def _take(self, item: str, place: tuple[int, int]) -> None:
        start, end = place
        if any(s <= start and end <= e for s, e in self.places):
            self.dropped.append(not_taken(item, REPEATED))
            return
        apart = [(s, e) for s, e in self.places if e <= start or end <= s]
        if len(apart) == len(self.places) >= MAX_SPANS:
            self.dropped.append(not_taken(item, TOO_MANY))
            return
        touched = [place, *(p for p in self.places if p not in apart)]
        self.places = [*apart, (min(s for s, _ in touched), max(e for _, e in touched))]


def says_none(item: str) -> bool:
    """Whether a line is the word NONE alone, in any dress."""
    return bool(_NONE_ALONE.fullmatch(item))


def span_forms(item: str) -> Iterator[str]:
    """The folded line unchanged, then with less and less around it; each contains a word."""
    for form in undressed(item):
        for bare in (form, form.strip(" …[]"), form.strip(" .…[]")):
            folded = bare.translate(_FOLD)
            if any(c.isalnum() for c in folded):
                yield folded
