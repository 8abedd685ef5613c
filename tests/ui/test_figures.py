"""A report's figures: SVG that is parsed, the same each time, with every name as text."""

import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from branchwise.eval.bootstrap import Aggregate
from branchwise.report.figures.changes import change_figures
from branchwise.report.figures.cost import cost_figure, draw_cost
from branchwise.report.figures.drawing import (
    add_legend,
    legend_height,
    line_look,
    new_figure,
    paper_style,
    saved,
)
from branchwise.report.figures.files import figure_files
from branchwise.report.figures.lines import Lines, Series, draw_lines
from branchwise.report.study_report import StudyReport
from support.ui.report_cases import BASE, EXTRACTED, Case, factorial, make_report
from support.ui.svg_figures import svg_files

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
NAMES = (
    "changes", "errors", "error-classes", "recall-by-calls", "retrieved-by-calls",
    "recall-by-branches", "recall-by-steps", "cost", "ceilings",
)  # fmt: skip


ALL = {f"{name}.{kind}" for name in NAMES for kind in ("svg", "pdf", "png")} | {"captions.txt"}


@pytest.fixture(scope="module")
def report() -> StudyReport:
    return make_report()


@pytest.fixture(scope="module")
def files(report: StudyReport) -> dict[str, bytes]:
    return figure_files(report)


def texts(svg: bytes) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(found.itertext()) for found in root.iter(f"{SVG}text")]


@pytest.mark.long
def test_every_figure_is_drawn_in_one_column(files: dict[str, bytes]) -> None:
    assert set(files) == ALL
    for name, data in files.items():
        if name.endswith(".svg"):
            root = ElementTree.fromstring(data)
            assert root.tag == f"{SVG}svg"
            assert root.attrib["width"] == "241.2pt"  # 3.35 inches
            assert texts(data)


@pytest.mark.long
def test_figures_are_the_same_bytes_whatever_the_users_settings(
    report: StudyReport, files: dict[str, bytes]
) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.grid": True}):
        assert figure_files(report) == files
        assert mpl.rcParams["font.size"] == 30
    assert b"<dc:date>" not in files["changes.svg"]


def test_figures_ask_for_nothing_outside_themselves(files: dict[str, bytes]) -> None:
    for name, data in files.items():
        if name.endswith(".svg"):
            for element in ElementTree.fromstring(data).iter():
                assert element.tag not in (f"{SVG}script", f"{SVG}image", f"{SVG}a")
                assert element.attrib.get(LINK, "#").startswith("#")


def test_figures_are_pdf_and_png_too(files: dict[str, bytes]) -> None:
    for name in NAMES:
        assert files[f"{name}.pdf"].startswith(b"%PDF")
        assert b"/Type3" not in files[f"{name}.pdf"]
        width = int.from_bytes(files[f"{name}.png"][16:20], "big")
        assert files[f"{name}.png"].startswith(b"\x89PNG")
        assert width == 1005  # 3.35 inches of 300 dots


def test_points_of_few_questions_are_hollow_and_joined_by_no_line() -> None:
    means = [(Aggregate(0.1 * n, n, None, None), n) for n in (9, 5, 4, 7)]
    lines = Lines("x", "X", "x", "y", ("1", "2", "3", "4"), (Series(0, "s", tuple(means)),), "")
    assert [lines.joins(mean) for mean in means] == [True, True, False, True]
    with paper_style():
        shown = saved(draw_lines(lines), "svg").decode()
        curve = saved(draw_lines(replace(lines, is_curve=True)), "svg").decode()
    alone = r'<use [^>]*style="fill: #ffffff; fill-opacity: 0.6'
    assert len(re.findall(alone, shown)) == 1
    assert not re.findall(alone, curve)
    joined = r'<path d="([^"]*)" style="fill: none; stroke: #000000; stroke-linecap: square"'
    line, _of_legend = re.findall(joined, shown)
    assert len(re.findall("[ML]", line)) == 3


HOSTILE = (
    "$x$ and $y_1$", "<script>alert(1)</script>", "_hidden", "a & b --> c ]]>", r"\frac{1}{2} \x",
    "日本語 مرحبا", "a\nb\x00\x1b[31m\u202e", "x" * 5000,
)  # fmt: skip
SHOWN = {*HOSTILE[:-2], "a b\ufffd\ufffd[31m\ufffd", "x" * 23 + "…" + "x" * 23 + "…"}


def test_any_name_shows_as_text() -> None:
    cases = [replace(case, name=name) for name, case in zip(HOSTILE, [BASE] * 8, strict=True)]
    files = svg_files(make_report(cases))
    for name in ("recall-by-steps.svg", "cost.svg", "retrieved-by-calls.svg"):
        assert set(texts(files[name])) >= SHOWN
    for name in ("errors.svg", "ceilings.svg"):
        # Beside a row, a name is on several lines.
        joined = "".join(texts(files[name])).replace(" ", "")
        assert all(text.replace(" ", "") in joined for text in SHOWN)


def test_a_figure_without_anything_to_show_is_left_out(report: StudyReport) -> None:
    alone = set(svg_files(make_report([BASE])))
    # Every question took two calls.
    left_out = ("changes", "recall-by-calls")
    assert alone == {f"{name}.svg" for name in NAMES if name not in left_out} | {"captions.txt"}
    systems = tuple(replace(s, run=replace(s.run, analysis=None)) for s in report.systems)
    sentences = set(svg_files(replace(report, systems=systems)))
    assert sentences == {"changes.svg", "cost.svg", "captions.txt"}


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = (
        "import sys, branchwise.commands.report, branchwise.report.figures.files; "
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.long
def test_more_systems_than_colours_are_drawn() -> None:
    cases = [BASE] + [replace(EXTRACTED, name=f"system {n}") for n in range(15)]
    files = svg_files(make_report(cases))
    assert "system 14" in texts(files["errors.svg"])
    assert len(files["retrieved-by-calls.svg"]) < 500_000


@pytest.mark.parametrize("letters", [1, 2, 4, 6, 8, 12, 13, 14, 23, 24, 48])
def test_a_legend_is_no_wider_than_the_figure(letters: int) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.lines import Line2D

    labels = [f"{n % 10}" + "n" * (letters - 1) for n in range(20)]
    with paper_style():
        figure, _ = new_figure(2 + legend_height(labels))
        add_legend(figure, [Line2D([], [], **line_look(n)) for n in range(20)], labels)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        (legend,) = figure.legends
        box, whole = legend.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0
    assert box.x1 <= whole.x1


def test_effects_of_a_factorial_study_are_drawn() -> None:
    svg = figure_files(make_report(factorial()))["effects.svg"]
    assert {"+expansion", "+extraction", "effect", "strict R"} <= {*texts(svg)}


def test_figures_are_of_the_chosen_tables_and_metrics() -> None:
    study = make_report(factorial())
    chosen = figure_files(study, ["effects", "missing"], ["strict_em"])
    assert {name.partition(".")[0] for name in chosen} == {"effects", "errors", "captions"}
    panels = {"strict P", "strict R", "strict EM"}
    assert panels & {*texts(chosen["effects.svg"])} == {"strict EM"}
    # The other figures show the main metric, strict recall.
    assert "cost.svg" not in figure_files(study, (), ["strict_em"])
    assert figure_files(study, ["results"]) == {}


def test_metrics_that_are_the_same_for_every_question_share_a_panel() -> None:
    gold = (("q1", {"default": ["Mann"]}, 2), ("q2", {"default": ["Nolan"]}, 2))
    right = {"q1": {"default": ["Mann"]}, "q2": {"default": ["Nolan"]}}
    seen = {"Mann": 1, "Nolan": 1}
    cases = (Case("base", {"q1": right["q1"]}, seen), Case("better", right, seen))
    study = make_report(cases, questions=gold)
    (change,) = change_figures(study)
    assert change.title == (
        "Strict precision, strict recall and strict EM: change against the base"
    )
    assert study.alike_notes == (
        "Strict P, strict R and strict EM are the same for every question.",
    )
    # Both questions have one branch: a bin is no comparison.
    files = figure_files(study, ["changes", "by-branches", "by-steps"])
    assert {name.partition(".")[0] for name in files} == {"changes", "captions"}
    assert study.alike_notes[0] in files["captions.txt"].decode()


def test_of_markers_on_each_other_the_later_is_larger_and_behind() -> None:
    cases = [BASE, replace(BASE, name="same"), replace(EXTRACTED, model=BASE.model)]
    cost = cost_figure(make_report(cases))
    assert cost
    with paper_style():
        (axes,) = draw_cost(cost).figure.axes
    marks = [line for line in axes.get_lines() if line.get_gid()]
    assert [line.get_markersize() for line in marks] == [5, 8, 5]
    assert marks[1].get_zorder() < marks[0].get_zorder()
