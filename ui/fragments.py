"""Parts of a page, for notebooks: tables, and one question's trace.

They take their colours from the page around them, so that they can be read on light and dark.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from branchwise.report.html.page import environment
from branchwise.report.html.tables import laid_out
from branchwise.report.table import Table
from branchwise.ui.traces.plain import plain_lines
from branchwise.ui.traces.trace import SIGNS, WORDS, AnswerLine, Trace, blocks


def tables_html(
    tables: Iterable[Table],
    bases: Collection[str] = (),
    *,
    title: str = "",
    words: Sequence[str] = (),
    folded: bool = False,
) -> str:
    """Tables as the page lays them out, below a title and lines of words."""
    laid = [laid_out(table, bases) for table in tables]
    template = environment().get_template("fragment.html.j2")
    return template.render(tables=laid, title=title, words=words, folded=folded)


def trace_html(trace: Trace, words: str) -> str:
    """The question, how it ended in `words`, its answers beside the gold, and every step, folded:
    its label opens all of it."""
    steps = [(step, [*plain_lines(blocks(trace, step.seq))]) for step in trace.steps]
    branches = [
        {
            "name": branch.name,
            "lines": [*_lines("gold", branch.gold), *_lines("answered", branch.predicted)],
        }
        for branch in trace.branches
    ]
    template = environment().get_template("fragment_trace.html.j2")
    question = trace.line.question
    return template.render(question=question, words=words, branches=branches, steps=steps)


def _lines(side: str, answers: Iterable[AnswerLine]) -> Iterator[str]:
    for answer in answers:
        why = answer.why or ("" if answer.verdict == "right" else WORDS[answer.verdict])
        yield f"{SIGNS[answer.verdict]} {side}: {answer.text}{f' ({why})' if why else ''}"
