"""All outputs of one report, held against each other: numbers, units, notes and order.

Each is read back from what a person or a program gets, by a reader that knows nothing of how it was
made: the terminal's text, the page, Markdown, LaTeX, CSV, the figures' SVG and captions.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from html import unescape
from xml.etree import ElementTree

import pytest
from rich.console import Console

from branchwise.eval.errors.labels import ANSWER_ERRORS
from branchwise.report.exports import csv_files, guarded, markdown
from branchwise.report.figures.changes import change_figures
from branchwise.report.figures.cost import cost_figure, pareto_front
from branchwise.report.figures.errors import error_shares
from branchwise.report.figures.lines import ceilings, line_figures
from branchwise.report.figures.losses import losses
from branchwise.report.html.figures import figures
from branchwise.report.html.page import render_html
from branchwise.report.latex import LatexLook, latex, latex_files, read_width
from branchwise.report.tables import report_tables
from branchwise.report.terminal.run_report import run_report
from support.ui.latex_reading import read_latex, said
from support.ui.model_study import QUESTIONS as MODEL_QUESTIONS
from support.ui.model_study import model_cases
from support.ui.page_reading import Page, words
from support.ui.report_cases import (
    BASE,
    EXPANDED,
    EXTRACTED,
    QUESTIONS,
    Case,
    factorial,
    make_report,
)
from support.ui.svg_figures import svg_files

pytestmark = pytest.mark.slow

CASES: dict[str, Sequence[Case]] = {
    "plain": (BASE, EXPANDED),
    "one unpriced": (BASE, EXPANDED, EXTRACTED),
    "two equal": (BASE, replace(BASE, name="twin", changes={"k": 9}), EXPANDED),
    "cheap": (replace(BASE, tokens=37), replace(EXPANDED, tokens=41)),
    "several models": model_cases(),
    "factorial": factorial(),
}
_SUFFIXES = {"k": 1e3, "M": 1e6, "B": 1e9}
Tokens = Counter[str]


class Outputs:
    """Everything that is made of a report."""

    def __init__(self, cases: Sequence[Case]) -> None:
        asked = MODEL_QUESTIONS if cases[0].place[0] else QUESTIONS
        self.report = make_report(cases, questions=asked)
        self.tables = report_tables(self.report)

    @cached_property
    def page(self) -> Page:
        return Page(render_html(self.report))

    @cached_property
    def figures(self) -> dict[str, str]:
        return {name: unescape(data.decode()) for name, data in svg_files(self.report).items()}

    @cached_property
    def csv(self) -> dict[str, list[dict[str, str]]]:
        """The rows of each CSV file by the name of its table."""
        made = csv_files(self.tables)
        return {
            name.removesuffix(".csv"): list(csv.DictReader(io.StringIO(data.decode(), newline="")))
            for name, data in made.items()
        }

    @cached_property
    def markdown(self) -> dict[str, list[list[str]]]:
        """Title of a table to its rows, the headings first."""
        found: dict[str, list[list[str]]] = {}
        for line in markdown(self.report, self.tables).replace("\\", "").splitlines():
            if line.startswith("## "):
                found[line[3:]] = rows = []
            elif line.startswith("|") and "---" not in line:
                rows.append([cell.strip() for cell in line.strip("| ").split(" | ")])
        return found

    @cached_property
    def files(self) -> dict[str, str]:
        """Markdown, LaTeX and the CSV files' dictionary, without their escapes."""
        made = {
            "markdown": markdown(self.report, self.tables).replace("\\", ""),
            "latex": said(latex(self.tables)),
            "csv": csv_files(self.tables)["columns.csv"].decode(),
        }
        return {name: words(text) for name, text in made.items()}

    @cached_property
    def terminal(self) -> str:
        console = Console(width=300, force_terminal=False, highlight=False)
        with console.capture() as captured:
            for part in run_report(self.report.systems):
                console.print(part)
        return captured.get()

    @property
    def caption(self) -> str:
        """Of the figure of costs."""
        return self.figures["captions.txt"].split("\ncost\n")[1].split("\n")[0]


@pytest.fixture(scope="module", params=CASES)
def outputs(request: pytest.FixtureRequest) -> Outputs:
    return Outputs(CASES[request.param])


@pytest.mark.long
def test_every_table_of_the_page_is_markdowns(outputs: Outputs) -> None:
    for title, (heads, *rows) in outputs.markdown.items():
        names = {row[0] for row in rows}
        # The title names the system where there is only one.
        alone = names.pop() if len(names) == 1 else ""
        laid = outputs.page.tables[f"{title} · {alone}" if alone else title]
        assert of_page(laid, alone) == [Counter(words_of(row)) for row in rows]
        # Names of rows, of their groups and of p-values are no headings there.
        assert [head for head in heads if head in laid[0]] == laid[0]


def of_page(rows: list[list[str]], alone: str) -> list[Tokens]:
    """The words of each row, with those of the group that it stands in; no signs of a verdict."""
    found, group = [], [alone]
    for row in rows[1:]:
        if len(row) == 1:
            group = [alone, *row]
        else:
            said = [word for word in words_of([*group, *row]) if word not in ("p", "▲", "▼")]
            found.append(Counter(said))
    return found


def words_of(cells: Sequence[str]) -> list[str]:
    return " ".join(cells).replace("|", " ").replace("&lt;", "<").replace(" · ", " ").split()


@pytest.mark.parametrize("width", ["page", "column"])
def test_every_table_of_latex_is_markdowns(outputs: Outputs, width: str) -> None:
    made = latex_files(outputs.tables, LatexLook(read_width(width)))
    printed = [table for table in outputs.tables if table.printed]
    assert [*made] == [f"{table.name}.tex" for table in printed]
    for table, text in zip(printed, made.values(), strict=True):
        found = read_latex(text.decode())
        _, *rows = outputs.markdown[table.title]
        title, _, alone = found.caption.partition(" · ")
        assert title == table.title
        shown = [Counter(words_of([alone, *row])) for row in found.rows]
        # Papers name models; where they were asked is left to the other files.
        assert shown == [
            Counter(re.sub(r"@http\S+", "", word) for word in words_of(r)) for r in rows
        ]


def test_every_number_is_the_csv_files_rounded(outputs: Outputs) -> None:
    keys = {
        (row["file"].removesuffix(".csv"), row["title"]): row["column"]
        for row in outputs.csv["columns"]
        if row["title"] != "p" and row["unit"] != "text"
    }
    seen = 0
    for table in (table for table in outputs.tables if table.printed):
        heads, *rows = outputs.markdown[table.title]
        for row, values in zip(rows, outputs.csv[table.name], strict=True):
            for head, cell in zip(heads, row, strict=True):
                key = keys.get((table.name, head))
                if key is None:
                    continue
                ends = [values.get(f"{key}{end}", "") for end in ("", "_low", "_high")]
                shown = [part.strip("[],") for part in cell.split()]
                for text, value in zip(shown, ends, strict=False):
                    seen += assert_rounded(text, value)
    assert seen > 100


def assert_rounded(text: str, value: str) -> bool:
    """Whether there was a number; it must be the value to half of its last digit."""
    if text == "–" or "n=" in text:
        return bool(value) and "n=" not in text and pytest.fail(f"{value} is not shown")
    number = text.lstrip("±<").replace(",", "")
    size = _SUFFIXES.get(number[-1:], 1.0)
    number = number.rstrip("kMB")
    places = len(number.partition(".")[2])
    least = 0.5 * 10**-places * size
    assert abs(float(number) * size - float(value)) <= least * 1.001, (text, value)
    return True


def test_the_terminal_shows_the_same_scores(outputs: Outputs) -> None:
    heads, *rows = outputs.markdown["Results: answer sets"]
    whole = {one.name: one.name.replace(" ", "_") for one in outputs.report.systems}
    text = outputs.terminal
    for name, word in whole.items():
        text = text.replace(name, word)
    lines, names = [line.split() for line in text.splitlines()], {*whole.values()}
    found = [
        (line, lines[n + 1])
        for n, line in enumerate(lines)
        if line and line[0] in names and len(line) == len(heads) - 1 and line[1].isdigit()
    ][: len(rows)]
    for (means, ends), row in zip(found, rows, strict=True):
        assert means == [whole[row[0]], row[2], *(cell.split()[0] for cell in row[3:])]
        shown = [re.split(" to |–", end) for end in ends]
        assert shown == [re.split(", ", cell.split("[")[1].rstrip("]")) for cell in row[3:]]


def test_the_terminal_shows_the_same_costs(outputs: Outputs) -> None:
    lines = [line.split() for line in outputs.terminal.splitlines()]
    terminal = [line[2:] for line in lines if line[:2] == ["per", "item"]]
    counted = (
        "calls",
        "input",
        "cached",
        "output",
        "reasoning",
        "seconds",
        "cost_usd",
        "tokens_per_right",
    )
    files = [row for row in outputs.csv["costs"] if row["role"] == "per item"]
    for line, row in zip(terminal, files, strict=True):
        for text, key in zip(line, counted, strict=True):
            assert_rounded(text, row[key])


def test_money_is_the_same_in_every_output(outputs: Outputs) -> None:
    costs = [one.run.costs.per_item["cost"] for one in outputs.report.systems]
    page = [row[8] for row in outputs.page.tables["Costs"] if row[0] == "per item"]
    lines = [line.split() for line in outputs.terminal.splitlines()]
    terminal = [line[-2] for line in lines if line[:2] == ["per", "item"]]
    printed = [row[9] for row in outputs.markdown["Costs"] if row[1] == "per item"]
    assert page == terminal == printed
    assert [cell == "–" for cell in page] == [cost is None for cost in costs]


@pytest.mark.long
def test_money_is_the_unit_of_all_or_of_none(outputs: Outputs) -> None:
    found = cost_figure(outputs.report)
    assert found
    unpriced = any(one.run.costs.unpriced for one in outputs.report.systems)
    unit = "tokens" if unpriced else "USD"
    assert found.unit.axis == f"{unit} an item"
    assert f">{unit} an item<" in outputs.figures["cost.svg"]
    assert f"against {unit} an item" in outputs.caption
    said = words(outputs.page.text)
    assert f"against {unit} an item" in said
    words_of_unit = "tokens" if unpriced else "cost"
    assert f", {words_of_unit} ×" in said
    assert f"Times base: of the {words_of_unit} of an item." in said
    for text in outputs.files.values():
        assert f"Times base: of the {words_of_unit} of an item." in text
    # What the summary says is what the tables hold.
    ratios = [row[10] for row in outputs.markdown["Costs"] if row[1] == "per item"]
    of_others = [
        ratio
        for one, ratio in zip(outputs.report.systems, ratios, strict=True)
        if one.base != one.name
    ]
    assert re.findall(rf", {words_of_unit} ×(\S+)", said) == of_others


def test_a_model_without_a_price_is_named_in_every_output(outputs: Outputs) -> None:
    unpriced = {model for one in outputs.report.systems for model in one.run.costs.unpriced}
    texts = {
        **outputs.files,
        "page": words(outputs.page.text),
        "terminal": words(outputs.terminal),
        "figure": words(outputs.caption),
    }
    for name, text in texts.items():
        said = set(re.findall(r"[Nn]o price is known for (openai:\S*[^\s:;.,])", text))
        wanted = {bare(model) for model in unpriced} if name == "latex" else unpriced
        assert said == wanted, name


def bare(text: str) -> str:
    """Models without the addresses where they were asked, which LaTeX leaves to the other files."""
    return re.sub(r"@http://[^ :]+:\d+/v1", "", text)


def test_every_note_is_in_every_file_and_on_the_page(outputs: Outputs) -> None:
    said = words(outputs.page.text)
    for table in (table for table in outputs.tables if table.printed):
        for note in table.notes:
            assert words(note) in said
            for name, text in outputs.files.items():
                told = bare(note) if name == "latex" else note
                assert words(told).replace("_", "") in text.replace("_", "").replace("$p$", "p"), (
                    name
                )


@pytest.mark.long
def test_the_front_is_the_same_wherever_it_is_drawn(outputs: Outputs) -> None:
    found = cost_figure(outputs.report)
    assert found
    front = pareto_front(found.points)
    named = ", ".join(one.name for one in front)
    assert f"the Pareto front ({named})." in outputs.caption
    assert f"the Pareto front ({named})." in words(outputs.page.text)
    (drawn,) = (one.drawing for one in figures(outputs.report)["cost"])
    told = [one.text or "" for one in ElementTree.fromstring(drawn).iter("title")]
    marked = {one.split(": ")[0] for one in told if one.endswith(", on the Pareto front")}
    assert marked == {one.name for one in found.points if one in front}
    equal = {one.name for one in outputs.report.systems} & {"twin"}
    assert equal <= {one.name for one in front}


def test_systems_and_subsets_come_in_one_order(outputs: Outputs) -> None:
    systems = [one.name for one in outputs.report.systems]
    order = ["ambiguous", "unambiguous", "all"]
    _, *rows = outputs.markdown["Results: answer sets"]
    assert [(row[1], row[0]) for row in rows] == [(s, name) for s in order for name in systems]
    said = [line.strip() for line in outputs.terminal.splitlines()]
    assert list(dict.fromkeys(one for one in said if one in order)) == order
    legend = cost_figure(outputs.report)
    assert legend
    assert [one.name for one in legend.points] == systems
    of_systems = {
        title: t for title, t in outputs.page.tables.items() if t[0][0] not in ("model", "effect")
    }
    for title, table in of_systems.items():
        named = [cell for row in table for cell in row[:1] if cell in systems]
        assert named == [*systems, *systems, *systems][: len(named)] or "hange" in title, title


def test_figures_hold_the_numbers_of_the_tables(outputs: Outputs) -> None:
    report, main = outputs.report, outputs.report.task.main.key
    results = {(row["system"], row["subset"]): row for row in outputs.csv["results"]}
    costs = {row["system"]: row for row in outputs.csv["costs"] if row["role"] == "per item"}
    found = cost_figure(report)
    assert found
    for point in found.points:
        row = costs[guarded(point.name)]
        spent = row["cost_usd"] if found.unit.unit == "usd" else row["input"]
        assert point.spent == float(spent)  # no output tokens in these cases
        assert point.value == float(results[guarded(point.name), report.subsets[0]][main])
    for lines in line_figures(report):
        for series in lines.series:
            rows = [
                row
                for row in outputs.csv[lines.name.replace("recall-by-", "by-")]
                if row["system"] == guarded(series.name)
            ]
            key = "recall" if lines.is_curve else main
            means = [of[0].mean for of in series.means if of]
            assert means == [float(row[key]) for row in rows]
    errors = {(row["system"], row["subset"]): row for row in outputs.csv["errors"]}
    for subset in report.parts:
        shares = error_shares(report, subset)
        for name, counts in shares.systems if shares else ():
            row = errors[guarded(name), subset]
            assert int(row["items"]) == counts.items
            assert int(row["inexact"]) == counts.inexact
            for group in (kind for own in ANSWER_ERRORS.classes for kind in own.shown):
                whole, part = counts.of_all(group), counts.of_inexact(group)
                assert row[f"{group.key}_of_all"] == str(whole)
                assert row[f"{group.key}_of_inexact"] == ("" if part is None else str(part))
    changes = {(row["system"], row["subset"]): row for row in outputs.csv["changes"]}
    for change in change_figures(report):
        for name, differences in change.rows:
            for one in differences:
                row = changes[guarded(name), one.subset]
                assert one.difference == float(row[change.metric.key])
    for subset in report.subsets:
        missing = {r["system"]: r for r in outputs.csv["missing"] if r["subset"] == subset}
        ways = {r["system"]: r for r in outputs.csv["ceilings"] if r["subset"] == subset}
        lost, way = losses(report, subset), ceilings(report, subset)
        assert lost
        assert way
        for bar in lost.bars:
            row = missing[guarded(bar.name)]
            assert (bar.gold, bar.counts[0]) == (int(row["gold"]), int(row["right"]))
            assert sum(bar.counts[1:]) == int(row["missing"])
        for series in way.series:
            row = ways[guarded(series.name)]
            shown = [of[0].mean for of in series.means if of]
            kept = [row["ceiling_retrieved"], row["ceiling_shown"], row[main]]
            assert {float(one) for one in kept} <= set(shown)


def test_bars_of_errors_print_the_shares_of_the_table(outputs: Outputs) -> None:
    report, said = outputs.report, words(outputs.page.text)
    rows = [row for row in outputs.csv["errors"] if row["subset"] in report.parts]
    every = ANSWER_ERRORS.classes
    classes = [one for one in every if any(float(row[f"{one.key}_of_all"]) for row in rows)]
    shares = []
    for row in rows:
        for group, of_paper in ((one, one.published) for one in classes):
            if of_paper:
                part = row[f"{of_paper.key}_of_inexact"]
                shares.append(f"{100 * float(part):.0f}" if part else "–")
            part, items = row[f"{group.key}_of_inexact"], int(row["items"])
            shares.append(f"{100 * float(part):.0f}" if part else "–")
            inexact, of_all = float(part or 0) * int(row["inexact"]), row[f"{group.key}_of_all"]
            told = f"{inexact:.0f} of {row['inexact']} that are not exact"
            name = row["system"].removeprefix("'")
            # The page leaves out a class that no item of the subset is of.
            assert f"{name}: {group.title}: {told}" in said or not float(of_all)
            assert f"{items * float(of_all):.0f} of all {items}" in said
    drawn = re.findall(r">(\d+|–)</text>", outputs.figures["error-classes.svg"])
    ticks = Counter({tick: len(classes) for tick in ("0", "100")})
    assert Counter(drawn) == Counter(shares) + ticks
