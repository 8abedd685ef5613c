"""A report's tables as Markdown, CSV and LaTeX."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from branchwise.eval.bootstrap import Aggregate
from branchwise.report import exports, latex
from branchwise.report.exports import csv_files, guarded
from branchwise.report.html.tables import laid_out
from branchwise.report.study_report import StudyReport
from branchwise.report.table import CellValue, ChangeCell, Table, TableColumn, one_line, row_texts
from branchwise.report.tables import report_tables
from support.ui.hostile import HOSTILE_NAMES
from support.ui.report_cases import BASE, make_report


@pytest.fixture(scope="module")
def report() -> StudyReport:
    return make_report()


@pytest.fixture(scope="module")
def tables(report: StudyReport) -> tuple[Table, ...]:
    return report_tables(report)


def named(text: str) -> Table:
    return Table(
        "t", text, (TableColumn("s", text, "text"), TableColumn("v", "v")), ((text, 0.5),), (text,)
    )


def cells(table: Table) -> list[list[str]]:
    return [
        [" ".join(filter(None, (one.text, one.interval, one.n))) for one in row]
        for row in row_texts(table)
    ]


def test_numbers_are_shown_as_papers_print_them() -> None:
    columns = (
        TableColumn("system", "system", "text"), TableColumn("n", "n", "count"),
        TableColumn("r", "R"), TableColumn("d", "d", "change"), TableColumn("p", "p", "p", 3),
        TableColumn("t", "t", "tokens"), TableColumn("s", "s", "seconds"),
        TableColumn("c", "c", "usd"),
    )  # fmt: skip
    rows: tuple[tuple[CellValue, ...], ...] = (
        (
            "a", 1200, Aggregate(0.714, 1200, 0.6, 1.0), Aggregate(-0.034, 1200, -0.1, 0.03),
            0.0004, 1234567, 0.0174, 0.0035,
        ),
        ("b", 3, Aggregate(1.0, 2, None, None), 0.0, 0.5, 2.5, 123.44, 0),
        ("c", 0, Aggregate(None, 0, None, None), None, 1.0, None, None, None),
    )  # fmt: skip
    assert cells(Table("t", "t", columns, rows)) == [
        ["a", "1,200", ".71 [.60, 1.00]", "-.03 [-.10, .03]", "<.001", "1,234,567", ".02", ".0035"],
        ["b", "3", "1.00 n=2", "±.00", ".500", "2.5", "123.4", "0"],
        ["c", "0", "–", "–", "1", "–", "–", "–"],
    ]


def test_changes_stand_with_their_mark_and_columns_under_their_group() -> None:
    columns = (
        TableColumn("model", "model", "text", is_key=True),
        TableColumn("e_r", "R", "change", group="+e"),
        TableColumn("k_r", "R", "change", group="k & more"),
        TableColumn("k_em", "EM", "change", group="k & more"),
    )
    rows: tuple[tuple[CellValue, ...], ...] = (
        ("m", ChangeCell(0.21, 0.049), ChangeCell(-0.1, 0.05), ChangeCell(0.0, 1.0)),
        ("n", ChangeCell(-0.3, 0.0004), None, ChangeCell(None, None)),
    )
    table = Table("t", "t", columns, rows)
    assert exports.markdown(make_report([BASE]), [table]).splitlines()[-5:-1] == [
        "| model | +e: R | k &amp; more: R | k &amp; more: EM |",
        "| --- | ---: | ---: | ---: |",
        "| m | +.21 ▲ | -.10 | ±.00 |",
        "| n | -.30 ▼ | – | – |",
    ]
    made = latex.latex([table])
    assert r"\multicolumn{1}{c}{} & \multicolumn{1}{c}{+e} & \multicolumn{2}{c}{k \& more}" in made
    assert r"\cmidrule(lr){2-2} \cmidrule(lr){3-4}" in made
    assert r"m & +.21 $\bigtriangleup$ & $-$.10 & $\pm$.00" in made
    assert r"n & $-$.30 $\bigtriangledown$ & -- & --" in made
    heading, first, second = csv_files([table])["t.csv"].decode().splitlines()
    assert heading == '"model","e_r","e_r_p_holm","k_r","k_r_p_holm","k_em","k_em_p_holm"'
    assert (first, second) == ('"m",0.21,0.049,-0.1,0.05,0.0,1.0', '"n",-0.3,0.0004,,,,')
    page = laid_out(table)
    assert page.groups == (("+e", 1), ("k & more", 2))
    assert [cell.text for row in page.rows for cell in row.cells] == [
        "+.21 ▲", "-.10", "±.00", "-.30 ▼", "–", "–",
    ]  # fmt: skip


def test_csv_lines_end_as_the_standard_says_and_texts_are_quoted() -> None:
    columns = (TableColumn("s", "s", "text"), TableColumn("v", "v", "change"))
    table = Table("t", "t", columns, (('a "b", c\nd', -0.25), (None, None)))
    assert csv_files([table])["t.csv"] == b'"s","v"\r\n"a ""b"", c d",-0.25\r\n,\r\n'


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", "\n@", "＝", "＋", "－", "＠"])
def test_no_text_in_a_csv_file_is_a_formula(start: str) -> None:
    text = f'{start}HYPERLINK("http://x","y")'
    assert guarded(text) == "'" + one_line(text)
    data = csv_files([named(text)])
    for content in data.values():
        for row in csv.reader(io.StringIO(content.decode(), newline="")):
            assert not any(re.match(r"\s*[=+@＝＋－＠-]\D", cell) for cell in row)


@given(st.text(), st.text())
def test_guarded_texts_stay_different(one: str, other: str) -> None:
    assert (guarded(one) == guarded(other)) == (one_line(one) == one_line(other))


@pytest.mark.parametrize("text", HOSTILE_NAMES)
def test_markdown_shows_any_text_as_it_is(report: StudyReport, text: str) -> None:
    shown = exports.markdown(report, [named(text)])
    tokens = (
        MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(shown)
    )
    inline = [token for token in tokens if token.type == "inline"]
    assert {token.type for token in tokens}.isdisjoint({"html_block", "code_block", "fence"})
    for token in inline:
        kinds = {child.type for child in token.children or []}
        assert kinds <= {"text", "text_special"}, token.content
    plain = ["".join(child.content for child in token.children or []) for token in inline]
    # The title, the heading of the first column, its cell, the note.
    assert plain.count(text) == 4


def test_markdown_breaks_no_address_into_a_link() -> None:
    assert exports.escape("see http://x.org, www.x.org, :tada:") == (
        r"see http\://x.org, www\.x.org, \:tada:"
    )


@given(st.text())
def test_latex_leaves_no_character_special(text: str) -> None:
    escaped = latex.escape(text)
    rest = re.sub(r"\\(text[a-z]+|char34|ldots)\{\}|\\[{}$&#_%]|\{[\[\]*]\}|[-',]\{\}", "", escaped)
    assert not set("\\{}$&#_%~^\"`[]*<>|'") & set(rest)
    assert "\n" not in escaped


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("50% & $1 #2 a_b", r"50\% \& \$1 \#2 a\_b"),
        ("^^M~", r"\textasciicircum{}\textasciicircum{}M\textasciitilde{}"),
        ("[2em]", "{[}2em{]}"),
        ("a--b", "a-{}-{}b"),
        ("a\nb\x00", "a b?"),
    ],
)
def test_latex_escapes(text: str, escaped: str) -> None:
    assert latex.escape(text) == escaped
