"""Tables for LaTeX: what is set, and that it fits; compiled where pdfLaTeX is installed."""

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.eval.bootstrap import Aggregate, Intervals
from branchwise.report.figures.files import figure_files
from branchwise.report.latex import COLUMN, PAGE, LatexLook, latex, latex_files, read_width
from branchwise.report.study_report import StudyReport
from branchwise.report.table import CellValue, Table, TableColumn, subset_column, system_column
from branchwise.report.tables import report_tables
from support.needs import INSTALLED_BY, needs_program
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
    assert r"&  & {\scriptsize {[}.50, 1.00{]}} \\" in shown
    assert r"\caption{A title · base}" in shown
    assert shown.count(r"\begin{table*}[tp]") == 1


@pytest.mark.parametrize(
    ("intervals", "row", "note"),
    [
        ("beside", r"part 0 & 2 & .75 {\scriptsize {[}.50, 1.00{]}} \\", True),
        ("columns", r"part 0 & 2 & .75 & {[}.50, 1.00{]} \\", True),
        ("none", r"part 0 & 2 & .75 \\", False),
    ],
)
def test_intervals_stand_where_they_are_wanted(intervals: str, row: str, note: bool) -> None:
    shown = lines(table(), intervals=intervals)
    assert row in shown
    assert any("In brackets" in line for line in shown) is note
    assert not any(line.startswith("&") and "{[}" in line for line in shown)


def test_a_table_is_shrunk_to_its_width_where_it_is_wider() -> None:
    shown = lines(table(30), width=COLUMN)
    assert r"\resizebox{\ifdim\width>219.0pt 219.0pt\else\width\fi}{!}{%" in shown
    read = read_latex(latex([table(30)]))
    assert len(read.rows) == 1
    assert read.rows[0].count(".75") == 30


def test_long_texts_are_broken_in_the_width_that_is_left() -> None:
    columns = (system_column(), TableColumn("a", "about", "text"), TableColumn("n", "n", "count"))
    made = Table("t", "T", columns, (("a name " * 9, "openai:" + "x" * 80, 3),))
    text = latex([made], LatexLook(COLUMN))
    assert len(re.findall(r"p\{\d+em\}", text)) == 2
    assert r"openai:\allowbreak{}" in text


def test_a_table_that_is_longer_than_a_page_goes_on_in_another_float() -> None:
    text = latex([table(rows=100)])
    assert text.count(r"\begin{table*}") > 2
    assert text.count(r"\label{tab:t}") == 1
    assert "(2~of~" in text
    assert [row[1] for row in read_latex(text).rows] == [f"part {n}" for n in range(100)]


def test_a_group_is_parted_only_where_it_is_longer_than_a_page() -> None:
    rows = [(f"system {n}", part, n, MEAN) for part in ("a", "b", "c") for n in range(15)]
    text = latex([replace(table(), rows=tuple(rows))])
    groups = [re.findall(r"\\itshape (\w)", one) for one in text.split(r"\begin{table*}")[1:]]
    assert groups == [["a"], ["b"], ["c"]]
    long = [(f"system {n}", "a", 2, MEAN) for n in range(30)]
    parted = latex([replace(table(), rows=tuple(long))]).split(r"\begin{table*}")[1:]
    assert [len(re.findall(r"system \d", one)) for one in parted] == [15, 15]


def test_what_is_the_same_in_every_row_stands_in_the_caption() -> None:
    rows = [(f"system {n}", "unambiguous", 40, MEAN) for n in range(2)]
    text = latex([replace(table(), rows=tuple(rows), notes=("In p: up, p is corrected.",))])
    assert "(unambiguous questions, $n = 40$)}" in text
    assert " & 40 & " not in text
    assert r"\itshape" not in text
    assert "In $p$: up,{} $p$ is corrected." in text
    other = [*rows, ("system 2", "ambiguous", 39, MEAN)]
    text = latex([replace(table(), rows=tuple(other))])
    assert " & 39 & " in text
    assert r"\itshape ambiguous" in text
    assert "$n = " not in text


def test_floats_do_not_wait_for_a_place_without_end() -> None:
    text = latex([table(rows=600)])
    waiting = [part.count(r"\begin{table*}") for part in text.split(r"\clearpage")]
    assert len(waiting) > 2
    assert set(waiting[:-1]) == {10}


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


CLASSES: Mapping[str, tuple[str, Intervals]] = {
    r"\documentclass{article}": ("page", "columns"),
    r"\documentclass[twocolumn]{article}": ("column", "below"),
    r"\documentclass[conference]{IEEEtran}": ("252pt", "beside"),
}


@pytest.fixture(scope="module")
def study() -> StudyReport:
    return make_report(model_cases(), questions=MODEL_QUESTIONS)


@pytest.fixture(scope="module")
def figures(study: StudyReport) -> Mapping[str, bytes]:
    return {name: data for name, data in figure_files(study).items() if name.endswith(".pdf")}


def renamed() -> StudyReport:
    """Systems with every name that could harm a table."""
    names: Sequence[str] = [
        *filter(str.isascii, HOSTILE_NAMES),
        "W" * 70,
        "a much longer name of a system " * 3,
    ]
    cases = [BASE, EXPANDED, EXTRACTED] * 9
    return make_report([replace(case, name=name) for name, case in zip(names, cases, strict=False)])


def write_paper(
    folder: Path, opening: str, look: LatexLook, report: StudyReport, figures: Mapping[str, bytes]
) -> None:
    """A paper with each table on a page of its own: floats would wait for one another."""
    tables = {f"study-{name}": text for name, text in made(report, look)}
    tables |= {f"renamed-{name}": text for name, text in made(renamed(), look)}
    for name, data in {**tables, **figures}.items():
        (folder / name).write_bytes(data)
    fit = r"[width=\columnwidth,height=.9\textheight,keepaspectratio]"
    body = [f"\\input{{{Path(name).stem}}}\\clearpage" for name in tables]
    body += [
        f"\\begin{{figure}}\\includegraphics{fit}{{{name}}}\\end{{figure}}\\clearpage"
        for name in figures
    ]
    text = [opening, r"\usepackage{array,booktabs,graphicx}\begin{document}", *body]
    (folder / "paper.tex").write_text("\n".join([*text, r"\end{document}"]))


def made(report: StudyReport, look: LatexLook) -> Iterable[tuple[str, bytes]]:
    return latex_files(report_tables(report), look).items()


@pytest.mark.long
@needs_program("pdflatex")
@pytest.mark.usefixtures("process")
@pytest.mark.slow
@pytest.mark.parametrize("opening", CLASSES)
def test_tables_and_figures_make_a_paper_without_overfull_boxes(
    tmp_path: Path, opening: str, study: StudyReport, figures: Mapping[str, bytes]
) -> None:
    if "IEEE" in opening:
        needed = ["IEEEtran.cls", "ptmr7t.tfm"]
        found = subprocess.run(["kpsewhich", *needed], capture_output=True, check=False)
        if found.returncode:
            pytest.skip(f"needs IEEEtran and Times ({INSTALLED_BY})")
    width, intervals = CLASSES[opening]
    write_paper(tmp_path, opening, LatexLook(read_width(width), intervals), study, figures)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-2000:]
    assert re.findall(r"(?:Overfull|Float too large|Reference|multiply).*", log) == []
