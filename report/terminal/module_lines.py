"""What did nothing, and what modules and plug-ins' nodes did, in lines below the tables."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from branchwise.base.text import printable
from branchwise.eval.errors.module_work import (
    ExpansionWork,
    ExtractionWork,
    Inert,
    ModuleWork,
    NodeWork,
)
from branchwise.report.terminal.cells import indented, plain, run_name

if TYPE_CHECKING:
    from rich.padding import Padding

NamedWork = tuple[str, ModuleWork, Inert]
"""A run's name, what its modules did, and what of it did nothing."""

ALARM, NOTICE = "bold red", "yellow"
"""Styles for a module whose calls all failed, and for one that ran without effect."""


class ModuleLine(NamedTuple):
    """What one module did."""

    text: str
    style: str = ""


def module_notes(runs: Sequence[NamedWork], *, epochs: bool = False) -> "Iterator[Padding]":
    """The lines of each run with a module, or with something that did nothing; none for a run
    without. `epochs`: whether questions were asked more than once, so that items are counted."""
    for name, work, inert in runs:
        lines = [ModuleLine(one.words, NOTICE) for one in inert.values()]
        if lines := [*lines, *module_lines(work, "item" if epochs else "question")]:
            text = plain(f"\n{run_name(name)}" if len(runs) > 1 else "")
            for line in lines:
                text.append(f"\n{printable(line.text)}", style=line.style)
            yield indented(text)


def module_lines(work: ModuleWork, asked: str = "question") -> list[ModuleLine]:
    """A line for each module that was on; `asked` is what expansion's items are called."""
    lines = []
    if work.expansion is not None:
        lines.append(_expansion(work.expansion, asked))
    if work.extraction is not None:
        lines.append(_extraction(work.extraction))
    lines.extend(_node(name, node) for name, node in work.nodes.items())
    return lines


def _expansion(work: ExpansionWork, asked: str) -> ModuleLine:
    if not work.items:
        return ModuleLine(f"expand: no {asked} came to be expanded", NOTICE)
    said = f"expand: readings for {work.expanded:,} of {_count(work.items, asked)}"
    said += _each(work.readings, work.expanded)
    if work.searches:
        failed = f" ({work.failed_searches:,} failed)" if work.failed_searches else ""
        searches = "search" if work.searches == 1 else "searches"
        said += f", {work.searches:,} {searches} for names{failed}"
    if work.failed:
        said += f", {work.failed:,} failed ({_by(work.failures)})"
    return ModuleLine(said + _dropped(work.dropped, "line"), _style(work.items, work))


def _extraction(work: ExtractionWork) -> ModuleLine:
    if not work.passages:
        return ModuleLine("extract: no tool call returned passages to extract from", NOTICE)
    parts = [f"{work.with_spans:,} with spans{_each(work.spans, work.with_spans, work.whole)}"]
    if work.with_nothing:
        emptied = f" (in {work.emptied:,} all was dropped)" if work.emptied else ""
        parts.append(f"{work.with_nothing:,} with nothing{emptied}")
    if work.failed:
        parts.append(f"{work.failed:,} failed and shown whole ({_by(work.failures)})")
    if work.reused:
        parts.append(f"{work.reused:,} read before")
    asked = "" if work.each_alone else f" in {_count(work.requests, 'request')}"
    said = f"extract: {_count(work.passages, 'passage')}{asked}: {', '.join(parts)}"
    return ModuleLine(said + _dropped(work.dropped, "span"), _style(work.passages, work))


def _node(name: str, work: NodeWork) -> ModuleLine:
    if not work.calls:
        return ModuleLine(f"node {name}: it was never called", NOTICE)
    said = f"node {name}: {_count(work.calls, 'call')}: {work.changed:,} changed something"
    if work.failed:
        first = "the first: " if work.failed > 1 else ""
        said += f", {work.failed:,} failed ({first}{work.first_error})"
    if work.failed == work.calls:
        return ModuleLine(said, ALARM)
    return ModuleLine(said, "" if work.changed else NOTICE)


def _style(asked: int, work: ExpansionWork | ExtractionWork) -> str:
    if work.failed == asked - (work.reused if isinstance(work, ExtractionWork) else 0):
        return ALARM
    brought = work.expanded if isinstance(work, ExpansionWork) else work.with_spans
    return "" if brought else NOTICE


def _each(count: int, among: int, whole: int = 0) -> str:
    """The mean over those that have any, and how many are copied from end to end."""
    if not among:
        return ""
    copied = f", {whole:,} copied whole" if whole else ""
    return f" ({count / among:.1f} each{copied})"


def _dropped(reasons: Counter[str], what: str) -> str:
    if not reasons:
        return ""
    return f"; {_count(reasons.total(), what)} dropped ({_by(reasons)})"


def _by(reasons: Counter[str]) -> str:
    """Each with its number, the most frequent first, equal ones by name."""
    ranked = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{reason.replace('_', ' ')} {count:,}" for reason, count in ranked)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
