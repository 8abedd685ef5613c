"""Query text as tokens with positions: what SPARQL 1.1, section 19, calls terminals."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

TokenKind = Literal[
    "iri", "string", "language", "variable", "blank", "name", "number", "word", "sign", "end"
]

_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<comment>\#[^\r\n]*)
  | (?P<iri><[^<>"{{}}|^`\\\x00-\x20]*>)
  | (?P<string>
        \"\"\"(?:\"{{0,2}}(?:[^"\\]|\\[\s\S]))*\"\"\"
      | '''(?:'{{0,2}}(?:[^'\\]|\\[\s\S]))*'''
      | "(?:[^"\\\r\n]|\\.)*" | '(?:[^'\\\r\n]|\\.)*')
  | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
  | (?P<variable>[?$]\w+)
  | (?P<blank>_:\w(?:[\w.\-]*[\w\-])?)
  | (?P<name>(?:[^\W\d_](?:[\w.\-]{{0,60}}[\w\-])?)?:
        (?:(?:[\w:]|{_ESCAPED})(?:(?:[\w.\-:]|{_ESCAPED})*(?:[\w\-:]|{_ESCAPED}))?)?)
  | (?P<number>(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?)
  | (?P<word>[^\W\d]\w*)
  | (?P<sign>\^\^|&&|\|\||!=|<=|>=|[\s\S])
    """,
    re.VERBOSE,
)
_CODEPOINT = re.compile(r"\\\\|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_OPEN, _CLOSE = frozenset("{(["), frozenset("})]")


class Token(NamedTuple):
    """A terminal: `text` as written, between the characters `start` and `end` of the query."""

    kind: TokenKind
    text: str
    start: int
    end: int

    def says(self, *words: str) -> bool:
        """Whether it is one of these keywords (given in capitals) or signs."""
        return (self.text.upper() if self.kind == "word" else self.text) in words and (
            self.kind in ("word", "sign")
        )


class Span(NamedTuple):
    """Characters `start` to `end` of a text."""

    start: int
    end: int


def expand_codepoints(text: str) -> str:
    r"""Write `\u0041` and `\U00000041` as the characters they stand for (section 19.2).

    A backslash behind a backslash begins none. Raises ValueError for what is not a character: a
    surrogate, or beyond Unicode.
    """

    def character(match: re.Match[str]) -> str:
        if match[0] == r"\\":
            return match[0]
        code = int(match[1] or match[2], 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise ValueError(match[0])
        return chr(code)

    return _CODEPOINT.sub(character, text)


def tokens_of(text: str) -> tuple[list[Token], list[Span]]:
    """The tokens of a text, an "end" token last, and where its comments are.

    Characters that begin no terminal come out as signs of one character; a string that does not
    end is its quotation mark and what follows.
    """
    tokens: list[Token] = []
    comments: list[Span] = []
    for match in _matches(text):
        kind = match.lastgroup
        if kind == "comment":
            comments.append(Span(*match.span()))
        elif kind != "space":
            tokens.append(Token(kind, match[0], *match.span()))  # type: ignore[arg-type]
    tokens.append(Token("end", "", len(text), len(text)))
    return tokens, comments


def _matches(text: str) -> Iterator[re.Match[str]]:
    return _TOKEN.finditer(text)


def depth(tokens: list[Token]) -> int:
    """How deep brackets of all kinds nest, runs of `!`, `-`, `+` and `^` counted with them."""
    deepest = level = run = 0
    for token in tokens:
        if token.kind == "sign" and token.text in _OPEN:
            level += 1
        elif token.kind == "sign" and token.text in _CLOSE:
            level = max(0, level - 1)
        run = run + 1 if token.kind == "sign" and token.text in ("!", "-", "+", "^") else 0
        deepest = max(deepest, level + run)
    return deepest
