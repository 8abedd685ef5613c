"""How a judging model sees a text from outside: one line, printable, bounded."""

import unicodedata

MAX_SHOWN = 300
"""Characters of a name or an answer that a model sees."""
_CUT = " … "


def shown(text: str, limit: int = MAX_SHOWN) -> str:
    """The text on one line of at most `limit` characters, perhaps empty.

    White space is collapsed. Control and format characters are removed, so that a name cannot start
    a line, change the writing direction or contain hidden text. A long text keeps both ends:
    readings of a question may start alike and end differently.
    """
    visible = text if text.isprintable() else "".join(map(_visible, text))
    line = " ".join(visible.split())
    if len(line) <= limit:
        return line
    head = (limit - len(_CUT)) * 2 // 3
    return f"{line[:head]}{_CUT}{line[head + len(_CUT) - limit :]}"


def _visible(character: str) -> str:
    if character.isprintable() or character.isspace():
        return character
    return " " if unicodedata.category(character) == "Cc" else ""
