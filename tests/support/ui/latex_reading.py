"""LaTeX tables read back, as a person sees them set."""

import re
from dataclasses import dataclass, field

_SIGNS = {
    r"\allowbreak{}": "", r"\strut": "", r"$\bigtriangleup$": "▲", r"$\bigtriangledown$": "▼",
    r"$\pm$": "±", "$-$": "-", "$<$": "<", "$>$": ">", r"\textless{}": "<", r"\textgreater{}": ">",
    r"\textbackslash{}": "\\", r"\ldots{}": "…", "-{}": "-", ",{}": ",", "'{}": "'",
    "{[}": "[", "{]}": "]", "{*}": "*",
}  # fmt: skip
_LOOKS = re.compile(r"\\(scriptsize|itshape|raggedright|centering)\b ?")


def said(text: str) -> str:
    text = _LOOKS.sub("", text)
    for command, sign in _SIGNS.items():
        text = text.replace(command, sign)
    return " ".join(re.sub(r"\\(?=[_%&#$])|[{}]", "", text).replace("--", "–").split())


@dataclass
class LatexTable:
    """A table of any number of floats: its caption, and the words of each row with those of the
    group that it stands in."""

    caption: str
    rows: list[list[str]] = field(default_factory=list)


def read_latex(text: str) -> LatexTable:
    """What stands in the file of a table."""
    floats = text.split(r"\begin{table")[1:]
    found = LatexTable(re.sub(r" \(\d+~of~\d+\)$", "", _caption(floats[0])))
    for one in floats:
        found.rows += [[group, label, *cells] for group, label, cells in _rows(one)]
    return found


def _caption(text: str) -> str:
    return said(next(line for line in text.splitlines() if r"\caption" in line)[9:-1])


def _rows(part: str) -> list[tuple[str, str, list[str]]]:
    """Group, label and cells; an interval below a cell is read with it."""
    group, rows = "", list[tuple[str, str, list[str]]]()
    for line in part.split(r"\midrule", 1)[1].split(r"\bottomrule")[0].splitlines():
        cells = line.removesuffix(r" \\").split(" & ")
        if line.startswith(r"\multicolumn"):
            group = said(re.sub(r"^\\multicolumn\{\d+\}\{@\{\}l@\{\}\}", "", cells[0]))
        elif len(cells) > 1 and not cells[0]:
            rows[-1][2].extend(map(said, cells[1:]))
        elif len(cells) > 1 or (line and not line.startswith("\\")):
            rows.append((group, said(cells[0]), [*map(said, cells[1:])]))
    return rows
