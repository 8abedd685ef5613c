"""How a text from outside is shown to a judging model: one line, printable, bounded."""

import unicodedata

MAX_SHOWN = 300
"""Characters of a name or an answer that a model is shown."""
_CUT = " … "


def shown(text: str, limit: int = MAX_SHOWN) -> str:
    """The text on one line of at most `limit` characters, perhaps empty.

    White space is collapsed. Control and format characters go, so that nothing in a name can
    begin a line, turn the direction of writing or stand there unseen. Of a long text both ends
    stay: readings of a question may begin alike and end apart.
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
