"""Pieces of the lines that say what a step did, and the passages behind an answer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from branchwise.base.text import one_line, printable
from branchwise.report.terminal.marks import named
from branchwise.trace.artifacts import ShownPassage
from branchwise.trace.events import Event, Stage, StageEnded, Tool

MAX_LINE = 160
SHOWN_RESULTS = 5
_INDENT = " " * 10


def begun(word: str, deeds: str) -> str:
    """The first line of a step: the word that begins it, then what it did."""
    return f"{word:<9} {deeds}"


def indented(line: str) -> str:
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


def count(number: int, noun: str, many: str = "") -> str:
    return f"{number} {noun if number == 1 else many or f'{noun}s'}"


def branch_lines(answers: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Each branch with its entities, below an `answer` or `gold` heading."""
    for branch, entities in answers.items():
        yield indented(f"{branch}: {'; '.join(entities) or '(none)'}")


_SHOWN = 3
_BEFORE, _BEHIND = 60, 140
"""Characters that are shown of a passage around what it names."""


def found_passages(events: Iterable[Event]) -> dict[str, list[ShownPassage]]:
    """What each conversation of a pipeline found, by its option ("": all others)."""
    by_option: dict[str, dict[str, ShownPassage]] = {}
    option = ""
    for event in events:
        match event.body:
            case Stage(option=begun):
                option = begun
            case StageEnded():
                option = ""
            case Tool() as body:
                passages = {passage.id: passage for passage in body.found.passages}
                by_option.setdefault(option, {}).update(passages)
    return {option: list(passages.values()) for option, passages in by_option.items()}


def passage_lines(passages: Sequence[ShownPassage], answers: Sequence[str]) -> Iterator[str]:
    """The passages that name an answer, else the first ones, and how many others there are."""
    names = [[answer] for answer in answers]
    marked = [(passage, named(passage.text, names)) for passage in passages]
    naming = [(passage, marks[0].start) for passage, marks in marked if marks]
    others = [(passage, 0) for passage, marks in marked if not marks]
    lines = [
        ": ".join([f"[{p.id}] {p.title}".rstrip(), _around(p.text, start)])
        for p, start in (*naming, *others)
    ]
    shown = few(lines, min(_SHOWN, len(naming) or _SHOWN), "more passages")
    return (printable(one_line(line)) for line in shown)


def _around(text: str, at: int) -> str:
    start = max(0, at - _BEFORE)
    start = text.find(" ", start, at) + 1 if start else 0
    end = min(len(text), start + _BEFORE + _BEHIND)
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"
