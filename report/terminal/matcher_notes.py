"""What models settled before scoring, in lines below the tables."""

from collections.abc import Iterator, Sequence

from branchwise.base.numbers import interval, number
from branchwise.base.text import counted, printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.judging.consultant import Ended, ReportedItem
from branchwise.eval.judging.grading import SAMPLES, GradeReport
from branchwise.eval.judging.judge import JudgeReport
from branchwise.eval.judging.matcher import Agreement, MatcherReport
from branchwise.eval.judging.settle import JudgeCheck, Settled

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
