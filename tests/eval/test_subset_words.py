"""What reports call the subsets of the questions: the task says."""

from dataclasses import replace

import pytest

from branchwise.eval.tasks import get_task
from branchwise.report.html.page import render_html
from branchwise.report.tables import report_tables
from branchwise.ui.trace_app.bars import in_words
from branchwise.ui.traces.lines import Arrangement
from support.ui.report_cases import make_report
from support.ui.svg_figures import svg_files


@pytest.mark.slow
def test_every_table_asks_the_task() -> None:
    own = make_report()
    task = get_task("branches")
    words = {"all": "all", "ambiguous": "several", "unambiguous": "one condition"}

    class Told(type(task)):  # type: ignore[misc]
        subset_words = words

    told = replace(own, task=Told())
    for before, after in zip(report_tables(own), report_tables(told), strict=True):
        if (index := before.index("subset")) is not None:
            assert [words[str(row[index])] for row in before.rows] == [
                row[index] for row in after.rows
            ]
    figures = b"".join(svg_files(told).values())
    assert b"one condition questions" in figures
    assert b"ambiguous questions" not in figures
    page = render_html(told)
    assert '<option value="0">one condition</option>' in page
    assert " on 2 one condition questions" in page


def test_condambigqas_are_told_by_their_conditions() -> None:
    task = get_task("condambigqa")
    assert [task.questions_words(name) for name in task.subset_words] == [
        "all questions",
        "questions with several conditions",
        "questions with one condition",
    ]


@pytest.mark.long
def test_the_trace_app_and_the_page_speak_the_tasks_words() -> None:
    how = Arrangement(subset="unambiguous")
    assert in_words(how, 1, 3, task="condambigqa").startswith("1 of 3 questions: one condition")
    assert in_words(how, 1, 3, task="branches").startswith("1 of 3 questions: unambiguous")
    page = render_html(make_report())
    assert "is <b>ambiguous</b>" in page

    class Sentences(type(get_task("branches"))):  # type: ignore[misc]
        is_attributable = False

    assert "is <b>ambiguous</b>" not in render_html(replace(make_report(), task=Sentences()))
