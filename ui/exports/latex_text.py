"""Text from outside in LaTeX: it shows as it is, and breaks where a line ends."""

from collections.abc import Callable

from branchwise.eval.numbers import UNKNOWN
from branchwise.ui.exports.latex_widths import text_width
from branchwise.ui.exports.text import one_line

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
_SPARE = 0.95
"""The share of a column's width that letters may take which stay on one line."""


def escape(text: str) -> str:
    """Text from outside that shows as it is: no command, no active character, no ligature."""
    return "".join(_SPECIAL.get(character, character) for character in one_line(text))


def sentence(text: str) -> str:
    """The same, with places in long words at which a line may end."""
    return _breakable(text, lambda letters: len(letters) <= _LONG)


def breakable(text: str, width: float, size: float) -> str:
    """The same, where words are wider than a column, in points, in a font of `size` points."""
    return _breakable(text, lambda letters: text_width(letters, size) <= _SPARE * width)


def _breakable(text: str, fits: Callable[[str], bool]) -> str:
    return " ".join(
        escape(word) if fits(word) else _breakable_word(word, fits)
        for word in one_line(text).split()
    )


def _breakable_word(word: str, fits: Callable[[str], bool]) -> str:
    parts, line = [], ""
    for letter in word:
        if line and (line[-1] in _BREAKS_AFTER or not fits(line + letter)):
            parts.append(_BREAK)
            line = ""
        parts.append(_SPECIAL.get(letter, letter))
        line += letter
    return "".join(parts)


def numeric(text: str) -> str:
    """A number of ours: a real minus sign, relations in mathematics."""
    return "".join(_IN_NUMBERS.get(c, _SPECIAL.get(c, c) if c in "[]▲▼" else c) for c in text)
