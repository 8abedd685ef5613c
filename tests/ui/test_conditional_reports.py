"""What reports show of conditional answers, and one file of runs of several tasks."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from branchwise import System, run
from branchwise.report.figures.errors import error_counts
from branchwise.report.figures.files import absent_figures
from branchwise.report.html.page import render_html, render_reports
from branchwise.report.run_folders import report_of_runs, reports_of_tasks
from branchwise.report.study_report import StudyReport
from branchwise.report.table import Table
from branchwise.report.tables import report_tables
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.scoring.scored import ScoredAnswers
from support.conditions.cases import WORKED, WORKED_RELATIONS, conditions_file

BRANCHES = [{"id": "b1", "question": "Who?", "answers": {"default": ["Ann"]}}]
SENTENCES = [
    {"id": "c1", "question": "When?", "answers": {"last": ["In May."]}, "passages": [
        {"id": "p", "title": "T", "text": "In May."}]}
]  # fmt: skip
VERDICTS = [{"id": "v1", "question": "Who?", "ambiguous": True}]


def read(path: Path) -> ScoredAnswers:
    return score_answers(path, ScoringSettings(saves=False))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of five tasks in a folder each, of the worked example two."""
    root = tmp_path_factory.mktemp("runs")
    for task, lines in (
        ("branches", BRANCHES), ("condambigqa", SENTENCES), ("ambiguity", VERDICTS),
        ("clarification", BRANCHES),
    ):  # fmt: skip
        file = root / f"{task}.jsonl"
        file.write_text("\n".join(map(json.dumps, lines)))
        run(str(file), System(), out=root / task, task=task)
    worked = f"mdcr:{conditions_file(root / 'q.json', WORKED, WORKED_RELATIONS)}"
    run(worked, System(), out=root / "mdcr")
    run(worked, System(shots=1, reasoning="steps", hints="all"), out=root / "mdcr-all")
    return root


@pytest.fixture(scope="module")
def report(runs: Path) -> StudyReport:
    return report_of_runs([(name, read(runs / name)) for name in ("mdcr", "mdcr-all")])


@pytest.fixture(scope="module")
def tables(report: StudyReport) -> dict[str, Table]:
    return {table.name: table for table in report_tables(report)}


def cells(table: Table, **wanted: Any) -> dict[str, Any]:
    """The only row with these values."""
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    (found,) = (row for row in rows if wanted.items() <= row.items())
    return found


@pytest.mark.slow
def test_strategies_stand_in_rows_and_hints_in_columns(
    report: StudyReport, tables: dict[str, Table]
) -> None:
    assert {"published-types", "published-errors"} <= tables.keys()
    assert tables["published-strategies"].rows[0][0] == "measured"
    table = tables["strategies"]
    assert {column.group for column in table.columns if column.group} == {"no hints", "all hints"}
    plain = cells(table, strategy="0-shot")
    steps = cells(table, strategy="1-shot, steps")
    for system, row, slug in zip(report.systems, (plain, steps), ("no", "all"), strict=True):
        for key in ("short_accuracy", "exact_f1", "relaxed_f1"):
            assert row[f"{slug}-hints_{key}"] == system.mean(key, "all").mean
    assert plain["all-hints_exact_f1"] is None


@pytest.mark.slow
def test_errors_are_counted_by_class_and_type(
    report: StudyReport, tables: dict[str, Table]
) -> None:
    system = report.systems[0]
    found = cells(tables["items"], system="mdcr")
    assert found["items"] == 3
    counted = error_counts(system.run, "all")
    types = [one.key for one in system.run.error_classes.types]  # type: ignore[union-attr]
    assert [found[f"items_{key}"] for key in types] == [counted.with_error[k] for k in types]
    errors = {key for one in system.run.errors for key in one.found}
    assert errors
    assert all(found[f"items_{key}"] for key in errors)
    page = render_html(report)
    assert "What is wrong with answers, as they and the gold ones tell" in page
    assert "followed back through the trace" not in page


@pytest.mark.slow
def test_each_task_has_a_section_and_says_what_it_has_nothing_for(runs: Path) -> None:
    names = ("branches", "condambigqa", "ambiguity", "clarification", "mdcr", "mdcr-all")
    reports = reports_of_tasks([(name, read(runs / name)) for name in names])
    assert [one.title for one in reports] == [*names[:-1]]
    page = render_reports(reports, "four benchmarks")
    sections = re.split(r"<article id=\"([^\"]+)\">", page)[1:]
    found = dict(zip(sections[::2], sections[1::2], strict=True))
    assert [*found] == [*names[:-1]]
    for report in reports:
        text = found[report.title]
        absent = list(absent_figures(report))
        assert absent
        for title, why in absent:
            assert f"<b>{title}</b>: {why}." in text
    assert "<b>ceilings</b>: answers of this task are not entities" in found["mdcr"]
    assert "<b>errors by class</b>: answers of this task are not examined" in found["condambigqa"]
    assert "<b>errors by class</b>" not in found["mdcr"]
    ids = re.findall(r'<\w+ [^>]*\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert "https:" not in page


@pytest.mark.slow
def test_files_of_several_tasks_are_one_or_in_folders_of_their_own(
    runs: Path, tmp_path: Path, type_in: Any
) -> None:
    folders = [runs / name for name in ("branches", "ambiguity", "mdcr")]
    code, _, error = type_in(
        "report", *folders, "--html", tmp_path / "r.html", "--markdown", tmp_path / "r.md",
        "--latex", tmp_path / "r.tex", "--csv", tmp_path / "csv",
    )  # fmt: skip
    assert code == 0, error
    assert "not comparable" not in error
    headings = re.findall(r"^# (.*)$", (tmp_path / "r.md").read_text(), re.MULTILINE)
    assert headings == ["branches", "ambiguity", "mdcr"]
    labels = re.findall(r"\\label\{([^}]*)\}", (tmp_path / "r.tex").read_text())
    assert len(labels) == len(set(labels))
    assert {path.name for path in (tmp_path / "csv").iterdir()} == {*headings}
    assert (tmp_path / "csv/mdcr/crossed.csv").is_file()


def test_errors_of_many_systems_stand_in_several_tables(
    runs: Path, tmp_path: Path, type_in: Any
) -> None:
    names = [f"shots={n}, reasoning=steps, hints=documents" for n in range(4)]
    folders = [shutil.copytree(runs / "mdcr", tmp_path / name) for name in names]
    code, out, _ = type_in("report", *folders, "--full")
    assert code == 0
    tables = out.partition("an item is")[0].split("items by error")[1:]
    assert [table.count("hints=documents") for table in tables] == [3, 1]
    lines = "".join(tables).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("  incomplete") for line in lines)


def test_benchmarks_are_listed_with_what_one_must_know(type_in: Any) -> None:
    code, out, _ = type_in("benchmarks", "list")
    assert (code, out.count("licence")) == (0, 5)
    code, out, _ = type_in("benchmarks", "list", "--json")
    told = {one["name"]: one for one in json.loads(out)}
    assert {*told} == {"ambignq", "cambignq", "condambigqa", "deepambigqa", "mdcr"}
    keys = {"tasks", "sizes", "source", "licence", "get", "cost", "page"}
    assert all(keys <= one.keys() for one in told.values())
