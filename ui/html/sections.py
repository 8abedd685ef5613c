"""What the templates show, section by section."""

from collections import Counter, defaultdict
from typing import Any

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables import report_tables
from branchwise.eval.reporting.tables.results import scored_by
from branchwise.ui.html.figures import figures
from branchwise.ui.html.summary import base_words, findings, still_wrong, warnings
from branchwise.ui.html.tables import MAX_NAME, Table, laid_out
from branchwise.ui.html.text import short


def sections(report: StudyReport) -> dict[str, Any]:
    """The variables of `report.html.j2` that come from the report."""
    return {
        "facts": _facts(report),
        "base": short(report.base.name, MAX_NAME),
        "main": report.task.main.name,
        "base_words": base_words(report),
        "findings": findings(report),
        "still_wrong": still_wrong(report),
        "warnings": warnings(report),
        "tables": _tables(report),
        "figures": figures(report),
        "matcher": _matchers(report),
        "has_answers": any(one.answers for one in report.questions),
        "version": report.version,
    }


def _tables(report: StudyReport) -> dict[str, list[Table]]:
    """The tables of each section, in their order."""
    found: dict[str, list[Table]] = defaultdict(list)
    for table in report_tables(report):
        if table.section:
            found[table.section].append(laid_out(table, report.base.name))
    return found


def _matchers(report: StudyReport) -> str:
    """Who aligned branches, of all systems."""
    words = (short(scored_by(one.scores.scorer)) for one in report.systems)
    return "; ".join(dict.fromkeys(words))


def _facts(report: StudyReport) -> list[tuple[str, str]]:
    """What was compared, in a few pairs of words."""
    kinds = Counter(question.ambiguous for question in report.questions)
    questions = f"{len(report.questions):,}"
    if kinds[True] and kinds[False]:
        questions += f" ({kinds[True]:,} ambiguous, {kinds[False]:,} not)"
    facts = [
        ("questions", questions),
        ("from", short(report.source, 200)),
        ("systems", f"{len(report.systems):,}"),
        ("branches matched by", _matchers(report)),
    ]
    if report.benchmark:
        facts.insert(2, ("benchmark", short(report.benchmark, 100)))
    return facts
