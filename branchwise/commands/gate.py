"""`branchwise gate`: whether a run is worse than the one before it, for a pipeline."""

import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from xml.etree import ElementTree as ET

import typer

from branchwise.base.atomic import write_named
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.numbers import interval, number, p_value, signed
from branchwise.base.text import counted, printable
from branchwise.commands.options import AsJson
from branchwise.corpora.questions import Question
from branchwise.eval.comparison import paired_count
from branchwise.eval.gate import ENOUGH_POWER, Gated, GateResult, gate
from branchwise.eval.scores import Scores
from branchwise.report.terminal.console import console, error_console, print_json
from branchwise.report.terminal.progress import ScoringProgress
from branchwise.runs.costs.prices import prices_of
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.store import open_run


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
    changed = _changed_gold(base, new)
    before, after = _scores(base), _scores(new)
    chosen = [key.strip() for key in metrics.split(",")] if metrics is not None else None
    for key in chosen or ():
        for scores in (before, after):
            if key not in (known := list(scores.aggregates["all"])):
                remedy = did_you_mean(key, known, most=2)
                problem = f"unknown metric {key[:80]!r}"
                raise InputError(problem, where="--metrics", remedy=remedy)
    result = gate(before, after, metrics=chosen, margin=margin, drop=drop)
    cautions = [*result.cautions, *changed]
    for path, scores in ((base, before), (new, after)):
        if failed := scores.counts.failed:
            cautions.append(f"{path}: {counted(failed, 'item')} failed and count 0")
    result = replace(result, cautions=tuple(cautions))
    if junit is not None:
        write_named(junit, junit_xml(result, before, new.resolve().name))
    for caution in result.cautions:
        error_console().print(f"caution: {printable(caution)}", markup=False, soft_wrap=True)
    if json_output:
        print_json({"base": str(base), "new": str(new), **result.to_json()})
    else:
        _print(result, _names(before))
    sys.exit(1 if result.is_worse else 0)


def _changed_gold(base: Path, new: Path) -> list[str]:
    """A caution where questions of both have other gold answers in the one than in the other.
    Raises InputError where one id stands for two questions."""
    before, after = _questions(base), _questions(new)
    changed = 0
    for id in before:
        if id in after and before[id].question != after[id].question:
            problem = f"question {id[:80]!r} is another one than in {base}"
            raise InputError(problem, where=str(new), remedy="give a changed question a new id")
        changed += id in after and before[id].gold_sets != after[id].gold_sets
    return [f"{counted(changed, 'question')} with other gold answers"] if changed else []


def _questions(path: Path) -> dict[str, Question]:
    with closing(open_run(path)) as run:
        if pending := (progress := run.progress())["pending"]:
            problem = f"{pending} of {progress['total']} items have not ended"
            remedy = "finish the run with `branchwise resume`"
            raise InputError(problem, where=str(path), remedy=remedy)
        return {question.id: question for question in run.questions()}


def _scores(path: Path) -> Scores:
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
    means = f"{number(difference.base)} to {number(difference.other)}"
    change = f"{means}, {signed(difference.difference)}"
    if ends := interval(difference.low, difference.high):
        change += f" {ends}"
    p = "no test" if difference.corrected_p is None else p_value(difference.corrected_p)
    lines = [f"{change} ({p}, {paired_count(difference)})"]
    if gated.verdict == "worse" or gated.power is None:
        return lines
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
    # Schemas of JUnit's reports know counts of skipped tests in a suite alone.
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    written: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return written + b"\n"
