"""What models settled before scoring, in lines below the tables."""

from collections.abc import Iterator, Sequence

from branchwise.eval.judging.agreement import Agreement
from branchwise.eval.judging.judge import JudgeReport
from branchwise.eval.judging.matcher import MatcherReport
from branchwise.eval.judging.occasion import Occasion
from branchwise.eval.judging.settle import Settled
from branchwise.ui.cells import number
from branchwise.ui.console import printable

_SHOWN = 5
_MAX_LINE = 300


def matcher_lines(settled: Settled) -> list[str]:
    """What matcher and judge did, where they failed, and how far the matchers agree."""
    lines: list[str] = []
    if settled.matcher:
        lines += _matcher(settled.matcher)
    if settled.judge:
        lines += _judge(settled.judge)
    if settled.lexical_judge:
        lines += _judge(settled.lexical_judge, " (branches aligned by names)")
    if settled.agreement:
        lines += _agreement(settled.agreement)
    return [printable(line)[:_MAX_LINE] for line in lines]


def _matcher(report: MatcherReport) -> Iterator[str]:
    calls = report.consulted
    yield (
        f"matcher {report.model}: aligned the branches of {report.asked - len(report.lexical)} of "
        f"{report.asked} items ({calls.fresh.calls} calls made, {calls.cached.calls} kept from "
        f"before, {report.repaired} after a repair)"
    )
    yield from _where("aligned by names after all", report.lexical)
    yield from _where("all names mapped to one reading", report.to_one)


def _judge(report: JudgeReport, of: str = "") -> Iterator[str]:
    calls = report.consulted
    yield (
        f"judge {report.model}{of}: accepted {report.accepted} answers of {report.asked} items "
        f"({calls.fresh.calls} calls made, {calls.cached.calls} kept from before, "
        f"{report.refused} claims refused)"
    )
    yield from _where("nothing usable was said", report.failed)
    yield from _where("too many answers to ask about", report.unasked)


def _agreement(found: Agreement) -> Iterator[str]:
    kappa = number(found.kappa) if found.kappa is not None else "undefined"
    yield (
        f"matchers agree on {number(found.observed)} of {found.pairs} branch pairs "
        f"(Cohen's kappa {kappa}); they differ on {len(found.differences)} of "
        f"{found.questions} questions"
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


def _where(what: str, occasions: Sequence[Occasion]) -> Iterator[str]:
    if occasions:
        yield f"  {what}: {len(occasions)} items"
    for one in occasions[:_SHOWN]:
        yield f"    {one.id}" + (f": {one.why}" if one.why else "")
    yield from _more(len(occasions), "items", "    ")


def _more(count: int, what: str, margin: str = "  ") -> Iterator[str]:
    if count > _SHOWN:
        yield f"{margin}… and {count - _SHOWN} more {what} (--json has them all)"
