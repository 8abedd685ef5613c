"""Parts of a page, for notebooks: tables, and one question's trace."""

from collections.abc import Collection, Iterable

from branchwise.report.html.page import environment
from branchwise.report.html.tables import laid_out
from branchwise.report.table import Table
from branchwise.ui.traces.plain import gold_lines, plain_lines
from branchwise.ui.traces.trace import Trace, blocks


def tables_html(tables: Iterable[Table], bases: Collection[str] = ()) -> str:
    """Tables as the page lays them out, with the little style that they need."""
    laid = [laid_out(table, bases) for table in tables]
    return environment().get_template("fragment.html.j2").render(tables=laid)


def trace_html(trace: Trace) -> str:
    """The question, its gold answers, and every step, folded: its label opens all of it."""
    steps = [(step, [*plain_lines(blocks(trace, step.seq))]) for step in trace.steps]
    gold = [*gold_lines(trace.gold, trace.gold_set)]
    template = environment().get_template("fragment_trace.html.j2")
    return template.render(question=trace.line.question, gold=gold, steps=steps)
