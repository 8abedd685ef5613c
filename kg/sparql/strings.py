"""String literals: what SPARQL allows in them, and the one form in which they are sent on.

Parsers differ in what they do with an escape that the grammar does not know: one takes it for a
character, another for no string at all and tries `"" "..."` in place of a long string. So such
escapes are refused, and every string is written between one pair of `"`, on one line.
"""

import re
from collections.abc import Iterable
from itertools import pairwise

from branchwise.kg.sparql.edits import Edits
from branchwise.kg.sparql.tokens import Token

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
