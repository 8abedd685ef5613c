"""Text from outside in LaTeX: it shows as it is, and breaks where a line ends."""

from branchwise.eval.numbers import UNKNOWN
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
_MOST_UNBROKEN = 8  # letters


def escape(text: str) -> str:
    """Text from outside that shows as it is: no command, no active character, no ligature."""
    return "".join(_SPECIAL.get(character, character) for character in one_line(text))


def breakable(text: str) -> str:
    """The same, with places in long words at which a line may end."""
    return " ".join(map(_breakable_word, one_line(text).split()))


def _breakable_word(word: str) -> str:
    if len(word) <= _MOST_UNBROKEN:
        return escape(word)
    parts, since = [], 0
    for letter in word:
        parts.append(_SPECIAL.get(letter, letter))
        since += 1
        if letter in _BREAKS_AFTER or since >= _MOST_UNBROKEN:
            parts.append(_BREAK)
            since = 0
    return "".join(parts)


def numeric(text: str) -> str:
    """A number of ours: a real minus sign, relations in mathematics."""
    return "".join(_IN_NUMBERS.get(c, _SPECIAL.get(c, c) if c in "[]▲▼" else c) for c in text)
