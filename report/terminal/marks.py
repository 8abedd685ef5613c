"""Where a text names gold answers, holds extracted spans, or has the words of JSON and SPARQL."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from branchwise.eval.errors.mentions import Mentions
from branchwise.report.terminal.blocks import Mark, MarkKind

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_MARKED = 200_000
"""Characters of one text that are searched for answers and spans."""
MAX_COLOURED = 50_000
"""Characters of JSON that are coloured."""
MAX_QUERY = 10_000
"""Characters of SPARQL that are coloured: the parser is slow on other text."""
_WORD = re.compile(r"\S+")

AnswerNames = Sequence[Sequence[str]]


def mentions_of(names: AnswerNames) -> Mentions:
    """The matcher of these names; kept, since every step of a trace is searched with it."""
    return _mentions(tuple(map(tuple, names)))


@lru_cache(maxsize=16)
def _mentions(names: tuple[tuple[str, ...], ...]) -> Mentions:
    return Mentions(names)


def named(text: str, names: AnswerNames, kind: MarkKind = "gold") -> list[Mark]:
    """Marks of these names in a text, in order."""
    if not names:
        return []
    by_name = mentions_of(names).find(text[:MAX_MARKED])
    spans = sorted({span for spans in by_name.values() for span in spans})
    return [Mark(start, end, kind) for start, end in spans]


def spans_in(text: str, spans: Iterable[str]) -> list[Mark]:
    """Marks of spans that were copied out of a text as it stands on one line."""
    line = _OneLine(text[:MAX_MARKED])
    marks, position = [], 0
    for span in filter(None, spans):
        if line.text and span.startswith(line.text):
            # A passage that is one span, or of which the beginning alone is looked at.
            span = line.text
        start = line.text.find(span, position)
        if start < 0:
            start = line.text.find(span)
        if start >= 0:
            position = start + len(span)
            marks.append(Mark(line.given(start), line.given(position - 1) + 1, "span"))
    return marks


class _OneLine:
    """A text with its white space collapsed, and where each character of it stood."""

    def __init__(self, text: str) -> None:
        words = list(_WORD.finditer(text))
        self.text = " ".join(word[0] for word in words)
        self._given = [word.start() for word in words]
        self._here, position = [], 0
        for word in words:
            self._here.append(position)
            position += len(word[0]) + 1

    def given(self, place: int) -> int:
        """The place in the text as it was given."""
        word = bisect_right(self._here, place) - 1
        return self._given[word] + place - self._here[word]


def json_marks(text: str) -> list[Mark]:
    from pygments.lexers.data import JsonLexer

    return list(_coloured(JsonLexer(), text[:MAX_COLOURED]))


def sparql_marks(text: str) -> list[Mark]:
    from pygments.lexers.rdf import SparqlLexer

    return list(_coloured(SparqlLexer(), text[:MAX_QUERY]))


def _coloured(lexer: "Lexer", text: str) -> Iterator[Mark]:
    for start, token, value in lexer.get_tokens_unprocessed(text):
        kind = _kind(str(token))
        if kind and value.strip():
            yield Mark(start, start + len(value), kind)


@lru_cache(maxsize=256)
def _kind(token: str) -> MarkKind | None:
    name = token.removeprefix("Token.")
    return next((kind for start, kind in _KINDS if name.startswith(start)), None)


_KINDS: Sequence[tuple[str, MarkKind]] = (
    ("Name.Tag", "key"),
    ("Name.Variable", "key"),
    ("Name.Function", "strong"),
    ("Keyword", "word"),
    ("Literal.String", "string"),
    ("Name.Label", "string"),
    ("Literal.Number", "number"),
    ("Comment", "comment"),
)
