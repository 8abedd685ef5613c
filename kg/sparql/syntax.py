"""Syntax errors that say where, show the line, and name the likely remedy."""

import re
from itertools import pairwise
from typing import NamedTuple

from branchwise.kg.answers import KgError
from branchwise.kg.sparql.edits import Edits, TextPosition, offset_of, place
from branchwise.kg.sparql.faults import fault_token
from branchwise.kg.sparql.prefixes import KNOWN, QueryPrefixes
from branchwise.kg.sparql.reading import FORMS
from branchwise.kg.sparql.remedies import remedy_at
from branchwise.kg.sparql.strings import wrong_escape
from branchwise.kg.sparql.structure import SelectQuery
from branchwise.kg.sparql.tokens import Token, tokens_of

_POSITION = re.compile(r"error at (\d+):(\d+): expected (.*)", re.DOTALL)
_REASONS = {
    "SELECT contains a variable": (
        "?{column} is a column and no key: add it to GROUP BY, or use (SAMPLE(?{column}) AS ?one)"
    ),
    "SELECT * is not authorized": "SELECT * cannot be grouped: name the columns",
    "SELECT overrides": "a name after AS is in use already: choose a new one",
    "Duplicated variable": "a column is named twice: leave one out",
}
_MAX_LINE = 160


class SyntaxFault(NamedTuple):
    """The place that Oxigraph names (past the fault), and what it gives as reason, or ""."""

    at: TextPosition
    reason: str


def fault_of(message: str) -> SyntaxFault | None:
    """What Oxigraph's message says."""
    match = _POSITION.match(message)
    if match is None:
        return None
    told = next((reason for reason in _REASONS if reason in match[3]), "")
    return SyntaxFault(TextPosition(int(match[1]), int(match[2])), told)


def syntax_error(text: str, offset: int, remedy: str) -> KgError:
    """The error at a character of a query: position, line with a caret below, remedy."""
    line, column = place(text, offset)
    lines = text.split("\n")
    shown = lines[line - 1].rstrip("\r").replace("\t", " ") if line <= len(lines) else ""
    first = max(0, column - 1 - _MAX_LINE // 2)
    caret = " " * (column - 1 - first) + "^"
    return KgError(
        "syntax",
        f"syntax error at line {line}, column {column}: {remedy}\n"
        f"{shown[first : first + _MAX_LINE]}\n{caret}",
    )


def check_escapes(text: str, tokens: list[Token]) -> None:
    """Refuse escapes in strings that SPARQL does not know, such as those of regular expressions."""
    for token in tokens:
        at = wrong_escape(token)
        if at is not None:
            shown = text[at : at + 2] if text[at : at + 2].isprintable() else "\\"
            remedy = f"write a backslash twice in a string: \\{shown}"
            raise syntax_error(text, at, remedy)


def check_start(text: str, tokens: list[Token], names: QueryPrefixes) -> None:
    """Refuse text in which no query begins, and names with an undeclared prefix."""
    first = tokens[names.prologue_end]
    if not first.says(*FORMS):
        what = "nothing" if first.kind == "end" else f'"{first.text[:40]}"'
        if first.says("PREFIX", "BASE"):
            remedy = "a declaration is PREFIX name: <http://...>, with angle brackets"
            raise syntax_error(text, first.start, remedy)
        raise syntax_error(
            text, first.start, f"a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE, not {what}"
        )
    if names.unknown:
        token = names.unknown[0]
        prefix = token.text.partition(":")[0]
        raise syntax_error(
            text,
            token.start,
            f'the prefix "{prefix}:" is not declared. Known without PREFIX: '
            + ", ".join(KNOWN)
            + "; or write the IRI in full, <http://...>",
        )


def explain(edits: Edits, message: str, selects: list[SelectQuery]) -> KgError:
    """The error of a text that Oxigraph refused, after `edits`, with this message."""
    text = edits.apply()
    tokens = tokens_of(text)[0]
    fault = fault_of(message)
    if fault is None:
        return KgError("syntax", f"the query does not parse: {message[:200]}")
    offset = offset_of(text, fault.at)
    for reason, remedy in _REASONS.items():
        if reason in fault.reason:
            return _meant(edits, offset, remedy, selects)
    token = fault_token(text, tokens, offset) or _at(tokens, offset)
    index = tokens.index(token)
    return syntax_error(edits.text, edits.origin(token.start), remedy_at(tokens, index))


def not_sparql(text: str) -> KgError:
    """The error of a text that only Oxigraph can read."""
    for token, follows in pairwise(tokens_of(text)[0]):
        beyond = token.says("LATERAL") or (token.text, follows.text) in (("<", "<"), ("!", "!"))
        if beyond:
            return syntax_error(text, token.start, f'"{token.text}" here is not SPARQL 1.1')
    return KgError("syntax", "the query is not SPARQL 1.1: write it with simpler parts")


def _meant(edits: Edits, offset: int, remedy: str, selects: list[SelectQuery]) -> KgError:
    """The error of a query that is well formed and makes no sense."""
    if "{column}" not in remedy:
        return syntax_error(edits.text, edits.origin(offset), remedy)
    for select in selects:
        for column in select.plain:
            name = column.text[1:]
            if select.grouped and name not in select.keys:
                remedy = remedy.format(column=name)
                return syntax_error(edits.text, column.start, remedy)
    return syntax_error(edits.text, edits.origin(offset), remedy.format(column="x"))


def _at(tokens: list[Token], offset: int) -> Token:
    return next((token for token in tokens if token.end > offset), tokens[-1])
