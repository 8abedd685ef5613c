"""Text from outside in LaTeX: it shows as it is, and breaks where a line ends."""

from branchwise.base.numbers import UNKNOWN
from branchwise.report.exports.text import one_line

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
_IN_NUMBERS = {"-": "$-$", "±": r"$\pm$", "<": "$<$", ">": "$>$", UNKNOWN: "--"}
_BREAK = r"\allowbreak{}"
_BREAKS_AFTER = "/:.@_-+="
_LONG = 16
"""Letters of a sentence that stay on one line."""


def escape(text: str) -> str:
    """Text from outside that shows as it is: no command, no active character, no ligature."""
    return "".join(_SPECIAL.get(character, character) for character in one_line(text))


def sentence(text: str) -> str:
    """The same, with places in long words at which a line may end."""
    words = one_line(text).split()
    return " ".join(escape(word) if len(word) <= _LONG else _breakable(word) for word in words)


def _breakable(word: str) -> str:
    parts, line = [], ""
    for letter in word:
        if line and (line[-1] in _BREAKS_AFTER or len(line) == _LONG):
            parts.append(_BREAK)
            line = ""
        parts.append(_SPECIAL.get(letter, letter))
        line += letter
    return "".join(parts)


def numeric(text: str) -> str:
    """A number of ours: a real minus sign, relations in mathematics."""
    return "".join(_IN_NUMBERS.get(c, _SPECIAL.get(c, c) if c in "[]▲▼" else c) for c in text)
