"""Tables for LaTeX with booktabs; every text in them is data."""

from collections.abc import Iterator, Sequence

from branchwise.eval.numbers import UNKNOWN
from branchwise.eval.reporting.tables import Table
from branchwise.eval.reporting.tables.table import column_groups
from branchwise.ui.exports.text import Shown, one_line, shown_rows

_HEAD = """\
% Needs \\usepackage{booktabs}, and pdfLaTeX from 2020 on, LuaLaTeX or XeLaTeX (these two where a
% name has letters that the font of pdfLaTeX lacks).
"""
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Active in babel's German, and a closing quotation mark elsewhere.
    '"': r"\char34{}",
    "'": "'{}",
    "`": r"\textasciigrave{}",
    # At the beginning of a row they would be read as an argument of the row before.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # So that two of them stay two: no dash, no quotation mark.
    "-": "-{}",
    ",": ",{}",
    "…": r"\ldots{}",
    "–": "--",
    "\N{REPLACEMENT CHARACTER}": "?",
    "▲": r"$\bigtriangleup$",
    "▼": r"$\bigtriangledown$",
}
_MAX_HEADING = 9  # letters
_MANY_COLUMNS = 16
_IN_NUMBERS = {"-": "$-$", "±": r"$\pm$", "<": "$<$", ">": "$>$", UNKNOWN: "--"}


def latex(tables: Sequence[Table]) -> str:
    """The tables that are for readers, each a `table*` with caption, label and notes."""
    printed = [table.as_printed() for table in tables if table.printed]
    return "\n".join([_HEAD, *("".join(_environment(table)) for table in printed)])


def escape(text: str) -> str:
    """Text from outside that shows as it is: no command, no active character, no ligature."""
    return "".join(_SPECIAL.get(character, character) for character in one_line(text))


def _environment(table: Table) -> Iterator[str]:
    size, gap = ("scriptsize", 2) if len(table.columns) > _MANY_COLUMNS else ("footnotesize", 3)
    yield f"\\begin{{table*}}\n\\centering\\{size}\n\\setlength{{\\tabcolsep}}{{{gap}pt}}\n"
    yield f"\\caption{{{escape(table.title)}}}\n\\label{{tab:{table.name}}}\n"
    sides = ["l" if column.unit == "text" else "r" for column in table.columns]
    yield f"\\begin{{tabular}}{{@{{}}{''.join(sides)}@{{}}}}\n\\toprule\n"
    yield from _group_headings(table)
    yield _line([_heading(c.title, side) for c, side in zip(table.columns, sides, strict=True)])
    yield "\\midrule\n"
    yield from _body(table)
    yield "\\bottomrule\n\\end{tabular}\n"
    if table.notes:
        words = " ".join(escape(note if note.endswith(".") else f"{note}.") for note in table.notes)
        yield f"\\par\\smallskip\n\\begin{{minipage}}{{\\linewidth}}\\scriptsize {words}"
        yield "\\end{minipage}\n"
    yield "\\end{table*}\n"


def _group_headings(table: Table) -> Iterator[str]:
    """A line of headings over several columns each, with a rule below, where there are any."""
    cells, rules, first = [], [], 1
    for name, span in column_groups(table.columns):
        said = _heading(name, "c") if span == 1 else escape(name)
        cells.append(rf"\multicolumn{{{span}}}{{c}}{{{said}}}")
        if name:
            rules.append(rf"\cmidrule(lr){{{first}-{first + span - 1}}}")
        first += span
    if rules:
        yield f"{_line(cells)}{' '.join(rules)}\n"


def _heading(title: str, side: str) -> str:
    """On two lines where it is long."""
    words = title.split()
    if len(title) <= _MAX_HEADING or len(words) == 1:
        return escape(title)
    breaks = range(1, len(words))
    half = min(breaks, key=lambda n: max(len(" ".join(words[:n])), len(" ".join(words[n:]))))
    lines = escape(" ".join(words[:half])), escape(" ".join(words[half:]))
    return rf"\shortstack[{side}]{{{lines[0]} \\ {lines[1]}}}"


def _body(table: Table) -> Iterator[str]:
    """The rows, with a rule where another subset of the questions begins."""
    subset = next((i for i, column in enumerate(table.columns) if column.key == "subset"), None)
    before = None
    for row in shown_rows(table):
        about = row[subset].text if subset is not None else None
        if before is not None and about != before:
            yield "\\midrule\n"
        before = about
        yield _line([_cell(shown) for shown in row])


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\\n"


def _cell(shown: Shown) -> str:
    if shown.is_text:
        return escape(shown.text)
    text = _numeric(shown.text)
    behind = " ".join(shown.parts[1:])
    return f"{text} {{\\scriptsize {_numeric(behind)}}}" if behind else text


def _numeric(text: str) -> str:
    """A number of ours: a real minus sign, relations in mathematics."""
    return "".join(_IN_NUMBERS.get(c, _SPECIAL.get(c, c) if c in "[]▲▼" else c) for c in text)
