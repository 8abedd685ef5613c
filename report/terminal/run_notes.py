"""Lines below the tables: what models settled, what modules did, which metrics failed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from branchwise.base.numbers import interval, number
from branchwise.base.text import counted, printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.errors.module_work import (
    ExpansionWork,
    ExtractionWork,
    Inert,
    ModuleWork,
    NodeWork,
)
from branchwise.eval.judging.consultant import Ended, ReportedItem
from branchwise.eval.judging.grading import SAMPLES, GradeReport
from branchwise.eval.judging.judge import JudgeReport
from branchwise.eval.judging.matcher import Agreement, MatcherReport
from branchwise.eval.judging.settle import JudgeCheck, Settled
from branchwise.eval.scores import ItemScore, Scores
from branchwise.report.terminal.cells import indented, plain, run_name

if TYPE_CHECKING:
    from rich.padding import Padding


_SHOWN = 5
_MAX_LINE = 300


def matcher_lines(settled: Settled) -> list[str]:
    """What matcher and judge did, where they failed, and how far the matchers agree."""
    lines: list[str] = []
    if settled.matcher:
        lines += _matcher(settled.matcher)
    if settled.judge:
        lines += _judge(settled.judge)
    if settled.grades:
        lines += _grades(settled.grades)
    if settled.lexical_judge:
        lines += _judge(settled.lexical_judge, " (branches aligned by names)")
    if settled.check:
        lines += _check(settled.check)
    if settled.agreement:
        lines += _agreement(settled.agreement)
    return [printable(line)[:_MAX_LINE] for line in lines]


def in_vain_lines(settled: Settled) -> list[str]:
    """A line for each model whose replies were all unusable, with what to do."""
    return [printable(_in_vain(role, one))[:_MAX_LINE] for role, one in settled.in_vain.items()]


def _in_vain(role: str, report: MatcherReport | JudgeReport | GradeReport) -> str:
    ended = report.ended
    instead = "names aligned all branches" if role == "matcher" else "no answer was accepted"
    if isinstance(report, GradeReport):
        instead = "nothing is scored by grades"
    remedy = "score again when it answers" if ended.failed else f"name another model with --{role}"
    return f"the {role} {report.model} settled nothing ({_told(ended)}): {instead}; {remedy}"


def _matcher(report: MatcherReport) -> Iterator[str]:
    calls = report.consulted
    yield (
        f"matcher {report.model}: aligned the branches of {report.asked - len(report.lexical)} of "
        f"{_counted(report.asked, 'item')}, {report.changed} otherwise than names alone do "
        f"({_counted(calls.fresh.calls, 'reply', 'replies')} now, {calls.cached.calls} kept from "
        f"before, {report.repaired} after a repair)"
    )
    yield from _ended(report.ended)
    yield from _where("aligned by names after all", report.lexical)
    yield from _where("all names mapped to one reading", report.to_one)


def _judge(report: JudgeReport, of: str = "") -> Iterator[str]:
    calls = report.consulted
    yield (
        f"judge {report.model}{of}: accepted {_counted(report.accepted, 'answer')} of "
        f"{_counted(report.asked, 'item')} ({_counted(calls.fresh.calls, 'reply', 'replies')} now, "
        f"{calls.cached.calls} kept from before, {_counted(report.refused, 'claim')} refused)"
    )
    yield from _ended(report.ended)
    yield from _where("nothing usable was said", report.failed, branches=True)
    yield from _where("too many answers to ask about", report.unasked, branches=True)


def _grades(report: GradeReport) -> Iterator[str]:
    calls, pairs = report.consulted, " (only pairs that token F1 aligns)"
    yield (
        f"judge {report.model}: graded the answers of {_counted(report.asked, 'item')}"
        f"{pairs if report.pairs == 'aligned' else ''} "
        f"({_counted(calls.fresh.calls, 'reply', 'replies')} now, "
        f"{calls.cached.calls} kept from before)"
    )
    if report.sampled:
        yield (
            f"  without probabilities from the server, {_counted(report.sampled, 'grade')} of "
            f"{report.requests:,} are means of up to {SAMPLES} replies"
        )
    yield from _ended(report.ended)
    yield from _where("left unscored", report.ungraded)


def _check(found: JudgeCheck) -> Iterator[str]:
    beside = "beside it" if found.beside else "again"
    lacking = f", {found.ungraded:,} lack one of the two" if found.ungraded else ""
    yield (
        f"judge check: {_counted(found.items, 'item')} graded by {found.spec} {beside} "
        f"({_counted(found.graded, 'grade')}{lacking}): "
        f"mean absolute difference {_measured(found.difference)}, "
        f"Spearman's rho {_measured(found.rho)}"
    )


def _measured(found: Aggregate) -> str:
    return f"{number(found.mean)} {interval(found.low, found.high)}".rstrip()


def _agreement(found: Agreement) -> Iterator[str]:
    kappa = number(found.kappa) if found.kappa is not None else "undefined"
    yield (
        f"matchers agree on {number(found.observed)} of {found.pairs} branch pairs "
        f"(Cohen's kappa {kappa}); they differ on {len(found.differences)} of "
        f"{counted(found.questions, 'question')}"
    )
    for one in found.differences[:_SHOWN]:
        for name, reading in one.lexical.items():
            if reading != one.llm.get(name):
                yield f"  {one.id}: {name} is {_reading(reading)} by names, " + (
                    f"{_reading(one.llm.get(name))} by the model"
                )
    yield from _more(len(found.differences), "questions")


def _reading(name: str | None) -> str:
    return "none" if name is None else repr(name)


def _ended(ended: Ended) -> Iterator[str]:
    if ended.failed or ended.unusable:
        yield f"  {_told(ended)}"


def _told(ended: Ended) -> str:
    """How unusable requests ended."""
    failed = [f"{ended.failed:,} failed"] if ended.failed else []
    unusable = [f"{ended.unusable:,} answered with nothing usable"] if ended.unusable else []
    told = ", ".join([*failed, *unusable])
    return f"of {_counted(ended.requests, 'request')} {told or 'none was made'}"


def _where(what: str, items: Sequence[ReportedItem], *, branches: bool = False) -> Iterator[str]:
    """The first of these: items, or `branches` of them."""
    if items:
        counted = _counted(len({(one.id, one.epoch) for one in items}), "item")
        if branches:
            counted = _counted(len(items), "branch", "branches") + f" of {counted}"
        yield f"  {what}: {counted}"
    for one in items[:_SHOWN]:
        yield f"    {one.id}" + (f": {one.why}" if one.why else "")
    yield from _more(len(items), "branches" if branches else "items", "    ")


def _more(count: int, what: str, margin: str = "  ") -> Iterator[str]:
    if count > _SHOWN:
        yield f"{margin}… and {count - _SHOWN} more {what} (--json has them all)"


def _counted(count: int, one: str, several: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


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


_MAX_ID = 80


def failure_lines(scored: Iterable[Scores]) -> list[str]:
    """A line for each metric: how many items it left unscored, and why the first of them."""
    failed: dict[str, list[ItemScore]] = {}
    items = 0
    for scores in scored:
        items += len(scores.items)
        for metric, item in scores.failures:
            failed.setdefault(metric, []).append(item)
    return [_line(metric, found, items) for metric, found in failed.items()]


def _line(metric: str, found: list[ItemScore], items: int) -> str:
    first = found[0]
    epoch = f" in epoch {first.epoch}" if any(item.epoch for item in found) else ""
    question = f"question {printable(first.id)[:_MAX_ID]}{epoch}"
    why = printable(first.failures[metric])
    said = f"the metric {metric} left {len(found)} of {items} items unscored"
    return f"{said}; the first is {question}: {why}"
