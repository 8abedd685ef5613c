"""Lines below the tables: what models settled, what modules did, which metrics failed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.base.numbers import interval, number
from branchwise.base.text import counted, printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.errors.module_work import (
    CheckWork,
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
from branchwise.report.terminal.cells import indented, plain, run_name

if TYPE_CHECKING:
    from rich.padding import Padding

_SHOWN = 5
_MAX_LINE = 300
_BY_NAMES = " (branches aligned by names)"
_PAIRS = {"aligned": " (only pairs that token F1 aligns)", "placed": " (pairs by position)"}


def matcher_lines(settled: Settled) -> list[str]:
    """What matcher and judge did, where they failed, and how far the matchers agree."""
    lines = [
        *(_matcher(settled.matcher) if settled.matcher else ()),
        *(_judge(settled.judge) if settled.judge else ()),
        *(_grades(settled.grades) if settled.grades else ()),
        *(_judge(settled.lexical_judge, _BY_NAMES) if settled.lexical_judge else ()),
        *([check_line(settled.check)] if settled.check else ()),
        *(_agreement(settled.agreement) if settled.agreement else ()),
    ]
    return [printable(line)[:_MAX_LINE] for line in lines]


def in_vain_lines(settled: Settled) -> list[str]:
    """A line for each model whose replies were all unusable, with what to do."""
    lines = []
    for role, report in settled.in_vain.items():
        instead = "names aligned all branches" if role == "matcher" else "no answer was accepted"
        if isinstance(report, GradeReport):
            instead = "nothing is scored by grades"
        again = "score again when it answers"
        remedy = again if report.ended.failed else f"name another model with --{role}"
        ends = _ends(report.ended)
        line = f"the {role} {report.model} settled nothing ({ends}): {instead}; {remedy}"
        lines.append(printable(line)[:_MAX_LINE])
    return lines


def _matcher(report: MatcherReport) -> Iterator[str]:
    aligned = report.asked - len(report.lexical)
    yield (
        f"matcher {report.model}: aligned the branches of {aligned} of "
        f"{counted(report.asked, 'item')}, {report.changed} otherwise than names alone do "
        f"({_replies(report)}, {report.repaired} after a repair)"
    )
    yield from _unusable(report.ended)
    yield from _where("aligned by names after all", report.lexical)
    yield from _where("all names mapped to one reading", report.to_one)


def _judge(report: JudgeReport, of: str = "") -> Iterator[str]:
    yield (
        f"judge {report.model}{of}: accepted {counted(report.accepted, 'answer')} of "
        f"{counted(report.asked, 'item')} ({_replies(report)}, "
        f"{counted(report.refused, 'claim')} refused)"
    )
    yield from _unusable(report.ended)
    yield from _where("nothing usable was said", report.failed, branches=True)
    yield from _where("too many answers to ask about", report.unasked, branches=True)


def _grades(report: GradeReport) -> Iterator[str]:
    graded = f"graded the answers of {counted(report.asked, 'item')}{_PAIRS.get(report.pairs, '')}"
    yield f"judge {report.model}: {graded} ({_replies(report)})"
    if report.sampled:
        yield (
            f"  without probabilities from the server, {counted(report.sampled, 'grade')} of "
            f"{report.requests:,} are means of up to {SAMPLES} replies"
        )
    yield from _unusable(report.ended)
    yield from _where("left unscored", report.ungraded)


def _replies(report: MatcherReport | JudgeReport | GradeReport) -> str:
    calls = report.consulted
    now = counted(calls.fresh.calls, "reply", "replies")
    return f"{now} now, {calls.cached.calls} kept from before"


def check_line(check: JudgeCheck, beside: str = "beside it") -> str:
    """How far two grades of the same requests agree; `beside`: where another judge's stand."""

    def mean(value: Aggregate) -> str:
        return f"{number(value.mean)} {interval(value.low, value.high)}".rstrip()

    whose = beside if check.beside else "again"
    lacking = f", {check.ungraded:,} lack one of the two" if check.ungraded else ""
    return (
        f"judge check: {counted(check.items, 'item')} graded by {check.spec} {whose} "
        f"({counted(check.graded, 'grade')}{lacking}): "
        f"mean absolute difference {mean(check.difference)}, Spearman's rho {mean(check.rho)}"
    )


def _agreement(agreement: Agreement) -> Iterator[str]:
    kappa = number(agreement.kappa) if agreement.kappa is not None else "undefined"
    yield (
        f"matchers agree on {number(agreement.observed)} of {agreement.pairs} branch pairs "
        f"(Cohen's kappa {kappa}); they differ on {len(agreement.differences)} of "
        f"{counted(agreement.questions, 'question')}"
    )

    def quoted(reading: str | None) -> str:
        return "none" if reading is None else repr(reading)

    for difference in agreement.differences[:_SHOWN]:
        for name, by_names in difference.lexical.items():
            if by_names != (by_model := difference.llm.get(name)):
                readings = f"{quoted(by_names)} by names, {quoted(by_model)} by the model"
                yield f"  {difference.id}: {name} is {readings}"
    yield from _more(len(agreement.differences), "questions")


def _unusable(ended: Ended) -> Iterator[str]:
    if ended.failed or ended.unusable:
        yield f"  {_ends(ended)}"


def _ends(ended: Ended) -> str:
    failed = [f"{ended.failed:,} failed"] if ended.failed else []
    unusable = [f"{ended.unusable:,} answered with nothing usable"] if ended.unusable else []
    ends = ", ".join([*failed, *unusable]) or "none was made"
    return f"of {counted(ended.requests, 'request')} {ends}"


def _where(problem: str, items: Sequence[ReportedItem], *, branches: bool = False) -> Iterator[str]:
    """The first of these: items, or `branches` of them."""
    if items:
        count = counted(len({(item.id, item.epoch) for item in items}), "item")
        if branches:
            count = f"{counted(len(items), 'branch', 'branches')} of {count}"
        yield f"  {problem}: {count}"
    for item in items[:_SHOWN]:
        yield f"    {item.id}" + (f": {item.why}" if item.why else "")
    yield from _more(len(items), "branches" if branches else "items", "    ")


def _more(count: int, noun: str, margin: str = "  ") -> Iterator[str]:
    if count > _SHOWN:
        yield f"{margin}… and {count - _SHOWN} more {noun} (--json has them all)"


ALARM, NOTICE = "bold red", "yellow"
"""Styles for a module whose calls all failed, and for one that ran without effect."""
ModuleLine = tuple[str, str]
"""What one module did, and its style."""


def module_notes(
    runs: Sequence[tuple[str, ModuleWork, Inert]], *, epochs: bool = False
) -> "Iterator[Padding]":
    """The lines of each run, by its name, with a module, or with something that did nothing.
    `epochs`: questions were asked more than once, so items are counted."""
    for name, work, inert in runs:
        lines = [(part.words, NOTICE) for part in inert.values()]
        if lines := [*lines, *module_lines(work, "item" if epochs else "question")]:
            text = plain(f"\n{run_name(name)}" if len(runs) > 1 else "")
            for line, style in lines:
                text.append(f"\n{printable(line)}", style=style)
            yield indented(text)


def module_lines(work: ModuleWork, asked: str = "question") -> list[ModuleLine]:
    """A line for each module that was on; `asked` is what expansion's items are called."""
    return [
        *([_expansion(work.expansion, asked)] if work.expansion else ()),
        *([_extraction(work.extraction)] if work.extraction else ()),
        *([_check(work.check)] if work.check else ()),
        *(_node(name, node) for name, node in work.nodes.items()),
    ]


def _expansion(work: ExpansionWork, asked: str) -> ModuleLine:
    if not work.items:
        return f"expand: no {asked} came to be expanded", NOTICE
    line = f"expand: readings for {work.expanded:,} of {counted(work.items, asked)}"
    line += _each(work.readings, work.expanded)
    if work.searches:
        failed = f" ({work.failed_searches:,} failed)" if work.failed_searches else ""
        searches = "search" if work.searches == 1 else "searches"
        line += f", {work.searches:,} {searches} for names{failed}"
    if work.failed:
        line += f", {work.failed:,} failed ({_by(work.failures)})"
    style = ALARM if work.failed == work.items else "" if work.expanded else NOTICE
    return line + _dropped(work.dropped, "line"), style


def _extraction(work: ExtractionWork) -> ModuleLine:
    if not work.passages:
        return "extract: no tool call returned passages to extract from", NOTICE
    parts = [f"{work.with_spans:,} with spans{_each(work.spans, work.with_spans, work.whole)}"]
    if work.with_nothing:
        emptied = f" (in {work.emptied:,} all was dropped)" if work.emptied else ""
        parts.append(f"{work.with_nothing:,} with nothing{emptied}")
    if work.failed:
        parts.append(f"{work.failed:,} failed and shown whole ({_by(work.failures)})")
    if work.reused:
        parts.append(f"{work.reused:,} read before")
    requests = "" if work.each_alone else f" in {counted(work.requests, 'request')}"
    line = f"extract: {counted(work.passages, 'passage')}{requests}: {', '.join(parts)}"
    in_vain = work.failed == work.passages - work.reused
    style = ALARM if in_vain else "" if work.with_spans else NOTICE
    return line + _dropped(work.dropped, "span"), style


def _check(work: CheckWork) -> ModuleLine:
    if not work.answers:
        return "check: no answer came to be checked", NOTICE
    line = f"check: {counted(work.answers, 'answer')}, {work.sent_back:,} sent back"
    if work.sent_back:
        line += f" ({number(work.missing / work.sent_back, 1)} things each)"
    if work.failed:
        line += f", {work.failed:,} failed ({_by(work.failures)})"
    style = ALARM if work.failed == work.answers else "" if work.sent_back else NOTICE
    return line + _dropped(work.dropped, "line"), style


def _node(name: str, work: NodeWork) -> ModuleLine:
    if not work.calls:
        return f"node {name}: it was never called", NOTICE
    line = f"node {name}: {counted(work.calls, 'call')}: {work.changed:,} changed something"
    if work.failed:
        first = "the first: " if work.failed > 1 else ""
        line += f", {work.failed:,} failed ({first}{work.first_error})"
    return line, ALARM if work.failed == work.calls else "" if work.changed else NOTICE


def _each(count: int, among: int, whole: int = 0) -> str:
    """The mean over those that have any, and how many are copied from end to end."""
    copied = f", {whole:,} copied whole" if whole else ""
    return f" ({count / among:.1f} each{copied})" if among else ""


def _dropped(reasons: Counter[str], noun: str) -> str:
    return f"; {counted(reasons.total(), noun)} dropped ({_by(reasons)})" if reasons else ""


def _by(reasons: Counter[str]) -> str:
    """Each with its number, the most frequent first, equal ones by name."""
    ranked = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{reason.replace('_', ' ')} {count:,}" for reason, count in ranked)
