"""From an extractor's reply to spans that occur word for word in the passage.

In a reply about several passages, a line that names a passage begins its section; a line that is
copied from another passage than that of its section counts for that one. `read_spans` alone decides
what is shown: it holds each line against its passage.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from branchwise.base.text import one_line, whole_characters
from branchwise.graphs.list_replies import (
    MAX_ITEMS,
    REPEATED,
    TOO_MANY,
    listed,
    not_taken,
    undressed,
    without_fences,
)
from branchwise.trace.parts import Dropped

if TYPE_CHECKING:
    from branchwise.graphs.extraction.materials import Material

MAX_SPANS = 50
"""Of one passage. Together they are never longer than the passage: they do not overlap."""
NOT_IN_PASSAGE = "not in the passage"
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
    """Spans in the order of the passage, in its own characters, and what was dropped. `whole`: one
    span is the whole passage."""

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
    items, folded = listed(reply), FoldedPassage(passage)
    places: list[tuple[int, int]] = []  # disjoint [start, end)
    dropped: list[Dropped] = []
    is_none = False
    for item in items[:MAX_ITEMS]:
        if says_none(item):
            is_none = True
        if says_none(item) or not any(c.isalnum() for c in item):
            continue
        place = folded.find(span_forms(item))
        if place is None:
            # "None of this helps." is an explanation, unless it is in the passage word for word.
            is_first = not places and not dropped
            is_none = is_none or (is_first and bool(_NONE.match(item)))
            dropped.append(not_taken(item, NOT_IN_PASSAGE))
            continue
        start, end = place
        apart = [(s, e) for s, e in places if e <= start or end <= s]
        if any(s <= start and end <= e for s, e in places):
            dropped.append(not_taken(item, REPEATED))
        elif len(apart) == len(places) >= MAX_SPANS:
            dropped.append(not_taken(item, TOO_MANY))
        else:
            touched = [place, *(p for p in places if p not in apart)]
            places = [*apart, (min(s for s, _ in touched), max(e for _, e in touched))]
    if not places and is_none:
        return Spans()
    if len(items) > MAX_ITEMS:
        dropped.append(Dropped(f"({len(items) - MAX_ITEMS} more lines)", TOO_MANY))
    kept = tuple(passage[start:end] for start, end in sorted(places))
    return Spans(kept, tuple(dropped), whole=(0, len(passage)) in places)


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


_NUMBER = r"\d{1,3}"
_NAMED = re.compile(rf"[\W_]*passage[\W_]*({_NUMBER})(?![\w])(.*)", re.IGNORECASE)
_NAMED_ALL = re.compile(
    rf"[\W_]*passages\b[\W_]*({_NUMBER}(?:\s*(?:,|and|&|to|[-–])\s*(?:and\s)?{_NUMBER})*)(?!\w)(.*)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(rf"[\W_]*(?:p\s?)?({_NUMBER})(?!\w)(.*)", re.IGNORECASE)
_RANGE = re.compile(rf"({_NUMBER})\s*(?:to|[-–])\s*({_NUMBER})|({_NUMBER})")
_AROUND = " \t:.,;-–—*_#|>=)]}\"'`"
_BEHIND_TITLE = frozenset(":-–—|")
_TEXT = "Text:"
_WORDS = re.compile(r"\w+")
_NUMBER_KEYS = ("passage", "id", "number", "handle", "n")


class _Heading(NamedTuple):
    """A line that names passages (from 0), and what it says behind them."""

    passages: tuple[int, ...]
    rest: str
    by_word: bool = True


@dataclass(frozen=True)
class Sections:
    """What a reply says, passages by their places from 0. `said`: the lines for each; `named`:
    those that have a section; `last`: those whose section is the last, which may go on where the
    reply was cut; `strayed`: those of whose section a line stands in another passage."""

    said: Mapping[int, Sequence[str]] = field(default_factory=dict)
    named: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    strayed: frozenset[int] = frozenset()


def read_sections(reply: str, materials: "Sequence[Material]") -> Sections:
    """What a reply says of each passage; nothing where it names none. Never raises."""
    reader = _SectionReader(materials)
    lines = [line for raw in without_fences(reply) if (line := one_line(raw))]
    for line in _lines_of_json("\n".join(lines), len(materials)) or lines:
        reader.take(line)
    if lines and all(map(says_none, lines)):
        return Sections(named=frozenset(range(len(materials))))
    return Sections(
        reader.said, frozenset(reader.named), frozenset(reader.current), frozenset(reader.strayed)
    )


class _SectionReader:
    def __init__(self, materials: "Sequence[Material]") -> None:
        self._titles = [material.title for material in materials]
        self._passages = [FoldedPassage(material.text) for material in materials]
        self._left = MAX_ITEMS * len(materials)
        self.said: dict[int, list[str]] = {}
        self.named: set[int] = set()
        self.strayed: set[int] = set()
        self.current: tuple[int, ...] = ()

    def take(self, line: str) -> None:
        heading = self._heading(line)
        if heading is None:
            self._put(line)
            return
        self.current = heading.passages
        self.named.update(self.current)
        if heading.rest:
            self._put(heading.rest)

    def _heading(self, line: str) -> _Heading | None:
        """The line as a heading, unless it is copied from the passage that is being read."""
        heading = _heading_of(line, len(self._titles))
        if heading is None:
            return None
        rest = self._without_title(heading)
        if rest and not says_none(rest):
            if self._own(tuple(span_forms(line))):
                return None
            forms = tuple(span_forms(rest))
            # "1. …" may be an item of a list.
            if not heading.by_word and (
                self._own(forms) or not self._passages[heading.passages[0]].find(forms)
            ):
                return None
        return heading._replace(rest=rest)

    def _without_title(self, heading: _Heading) -> str:
        rest, title = heading.rest.strip(_AROUND), self._titles[heading.passages[0]]
        if _plain(rest) == _plain(title):
            return ""
        bare = heading.rest.lstrip(f"{_AROUND}([{{“‘")
        behind = bare.removeprefix(title).lstrip()
        return behind.lstrip(_AROUND) if title and behind[:1] in _BEHIND_TITLE else bare

    def _put(self, line: str) -> None:
        forms = tuple(span_forms(line))
        if line.startswith(_TEXT) and not self._own(forms):
            line = line.removeprefix(_TEXT).strip()
            forms = tuple(span_forms(line))
        if not forms or says_none(line):
            self._say(self.current, line)
        elif own := self._own(forms):
            self._say(own, line)
        elif not any(_plain(self._titles[number]) == _plain(line) for number in self.current):
            others: list[int] = []
            if self.current and self._left > 0:
                self._left -= 1
                passages = enumerate(self._passages)
                others = [number for number, passage in passages if passage.find(forms)][:1]
            self.strayed.update(self.current if others else ())
            self._say(others or self.current[:1], line)

    def _own(self, forms: Sequence[str]) -> list[int]:
        """The first passage of the section that holds the line."""
        return [number for number in self.current if self._passages[number].find(forms)][:1]

    def _say(self, numbers: Sequence[int], line: str) -> None:
        for number in numbers:
            self.said.setdefault(number, []).append(line)


def _heading_of(line: str, count: int) -> _Heading | None:
    for pattern, by_word in ((_NAMED, True), (_NAMED_ALL, True), (_NUMBERED, False)):
        if heading := pattern.match(line):
            numbers = tuple(number for number in _numbers(heading[1]) if 0 <= number < count)
            return _Heading(numbers, heading[2], by_word) if numbers else None
    return None


def _numbers(text: str) -> Iterator[int]:
    """Places from 0: "1", "1, 2 and 4", "2-5"."""
    for first, last, alone in _RANGE.findall(text):
        if alone:
            yield int(alone) - 1
        else:
            yield from range(int(first) - 1, int(last))


def _plain(text: str) -> list[str]:
    return _WORDS.findall(text.casefold())


def _lines_of_json(text: str, count: int) -> list[str] | None:
    """The same as lines, where the reply is JSON; None where it is not, or names no passage."""
    if not text.startswith(("{", "[")):
        return None
    try:
        return [whole_characters(line) for line in _json_lines(json.loads(text), count)] or None
    except (ValueError, RecursionError):
        return None


def _json_lines(value: Any, count: int) -> Iterator[str]:
    """Lines of `{"Passage 1": [...]}` and of `{"passage": 1, "spans": [...]}`, however nested."""
    if isinstance(value, list):
        for one in value:
            yield from _json_lines(one, count)
    elif isinstance(value, dict):
        name = next((value[key] for key in _NUMBER_KEYS if key in value), None)
        texts = [
            text for key, one in value.items() if key not in _NUMBER_KEYS for text in _texts(one)
        ]
        if isinstance(name, int | str) and _heading_of(str(name), count):
            yield from (f"Passage {_digits(str(name))}", *texts)
            return
        for key, one in value.items():
            if _heading_of(key, count):
                yield from (f"Passage {_digits(key)}", *_texts(one))
            else:
                yield from _json_lines(one, count)


def _texts(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [one_line(text) for text in listed if isinstance(text, str) and text.strip()]


def _digits(name: str) -> str:
    number = re.search(_NUMBER, name)
    return number[0] if number else ""
