"""The systems of a report as the page names them."""

from collections.abc import Mapping
from typing import Any

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.eval.reporting.tables import results
from branchwise.eval.scores import Scorer
from branchwise.ui.html.tables import Cell, Row, Table
from branchwise.ui.html.text import short

MAX_NAME = 120
_SUBSETS = ("unambiguous", "ambiguous")


def system_name(system: SystemReport) -> str:
    """Its name, bounded."""
    return short(system.name, MAX_NAME)


def subsets(report: StudyReport) -> list[str]:
    """Non-ambiguous and ambiguous questions, as far as there are any."""
    return [s for s in _SUBSETS if any(one.scores.questions(s) for one in report.systems)]


def main_subset(report: StudyReport) -> str:
    """The ambiguous questions, which the report is about; all where there is none."""
    return "ambiguous" if "ambiguous" in subsets(report) else "all"


def aggregate(system: SystemReport, metric: str, subset: str) -> Aggregate:
    """A mean of the system; one of nothing where its task has no such metric."""
    return system.scores.aggregates[subset].get(metric, Aggregate(None, 0, None, None))


def changes_words(changes: Mapping[str, Any]) -> str:
    """ "expand: on, k: 15": what a system changes of the base, bounded."""
    return short(results.changes_words(changes))


def scorer_words(scorer: Scorer) -> str:
    """Who aligned branches and accepted answers."""
    return short(results.scored_by(scorer))


def systems_table(report: StudyReport) -> Table:
    """A row a system: what it changes, its models, and how its items ended."""
    return Table(
        "Systems",
        ("system", "differs from the base in", "models", "items", "answered", "failed", "not run"),
        tuple(_row(system, system is report.base) for system in report.systems),
        words=(1, 2),
        notes=(
            "An item is a question in one epoch. A failed item counts 0; one that has not been "
            "run to its end counts nowhere.",
            *(short(note, 300) for note in results.left_out_notes(report)),
        ),
    )


def _row(system: SystemReport, is_base: bool) -> Row:
    counts = system.scores.counts
    changes = changes_words(system.changes)
    texts = [
        changes or ("it is the base" if is_base else "–"),
        _models(system) or "–",
        *(f"{n:,}" for n in (counts.items, counts.answered, counts.failed, counts.pending)),
    ]
    cells = tuple(Cell(text) for text in texts)
    return Row(Cell(system_name(system)), cells, "base" if is_base else "plain")


def _models(system: SystemReport) -> str:
    roles: dict[str, list[str]] = {}
    for role in system.run.costs.roles:
        roles.setdefault(short(role.model, 100), []).append(short(role.role, 40))
    if len(roles) == 1:
        return next(iter(roles))
    return "; ".join(f"{model} ({', '.join(named)})" for model, named in roles.items())
