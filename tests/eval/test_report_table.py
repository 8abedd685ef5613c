from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.judging.settle import Settled
from branchwise.eval.scores import Scores, score_items
from branchwise.eval.tasks import get_task
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.terminal.cells import mean_cell
from branchwise.report.terminal.report_table import score_tables
from branchwise.runs.costs.usage import NO_COSTS
from branchwise.runs.scoring.scored import ScoredAnswers
from support.eval.scoring_cases import item

ONE = {"default": ["A", "B"]}
TWO = {"in 1986": ["A"], "in 1995": ["B"]}


def printed(runs: Sequence[tuple[str, Scores]], width: int = 80) -> str:
    console = Console(width=width, force_terminal=False, highlight=False, legacy_windows=False)
    with console.capture() as capture:
        for report in StudyReport.by_task([system(*run) for run in runs]):
            for part in score_tables(report):
                console.print(part)
    return capture.get()


def system(name: str, scores: Scores) -> SystemReport:
    return SystemReport(name, ScoredAnswers(Path(name), scores, NO_COSTS, Settled(())))


def scores(task: str = "branches", **changes: object) -> Scores:
    items = [
        item("q1", ONE, {"default": ["A", "B"]}, shown=("p",)),
        item("q2", ONE, {"default": ["X"]}, shown=("p",)),
        item("q3", TWO, {"in 1986": ["A"], "in 1995": ["A"]}, shown=("p",), **changes),  # type: ignore[arg-type]
    ]
    return score_items(get_task(task), items)


def rows(text: str, label: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip().startswith(label)]


def test_strict_stands_beside_pooled_for_each_subset() -> None:
    text = printed([("base", scores())])
    # Ambiguous: strict 1 of 2 predicted, 1 of 2 gold; pooled: A once, 1 of 1 and 1 of 2.
    one = ["ambiguous", "1", ".50", ".50", ".00", "1.00", ".50", ".00"]
    assert rows(text, "ambiguous")[0] == one
    assert rows(text, "unambiguous")[0] == ["unambiguous", "2", *[".50"] * 6]
    assert rows(text, "all")[0] == ["all", "3", ".50", ".50", ".33", ".67", ".50", ".33"]


def test_columns_without_any_value_are_left_out() -> None:
    assert "support" not in printed([("base", scores())])


def test_one_subset_is_not_shown_twice() -> None:
    only = score_items(get_task("branches"), [item("q1", ONE, ONE)])
    text = printed([("base", only)])
    assert rows(text, "unambiguous")
    assert not rows(text, "ambiguous")
    assert not rows(text, "all ")


def test_free_text_stands_beside_citing_everything() -> None:
    answered = item("q1", TWO, TWO, shown=("p", "x"))
    branches = tuple(replace(branch, citations=("p",)) for branch in answered.question.branches)
    asked = answered.question.model_copy(update={"branches": branches})
    made = score_items(get_task("condambigqa"), [replace(answered, question=asked)])
    text = printed([("base", made)])
    citations = text[text.index("citations · base") :]
    # Nothing was cited: 0 and 0; citing both passages: 1 of 2 and 1 of 1.
    assert rows(citations, "several") == [
        ["several", "1", ".00", ".50", ".00", "1.00", ".00", ".00"]
    ]
    assert "citing every passage" in text


def test_names_are_shown_as_they_are_and_never_as_markup_or_escapes() -> None:
    text = printed([("[red]a[/red]\x1b[2J", scores()), ("[/]", scores())])
    assert "[red]a[/red]�[2J" in text
    assert "[/]" in text
    assert "\x1b" not in text


def test_the_matcher_that_is_named_is_the_one_that_aligned() -> None:
    assert "matcher: lexical" in printed([("a", scores())])
    assert "matcher: answer F1" in printed([("a", scores("condambigqa"))])


def test_a_cell_holds_mean_interval_and_its_own_n() -> None:
    assert str(mean_cell(Aggregate(0.5, 7, 0.25, 1.0), 2, 9)) == ".50\n.25–1.00\nn=7"
    assert str(mean_cell(Aggregate(-0.5, 9, -1.25, 0.25), 2, 9)) == "-.50\n-1.25 to .25"
    assert str(mean_cell(Aggregate(0.5, 1, None, None), 2, 1)) == ".50"
    assert str(mean_cell(Aggregate(None, 0, None, None), 2, 1)) == "–"


def test_the_widest_cells_are_whole_at_80_columns() -> None:
    widest = Aggregate(1.0, 3600, 1.0, 1.0)
    for name in ("branches", "condambigqa"):
        made = scores(name)
        aggregates = {
            subset: dict.fromkeys(metrics, widest) for subset, metrics in made.aggregates.items()
        }
        text = printed([("a-long-run-name", replace(made, aggregates=aggregates))])
        tables: dict[str, int] = {}
        for column in get_task(name).columns:
            tables[column.table] = tables.get(column.table, 0) + 1
        intervals = [line.count("1.00–1.00") for line in text.splitlines() if "1.00–1.00" in line]
        assert set(intervals) == set(tables.values())
        assert all(len(line) <= 80 for line in text.splitlines())
