"""What a document is read as: a title and blocks of text, headings among them."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_PARAGRAPH_END = re.compile(r"\n[ \t\r\f\v]*\n")


class TextBlock(NamedTuple):
    """A paragraph, a list, a table; or a heading, whose `level` is 1 to 6 and not 0."""

    text: str
    level: int = 0


class SourceDocument(NamedTuple):
    """A file as it is split into passages."""

    title: str
    blocks: Sequence[TextBlock]


class UnreadableDocumentError(Exception):
    """A file is left out; the message says why."""


def paragraphs(text: str) -> Iterator[TextBlock]:
    """The blocks of a plain text: blank lines stand between them."""
    start = 0
    for end in _PARAGRAPH_END.finditer(text):
        if block := text[start : end.start()].strip():
            yield TextBlock(block)
        start = end.end()
    if block := text[start:].strip():
        yield TextBlock(block)
