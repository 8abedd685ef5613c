"""Query text as tokens with positions (SPARQL 1.1, section 19), its strings, and changes to it.

Parsers differ in what they do with an escape that the grammar does not know: one takes it for a
character, another for no string at all and tries `"" "..."` in place of a long string. So such
escapes are refused, and every string is written between one pair of `"`, on one line.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
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
        if self.kind == "word":
            return self.text.upper() in words
        return self.kind == "sign" and self.text in words


class Span(NamedTuple):
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
    """The tokens of a text, an "end" token last, and where its comments are. A character that
    begins no terminal is a sign; a string that does not end, its mark and what follows."""
    tokens: list[Token] = []
    comments: list[Span] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "comment":
            comments.append(Span(*match.span()))
        elif kind != "space":
            tokens.append(Token(kind, match[0], *match.span()))  # type: ignore[arg-type]
    tokens.append(Token("end", "", len(text), len(text)))
    return tokens, comments


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


class Edit(NamedTuple):
    """Put `text` in place of the characters `start` to `end`."""

    start: int
    end: int
    text: str = ""


class TextPosition(NamedTuple):
    line: int
    column: int


class Edits:
    """Edits of one text, in any order. An edit inside a removed part goes with it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._edits: list[Edit] = []

    def replace(self, start: int, end: int, text: str = "") -> None:
        self._edits.append(Edit(start, end, text))

    def insert(self, at: int, text: str) -> None:
        """Put `text` before the character `at`, after what was put there before."""
        self._edits.append(Edit(at, at, text))

    def _pieces(self) -> list[tuple[int, str]]:
        pieces: list[tuple[int, str]] = []
        at = 0
        for start, end, text in sorted(self._edits, key=lambda e: (e.start, e.end > e.start)):
            if start < at:
                continue
            pieces += [(at, self.text[at:start]), (start, text)]
            at = end
        return [*pieces, (at, self.text[at:])]

    def apply(self) -> str:
        return "".join(piece for _, piece in self._pieces())

    def count(self) -> int:
        return len(self._edits)

    def within(
        self, start: int, end: int, first: int | None = None, others: Iterable[Edit] = ()
    ) -> str:
        """What has become of the characters `start` to `end`, so far or by the `first` edits.
        `others` are made as well, there and nowhere else; edits inside of what they replace go."""
        part = Edits(self.text[start:end])
        for edit in (*others, *self._edits[:first]):
            if start <= edit.start and edit.end <= end:
                part.replace(edit.start - start, edit.end - start, edit.text)
        return part.apply()

    def origin(self, offset: int) -> int:
        """Where the character at `offset` of the new text was in the old text, or what is next."""
        at = 0
        for start, piece in self._pieces():
            if offset < at + len(piece):
                same = self.text.startswith(piece, start)
                return start + (offset - at if same else 0)
            at += len(piece)
        return len(self.text)


def place(text: str, offset: int) -> TextPosition:
    before = text[:offset]
    return TextPosition(before.count("\n") + 1, offset - before.rfind("\n"))


def offset_of(text: str, at: TextPosition) -> int:
    """The character at a line and column; the end of the text where it is shorter."""
    start = 0
    for _ in range(at.line - 1):
        start = text.find("\n", start) + 1
    return min(start + at.column - 1, len(text))


_PLAIN = re.compile(r'"(?:[^"\\\r\n]|\\[tbnrf"\\])*"')
_PIECE = re.compile(r"""\\[\s\S]|["\r\n]""")
_WRITTEN = {"\\'": "'", '"': '\\"', "\r": "\\r", "\n": "\\n"}
_ESCAPES = frozenset("tbnrf\\\"'")


def wrong_escape(token: Token) -> int | None:
    """Where in the query a string has an escape that SPARQL does not know; None if nowhere."""
    if token.kind != "string":
        return None
    for match in _PIECE.finditer(token.text):
        if match[0][0] == "\\" and match[0][1] not in _ESCAPES:
            return token.start + match.start()
    return None


def plain(string: str) -> str:
    """A string literal as all parsers read it; its escapes must be SPARQL's."""
    if _PLAIN.fullmatch(string):
        return string
    width = 3 if len(string) >= 6 and string[:3] in ('"""', "'''") else 1
    body = _PIECE.sub(lambda m: _WRITTEN.get(m[0], m[0]), string[width:-width])
    return f'"{body}"'


def write_plainly(edits: Edits, tokens: list[Token]) -> None:
    """Write all strings plainly, and apart from each other."""
    for token, follows in pairwise(tokens):
        if token.kind != "string":
            continue
        text = plain(token.text)
        if follows.kind == "string":
            text += " "
        if text != token.text:
            edits.replace(token.start, token.end, text)


def all_plain(tokens: Iterable[Token]) -> bool:
    """Whether all strings are plain and end."""
    return all(
        token.text not in ('"', "'") if token.kind == "sign" else _PLAIN.fullmatch(token.text)
        for token in tokens
        if token.kind in ("sign", "string")
    )
