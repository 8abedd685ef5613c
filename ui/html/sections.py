"""What the templates show, section by section."""

from collections import Counter
from typing import Any

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.ui.html.ceiling_figure import ceiling_figures
from branchwise.ui.html.changes import change_figures, change_table, published_changes
from branchwise.ui.html.cost_figure import cost_figure, cost_table
from branchwise.ui.html.effort import effort_figures
from branchwise.ui.html.error_figures import error_figures
from branchwise.ui.html.figures import system_legend
from branchwise.ui.html.matchers import agreement_table, matcher_scores, matcher_words
from branchwise.ui.html.score_tables import score_tables
from branchwise.ui.html.summary import base_words, findings, still_wrong, warnings
from branchwise.ui.html.systems import system_name, systems_table
from branchwise.ui.html.text import short
from branchwise.ui.html.tool_use import tool_table


def sections(report: StudyReport) -> dict[str, Any]:
    """The variables of `report.html.j2` that come from the report."""
    compared = len(report.systems) > 1
    return {
        "facts": _facts(report),
        "base": system_name(report.base),
        "base_words": base_words(report),
        "findings": findings(report),
        "still_wrong": still_wrong(report),
        "warnings": warnings(report),
        "systems": systems_table(report),
        "scores": score_tables(report),
        "changes": change_table(report) if compared else None,
        "change_figures": change_figures(report) if compared else [],
        "change_legend": system_legend(report)[1:],
        "published_changes": published_changes(report),
        "tools": tool_table(report),
        "errors": error_figures(report),
        "effort": effort_figures(report),
        "cost": cost_figure(report),
        "cost_table": cost_table(report),
        "ceilings": ceiling_figures(report),
        "agreement": agreement_table(report),
        "matcher_scores": matcher_scores(report),
        "matcher": matcher_words(report),
        "has_answers": any(one.answers for one in report.questions),
        "question_count": len(report.questions),
        "version": report.version,
    }


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
        ("branches matched by", matcher_words(report)),
    ]
    if report.benchmark:
        facts.insert(2, ("benchmark", short(report.benchmark, 100)))
    return facts
