"""Tables for LaTeX: what is set, and that it fits; compiled where pdfLaTeX is installed."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from branchwise.corpora.errors import InputError
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.bounds import Intervals
from branchwise.eval.reporting.tables import CellValue, Table, TableColumn, report_tables
from branchwise.eval.reporting.tables.table import subset_column, system_column
from branchwise.ui.exports.latex import COLUMN, PAGE, LatexLook, latex, latex_files, read_width
from branchwise.ui.exports.latex_fit import fitted
from branchwise.ui.exports.latex_grid import grid_of
from branchwise.ui.figures.files import figure_files
from support.needs import needs_program
from support.ui.hostile import HOSTILE_NAMES
from support.ui.latex_reading import read_latex
from support.ui.model_study import QUESTIONS as MODEL_QUESTIONS
from support.ui.model_study import model_cases
from support.ui.report_cases import BASE, EXPANDED, EXTRACTED, make_report

MEAN = Aggregate(0.75, 2, 0.5, 1.0)


def table(metrics: int = 1, rows: int = 1, name: str = "base") -> Table:
    columns = (
        system_column(),
        subset_column(),
        TableColumn("n", "n", "count"),
        *(TableColumn(f"m{n}", f"metric {n}") for n in range(metrics)),
    )
    cells: list[tuple[CellValue, ...]] = [
        (name, f"part {n}", 2, *[MEAN] * metrics) for n in range(rows)
    ]
    return Table("t", "A title", columns, tuple(cells), ("In brackets: intervals.", "Of n."))


def lines(made: Table, **look: object) -> list[str]:
    text = latex([made], LatexLook(**look))  # type: ignore[arg-type]
    return [line.strip() for line in text.splitlines()]


def test_a_mean_stands_over_its_interval() -> None:
    shown = lines(table())
    assert r"part 0 & 2 & .75 \\" in shown
    assert r"&  & {\fontsize{7}{7}\selectfont {[}.50, 1.00{]}} \\" in shown
    assert r"\caption{A title · base}" in shown
    assert shown.count(r"\begin{table*}[tp]") == 1


@pytest.mark.parametrize(
    ("intervals", "row", "note"),
    [
        ("beside", r"part 0 & 2 & .75 {\fontsize{7}{7}\selectfont {[}.50, 1.00{]}} \\", True),
        ("columns", r"part 0 & 2 & .75 & {[}.50, 1.00{]} \\", True),
        ("none", r"part 0 & 2 & .75 \\", False),
    ],
)
def test_intervals_stand_where_they_are_wanted(intervals: str, row: str, note: bool) -> None:
    shown = lines(table(), intervals=intervals)
    assert row in shown
    assert any("In brackets" in line for line in shown) is note
    assert sum(line.startswith("&") for line in shown) == 0


def test_rows_stand_in_groups_and_repeat_no_name() -> None:
    two = [(name, part, 2, MEAN) for part in ("ambiguous", "all") for name in ("a", "b")]
    shown = lines(replace(table(), rows=tuple(two)))
    assert shown.count(r"\multicolumn{3}{@{}l@{}}{\itshape ambiguous} \\") == 1
    assert [line[:4] for line in shown if line.startswith(("a &", "b &"))] == ["a & ", "b & "] * 2


def test_a_column_is_a_table_and_a_page_spans_both_columns() -> None:
    assert r"\begin{table}[tp]" in lines(table(), width=COLUMN)
    assert r"\begin{table*}[tp]" in lines(table(), width=PAGE)


def test_a_wide_table_is_set_smaller_then_in_parts() -> None:
    sizes = {n: fitted(grid_of(table(n), "below"), PAGE) for n in (2, 8, 30)}
    assert (sizes[2].size, len(sizes[2].parts)) == (8.0, 1)
    assert (sizes[8].size, len(sizes[8].parts)) == (7.0, 1)
    assert len(sizes[30].parts) > 2
    for fit in sizes.values():
        assert all(fit.width(part) <= PAGE for part in fit.parts)
    read = read_latex(latex([table(30)]))
    assert len(read.rows) == 1
    assert read.rows[0].count(".75") == 30


def test_a_change_and_its_p_value_stay_together() -> None:
    columns = [system_column()]
    for n in range(20):
        columns += [TableColumn(f"c{n}", "R", "change"), TableColumn(f"c{n}_p", "p", "p", 3)]
    wide = Table("t", "T", tuple(columns), (("a", *[0.1, 0.5] * 20),))
    for part in fitted(grid_of(wide, "below"), COLUMN).parts:
        assert [one.column.title for one in part[1:]] == ["R", "p"] * (len(part) // 2)


def test_long_texts_are_broken_in_the_width_that_is_left() -> None:
    columns = (system_column(), TableColumn("a", "about", "text"), TableColumn("n", "n", "count"))
    made = Table("t", "T", columns, (("a name " * 9, "openai:" + "x" * 80, 3),))
    text = latex([made], LatexLook(COLUMN))
    assert len(re.findall(r"p\{[\d.]+pt\}", text)) == 2
    assert r"openai:\allowbreak{}" in text


def test_addresses_of_models_are_left_to_other_files() -> None:
    columns = (system_column(), TableColumn("model", "model", "text"))
    made = Table("t", "T", columns, (("a@http://h/v1", "openai:qwen@http://127.0.0.1:8000/v1"),))
    assert read_latex(latex([made])).rows == [["", "a@http://h/v1", "openai:qwen"]]


def test_a_table_that_is_longer_than_a_page_goes_on_in_another_float() -> None:
    text = latex([table(rows=100)])
    assert text.count(r"\begin{table*}") > 2
    assert text.count(r"\label{tab:t}") == 1
    assert "(2 of " in text
    assert [row[1] for row in read_latex(text).rows] == [f"part {n}" for n in range(100)]


def test_a_file_a_table_or_one_of_all() -> None:
    tables = [table(), replace(table(), name="u"), replace(table(), printed=False)]
    files = latex_files(tables)
    assert [*files] == ["t.tex", "u.tex"]
    assert all(text.decode().startswith("% Needs") for text in files.values())
    assert latex(tables).count("% Needs") == 1


@pytest.mark.parametrize(
    ("text", "points"),
    [("column", COLUMN), ("page", PAGE), ("8.5cm", 241.85), ("3.35 in", 242.1), ("300pt", 300.0)],
)
def test_widths_are_names_or_lengths(text: str, points: float) -> None:
    assert read_width(text) == pytest.approx(points, abs=0.1)


@pytest.mark.parametrize("text", ["", "wide", "8", "8.5", "1cm", "99in", "-8cm", "8 feet", "nan"])
def test_other_widths_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a width of a table"):
        read_width(text)


CLASSES = {
    "article": ("", "page"),
    "two columns": ("[twocolumn]", "column"),
}


def compiled(folder: Path, options: str, tables: Mapping[str, bytes], extra: str = "") -> str:
    """The log of a paper with these tables, each on a page of its own: the floats of many would
    wait for one another."""
    for name, data in tables.items():
        (folder / name).write_bytes(data)
    body = "".join(f"\\input{{{Path(name).stem}}}\\clearpage\n" for name in tables)
    (folder / "paper.tex").write_text(
        f"\\documentclass{options}{{article}}\\usepackage{{array,booktabs,graphicx}}\n"
        f"\\begin{{document}}\n{body}{extra}\\end{{document}}\n"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-2000:]
    return log


def troubles(log: str) -> list[str]:
    return re.findall(r"(?:Overfull|Float too large|undefined).*", log)


@needs_program("pdflatex")
@pytest.mark.usefixtures("process")
@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("intervals", ["below", "columns"])
def test_tables_and_figures_make_a_paper_without_overfull_boxes(
    tmp_path: Path, kind: str, intervals: Intervals
) -> None:
    options, width = CLASSES[kind]
    look = LatexLook(read_width(width), intervals)
    report = make_report(model_cases(), questions=MODEL_QUESTIONS)
    figures = {name: data for name, data in figure_files(report).items() if name.endswith(".pdf")}
    for name, data in figures.items():
        (tmp_path / f"figure-{name}").write_bytes(data)
    fit = r"[width=\columnwidth,height=.9\textheight,keepaspectratio]"
    drawn = "".join(
        f"\\begin{{figure}}\\includegraphics{fit}{{figure-{name}}}\\end{{figure}}\\clearpage\n"
        for name in figures
    )
    log = compiled(tmp_path, options, latex_files(report_tables(report), look), drawn)
    assert troubles(log) == []
    assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")


@needs_program("pdflatex")
@pytest.mark.usefixtures("process")
@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
def test_whatever_systems_are_called_compiles_and_fits(tmp_path: Path, kind: str) -> None:
    options, width = CLASSES[kind]
    cases = [BASE, EXPANDED, EXTRACTED]
    names: Sequence[str] = [
        *filter(str.isascii, HOSTILE_NAMES),
        "W" * 70,
        "a much longer name of a system " * 3,
    ]
    renamed = [replace(case, name=name) for name, case in zip(names, cases * 9, strict=False)]
    tables = latex_files(report_tables(make_report(renamed)), LatexLook(read_width(width)))
    log = compiled(tmp_path, options, tables)
    assert troubles(log) == []
