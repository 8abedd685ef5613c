"""How much of what was found, or went wrong, is passed on to who asked."""

MAX_TEXT = 2_000
"""Characters of a value in an answer that are kept."""

MAX_LABEL = 300
"""Characters of a label that goes with an answer."""

MAX_MESSAGE = 2_000
"""Characters of an error's message, or of a note."""

MAX_SENTENCES = 3
"""Sentences of one kind; what more there is, is counted."""


def cut_value(text: str) -> str:
    """A value that is too long says how long it was: it must not pass for the whole."""
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}… (cut: {len(text):,} characters)"


def cut(text: str, most: int = MAX_MESSAGE) -> str:
    """A text of at most `most` characters, the last an ellipsis where more was there."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
