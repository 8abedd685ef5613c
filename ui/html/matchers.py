"""How far the matchers agree: names alone, and a model."""

from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.eval.scores import Scores
from branchwise.ui.cells import number
from branchwise.ui.html.systems import scorer_words, subsets, system_name
from branchwise.ui.html.tables import Cell, Row, Table, mean, subset_words


def agreement_table(report: StudyReport) -> Table | None:
    """A row a system that both matchers aligned; None where there is none."""
    rows = tuple(row for system in report.systems if (row := _agreement_row(system)))
    if not rows:
        return None
    columns = (
        "system", "branch pairs", "same", "Cohen's kappa", "names only", "model only",
        "questions that differ",
    )  # fmt: skip
    note = (
        "Pairs of a predicted and a gold branch. Same: both matchers align the pair, or neither "
        "does. Kappa is 1 for full agreement and 0 for what chance would give."
    )
    return Table("Names and model agree on", columns, rows, notes=(note,))


def matcher_scores(report: StudyReport) -> Table | None:
    """Recall as either matcher sees it; None where only one was asked."""
    both = [system for system in report.systems if system.run.lexical]
    if not both:
        return None
    chosen, recall = subsets(report), report.task.main.key
    rows = []
    for system in both:
        assert system.run.lexical is not None
        rows.append(Row(Cell(system_name(system)), kind="group"))
        rows.append(_score_row(system.run.lexical, recall, chosen))
        rows.append(_score_row(system.scores, recall, chosen))
    columns = ("matcher", *(subset_words(subset) for subset in chosen))
    return Table("Recall by matcher", columns, tuple(rows))


def matcher_words(report: StudyReport) -> str:
    """Who aligned branches, of all systems."""
    return "; ".join(dict.fromkeys(scorer_words(one.scores.scorer) for one in report.systems))


def _agreement_row(system: SystemReport) -> Row | None:
    found = system.run.settled.agreement
    if found is None:
        return None
    kappa = "undefined" if found.kappa is None else number(found.kappa)
    texts = (
        f"{found.pairs:,}",
        number(found.observed),
        kappa,
        f"{found.lexical_only:,}",
        f"{found.llm_only:,}",
        f"{len(found.differences):,} of {found.questions:,}",
    )
    return Row(Cell(system_name(system)), tuple(Cell(text) for text in texts))


def _score_row(scores: Scores, metric: str, chosen: list[str]) -> Row:
    cells = tuple(mean(scores.aggregates[subset][metric]) for subset in chosen)
    return Row(Cell(scorer_words(scores.scorer)), cells)
