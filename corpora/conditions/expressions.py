"""Boolean expressions over the conditions of one document: `c1 AND (c2 OR c3)`.

    expression = product {"OR" product}
    product    = factor {"AND" factor}
    factor     = NAME | "(" expression ")"

AND binds more strongly than OR; both are read in any case of letters. There is no NOT: what is
required is never the absence of a condition, so a condition that becomes true never makes an
expression false (it is monotone), which the solver relies on.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

NAME = r"[A-Za-z][A-Za-z0-9_]{0,49}"
"""What conditions are called within their document, as a regular expression; AND and OR are not
names."""
MAX_CHARACTERS = 20_000
MAX_DEPTH = 50
"""Of brackets within brackets."""
OPERATORS = ("AND", "OR")
_TOKEN = re.compile(rf"\s*(?:({NAME})(?![A-Za-z0-9_])|([()]))")


class ExpressionError(ValueError):
    """A text that is not an expression; the message says at which column, counted from 1."""


@dataclass(frozen=True)
class Atom:
    """One condition, by its name within the document."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class AllOf:
    """True where every part is. Parts are atoms or alternatives, at least two."""

    parts: "tuple[Atom | AnyOf, ...]"

    def __str__(self) -> str:
        shown = (f"({part})" if isinstance(part, AnyOf) else str(part) for part in self.parts)
        return " AND ".join(shown)


@dataclass(frozen=True)
class AnyOf:
    """True where at least one part is. Parts are atoms or conjunctions, at least two."""

    parts: "tuple[Atom | AllOf, ...]"

    def __str__(self) -> str:
        shown = (f"({part})" if isinstance(part, AllOf) else str(part) for part in self.parts)
        return " OR ".join(shown)


Expression = Atom | AllOf | AnyOf


def all_of(*parts: Expression) -> Expression:
    """The conjunction; of one part, that part. Nested conjunctions become one."""
    flat = [p for part in parts for p in (part.parts if isinstance(part, AllOf) else (part,))]
    return flat[0] if len(flat) == 1 else AllOf(tuple(flat))


def any_of(*parts: Expression) -> Expression:
    """The alternative; of one part, that part. Nested alternatives become one."""
    flat = [p for part in parts for p in (part.parts if isinstance(part, AnyOf) else (part,))]
    return flat[0] if len(flat) == 1 else AnyOf(tuple(flat))


def names(expression: Expression) -> Iterator[str]:
    """The conditions that an expression speaks of, in its order, repeats included."""
    if isinstance(expression, Atom):
        yield expression.name
    else:
        for part in expression.parts:
            yield from names(part)


def parse_expression(text: str) -> Expression:
    """Raises ExpressionError for a text that is not of the form above, is longer than
    `MAX_CHARACTERS`, or nests brackets more deeply than `MAX_DEPTH`."""
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"is longer than {MAX_CHARACTERS:,} characters")
    reader = _Reader(text)
    found = reader.expression(0)
    if reader.token.text:
        raise reader.unexpected("AND, OR or the end")
    return found


class _Token(NamedTuple):
    text: str  # "" at the end
    column: int
    is_name: bool = False


class _Reader:
    """Recursive descent with one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self.token = next(self._tokens)

    def expression(self, depth: int) -> Expression:
        parts = [self._product(depth)]
        while self._took("OR"):
            parts.append(self._product(depth))
        return any_of(*parts)

    def unexpected(self, expected: str) -> ExpressionError:
        found = repr(self.token.text) if self.token.text else "the end"
        return ExpressionError(f"column {self.token.column}: expected {expected}, found {found}")

    def _product(self, depth: int) -> Expression:
        parts = [self._factor(depth)]
        while self._took("AND"):
            parts.append(self._factor(depth))
        return all_of(*parts)

    def _factor(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise ExpressionError(f"nests brackets more than {MAX_DEPTH} deep")
        token = self.token
        if self._took("("):
            inner = self.expression(depth + 1)
            if not self._took(")"):
                raise self.unexpected("AND, OR or )")
            return inner
        if not token.is_name:
            raise self.unexpected("a condition or (")
        self.token = next(self._tokens)
        return Atom(token.text)

    def _took(self, text: str) -> bool:
        """Whether this token stood next; then it is behind us."""
        if self.token.text != text or self.token.is_name:
            return False
        self.token = next(self._tokens)
        return True


def _tokens(text: str) -> Iterator[_Token]:
    """Names, brackets and operators (in capitals); then the end."""
    place = 0
    text = text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if not found:
            bad = len(text) - len(text[place:].lstrip())
            raise ExpressionError(f"column {bad + 1}: {text[bad : bad + 20]!r} is not a condition")
        word = found[1] or found[2]
        column = found.end() - len(word) + 1
        is_name = bool(found[1]) and word.upper() not in OPERATORS
        yield _Token(word if is_name else word.upper(), column, is_name)
        place = found.end()
    yield _Token("", len(text) + 1)
