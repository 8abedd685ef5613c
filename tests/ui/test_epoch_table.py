"""The table of spread over epochs, as a terminal shows it."""

from dataclasses import replace

from rich.console import Console

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.epochs import EpochSpread, MetricSpread
from branchwise.eval.tasks import get_task
from branchwise.report.study_report import StudyReport
from branchwise.report.tables import terminal_tables
from branchwise.report.terminal.report_table import with_notes
from support.ui.report_cases import BASE, Case, make_report

METRICS = {
    **{column.key: MetricSpread(0) for column in get_task("branches").headline},
    "strict_precision": MetricSpread(8, 0.1, 0.02, 0.6, 0.5),
    "strict_recall": MetricSpread(8, 0.25, 0.125, 0.75, 0.5),
    "strict_em": MetricSpread(0),
}
UNION = {
    "union_recall": Aggregate(0.875, 8, None, None),
    "mean_recall": Aggregate(0.625, 8, None, None),
}
SPREAD = EpochSpread(3, dict.fromkeys(("all", "ambiguous", "unambiguous"), METRICS), {"all": UNION})


def shown(*cases: Case, spread: EpochSpread | None = SPREAD) -> list[str]:
    report = make_report(cases)
    systems = []
    for one in report.systems:
        analysis = replace(one.run.analysis)  # type: ignore[type-var]
        analysis.__dict__["epochs"] = spread  # as if it had been worked out
        systems.append(replace(one, run=replace(one.run, analysis=analysis)))
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        for table in terminal_tables(StudyReport.beside(systems)):
            for part in with_notes(table):
                console.print(part)
    return [" ".join(line.split()) for line in captured.get().splitlines()]


def test_a_row_a_metric_and_what_asking_again_finds() -> None:
    lines = shown(BASE)
    assert "spread over epochs · base" in lines
    assert lines.count("strict R 8 3 .250 .125 .75 .50 –") == 3  # ambiguous, unambiguous, all
    assert "strict EM 0 3 – – – – –" in lines
    assert "All epochs together find .88 of the gold answers, one finds .63." in " ".join(lines)
