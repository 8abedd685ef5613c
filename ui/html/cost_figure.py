"""What the systems spend, beside the recall that they get for it."""

from branchwise.eval.reporting.pareto import pareto_front
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.eval.tasks.column import capital
from branchwise.ui.cells import NOTHING
from branchwise.ui.html.figures import Figure, system_legend
from branchwise.ui.html.scatter import Spent, draw_scatter
from branchwise.ui.html.spending import COST, Spending, ratio, spending
from branchwise.ui.html.summary import metric_name
from branchwise.ui.html.systems import aggregate, main_subset, system_name
from branchwise.ui.html.tables import Cell, Row, Table, count, mean, subset_words, usd


def cost_figure(report: StudyReport) -> Figure | None:
    """None where no spending is known of all systems."""
    unit = spending(report)
    if unit is None:
        return None
    main, subset = report.task.main, main_subset(report)
    points = _points(report, unit, main.key, subset)
    if not points:
        return None
    called = metric_name(main)
    title = f"{capital(called)} on {subset_words(subset)} against {unit.words}"
    if subset != "all":
        title = title.replace(" against", " questions against")
    front = ", ".join(one.name for one in pareto_front(points))
    note = (
        f"Ringed, on the dashed line (the Pareto front): {front}. No other system has a higher "
        f"{called} for as little, or as high a one for less."
    )
    drawing = draw_scatter(title, unit.axis, called, points)
    table = Table(
        title,
        ("system", unit.axis, called),
        tuple(Row(Cell(one.name), (Cell(one.said), mean(one.recall))) for one in points),
    )
    legend = system_legend(report, [one.index for one in points])
    return Figure(title, drawing, table, note, legend)


def cost_table(report: StudyReport) -> Table:
    """Mean spending of a question by system: calls, tokens, seconds, dollars."""
    columns = ("system", "model calls", "input", "cached", "output", "seconds", "USD", "ratio")
    rows = tuple(_row(report, system) for system in report.systems)
    return Table("Spending a question", columns, rows, notes=_notes(report))


def _points(report: StudyReport, unit: Spending, metric: str, subset: str) -> list[Spent]:
    found = []
    for index, system in enumerate(report.systems):
        value, score = unit.of(system), aggregate(system, metric, subset)
        if value is not None and score.mean is not None:
            said = f"{unit.cell(value)} {unit.axis}"
            found.append(Spent(index, system_name(system), value, said, score))
    return found


def _row(report: StudyReport, system: SystemReport) -> Row:
    means = system.run.costs.per_item
    counted = bool(means["input"] or means["output"])
    tokens = [means[key] if counted else None for key in ("input", "cached", "output")]
    cells = (
        count(means["calls"]),
        *(count(value) for value in tokens),
        Cell(NOTHING if means["seconds"] is None else f"{means['seconds']:,.1f}"),
        usd(means["cost"]),
        Cell(ratio(report, system) or NOTHING),
    )
    return Row(Cell(system_name(system)), cells, "base" if system is report.base else "plain")


def _notes(report: StudyReport) -> tuple[str, ...]:
    costs = report.base.run.costs
    unit = spending(report)
    notes = ["Seconds are summed over requests; cached is a part of input."]
    if unit:
        notes.append(f"The ratio is of {unit.words}, to the base.")
    if unit is COST and costs.source:
        as_of = f" as of {costs.as_of}" if costs.as_of else ""
        notes.append(f"US dollars by {costs.source}{as_of}, or by the prices that were given.")
    missing = dict.fromkeys(
        model for system in report.systems for model in system.run.costs.unpriced
    )
    if missing:
        notes.append(f"No price is known for {', '.join(missing)}; give one with --prices FILE.")
    return tuple(notes)
