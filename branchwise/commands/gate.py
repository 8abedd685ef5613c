"""`branchwise gate`: whether a run is worse than the one before it, for a pipeline."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from xml.etree import ElementTree as ET

import typer

from branchwise.base.atomic import write_named
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.numbers import interval, number, p_value, signed
from branchwise.base.text import printable
from branchwise.commands.options import AsJson
from branchwise.commands.report_runs import warn_if_pending
from branchwise.eval.gate import ENOUGH_POWER, Gated, GateResult, gate
from branchwise.eval.scores import Scores
from branchwise.report.terminal.console import console, error_console, print_json
from branchwise.report.terminal.progress import ScoringProgress
from branchwise.runs.costs.prices import prices_of
from branchwise.runs.scoring.score import ScoringSettings, score_answers


def gate_runs(
    base: Annotated[Path, typer.Argument(metavar="BASE", help="Run folder to compare with.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Run folder to judge.")],
    margin: Annotated[
        float, typer.Option(help="A drop up to here does not count.", min=0.0, max=1.0)
    ] = 0.0,
    drop: Annotated[
        float,
        typer.Option(
            help="The drop that matters: it is said how likely it would have been seen.", max=1.0
        ),
    ] = 0.05,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="KEY,...", help="Metrics to judge by. Default: the task's headline metrics."
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a test case a metric, as JUnit XML.")
    ] = None,
    json_output: AsJson = False,
) -> None:
    """Exit with 1 if NEW is worse than BASE by more than chance; sends no request.

    Where there are too few questions to tell, it says so, with the power of the test, and exits
    with 0.

    Example: branchwise gate runs/main runs/branch --margin .02 --junit gate.xml
    """
    before, after = _scores(base), _scores(new)
    chosen = [key.strip() for key in metrics.split(",")] if metrics is not None else None
    for key in chosen or ():
        for scores in (before, after):
            if key not in (known := list(scores.aggregates["all"])):
                remedy = did_you_mean(key, known, most=2)
                problem = f"unknown metric {key[:80]!r}"
                raise InputError(problem, where="--metrics", remedy=remedy)
    result = gate(before, after, metrics=chosen, margin=margin, drop=drop)
    if junit is not None:
        write_named(junit, junit_xml(result, before, new.resolve().name))
    for caution in result.cautions:
        error_console().print(f"caution: {printable(caution)}", markup=False, soft_wrap=True)
    if json_output:
        print_json({"base": str(base), "new": str(new), **result.to_json()})
    else:
        _print(result, _names(before))
    sys.exit(1 if result.is_worse else 0)


def _scores(path: Path) -> Scores:
    warn_if_pending(path)
    with ScoringProgress():
        settings = ScoringSettings(None, prices_of(path), asks=False, saves=False)
        return score_answers(path, settings).scores


def _names(scores: Scores) -> dict[str, str]:
    return {column.key: column.name for column in scores.scorer.columns}


def _print(result: GateResult, names: Mapping[str, str]) -> None:
    width = max(len(gated.verdict) for gated in result.metrics)
    for gated in result.metrics:
        first, *more = reasons(gated)
        lines = [f"{gated.verdict:<{width}}  {names[gated.difference.metric]} {first}"]
        lines += [f"{'':<{width}}  {line}" for line in more]
        console().print("\n".join(lines), markup=False, soft_wrap=True)


def reasons(gated: Gated) -> list[str]:
    """The change with its interval and p, then the power where nothing was found."""
    difference = gated.difference
    if difference.difference is None:
        return ["is in no question of both"]
    p, ends = difference.corrected_p, interval(difference.low, difference.high)
    means = f"{number(difference.base)} to {number(difference.other)}"
    test = f"({'no test' if p is None else p_value(p)}, n = {difference.n})"
    lines = [f"{means}, {signed(difference.difference)} {ends} {test}"]
    if gated.verdict == "worse":
        return lines
    if gated.power is None:
        is_same = difference.n > 1 and not difference.higher + difference.lower
        return [*lines, "the same on every question"] if is_same else lines
    power = f"a drop of {number(gated.drop)} would show with probability {number(gated.power)}"
    enough = f"; {gated.enough:,} questions make it {number(ENOUGH_POWER)}" if gated.enough else ""
    return [*lines, power + enough]


def junit_xml(result: GateResult, scores: Scores, name: str) -> bytes:
    """A suite with a case for each metric: worse is a failure, too few questions is skipped."""
    failures = sum(gated.verdict == "worse" for gated in result.metrics)
    skipped = sum(gated.verdict == "too few questions" for gated in result.metrics)
    counts = {"tests": len(result.metrics), "failures": failures, "errors": 0, "skipped": skipped}
    attributes = {key: str(count) for key, count in counts.items()}
    suite = ET.Element("testsuite", {"name": "branchwise gate", **attributes})
    names = _names(scores)
    for gated in result.metrics:
        title = printable(names[gated.difference.metric])
        case = ET.SubElement(suite, "testcase", {"classname": printable(name), "name": title})
        words = "; ".join(reasons(gated))
        if gated.verdict == "worse":
            ET.SubElement(case, "failure", {"message": f"worse: {words}"})
        elif gated.verdict == "too few questions":
            ET.SubElement(case, "skipped", {"message": f"too few questions to tell: {words}"})
        else:
            ET.SubElement(case, "system-out").text = words
    suites = ET.Element("testsuites", attributes)
    suites.append(suite)
    ET.indent(suites)
    written: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return written + b"\n"
