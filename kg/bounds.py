"""How much of a result or an error is passed on."""

MAX_TEXT = 2_000
"""Characters kept of a value in an answer."""

MAX_LABEL = 300
"""Characters of a label that goes with an answer."""

MAX_MESSAGE = 2_000
"""Characters of an error's message, or of a note."""

MAX_SENTENCES = 3
"""Sentences of one kind; the rest is counted."""


def cut_value(text: str) -> str:
    """A value that is too long states its length, so that the cut text does not pass for the
    whole."""
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}… (cut: {len(text):,} characters)"


def cut(text: str, most: int = MAX_MESSAGE) -> str:
    """A text of at most `most` characters, the last an ellipsis if it was cut."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
