"""Syntax errors that say where, show the line, and name the likely remedy."""

import re
from typing import NamedTuple

from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.sparql.edits import Place, place
from branchwise.corpora.graph.sparql.prefixes import KNOWN, Names
from branchwise.corpora.graph.sparql.reading import FORMS
from branchwise.corpora.graph.sparql.tokens import Token

_POSITION = re.compile(r"error at (\d+):(\d+): expected (.*)", re.DOTALL)
_REASONS = ("The SELECT contains", "aggregate", "already", "Prefix not found", "not allowed")
_MAX_LINE = 160


class Fault(NamedTuple):
    """Where a parser stopped and what it said, in words that a person may read; or ""."""

    at: Place
    reason: str


def fault_of(message: str) -> Fault | None:
    """What Oxigraph's message says."""
    match = _POSITION.match(message)
    if match is None:
        return None
    reasons = [part.strip() for part in match[3].removeprefix("one of ").split(",")]
    told = next((r for r in reasons if any(known in r for known in _REASONS)), "")
    return Fault(Place(int(match[1]), int(match[2])), told)


def syntax_error(text: str, offset: int, remedy: str) -> GraphError:
    """The error at a character of a query: position, line with a caret below, remedy."""
    line, column = place(text, offset)
    lines = text.split("\n")
    shown = lines[line - 1].rstrip("\r").replace("\t", " ") if line <= len(lines) else ""
    first = max(0, column - 1 - _MAX_LINE // 2)
    caret = " " * (column - 1 - first) + "^"
    return GraphError(
        "syntax",
        f"syntax error at line {line}, column {column}: {remedy}\n"
        f"{shown[first : first + _MAX_LINE]}\n{caret}",
    )


def check_start(text: str, tokens: list[Token], names: Names) -> None:
    """Refuse text in which no query begins, and names with a prefix that nobody declared."""
    first = tokens[names.prologue_end]
    if not first.says(*FORMS):
        what = "nothing" if first.kind == "end" else f'"{first.text[:40]}"'
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


def remedy_for(text: str, offset: int, tokens: list[Token], reason: str) -> str:
    """What to do about an error at a character, as far as the text lets one guess."""
    if reason:
        return reason[0].lower() + reason[1:].rstrip(".")
    for guess in (_unclosed, _quote, _misplaced):
        remedy = guess(offset, tokens)
        if remedy:
            return remedy
    here = next((t for t in tokens if t.end > offset), tokens[-1])
    return "the query ends too early" if here.kind == "end" else f'"{here.text[:40]}" is unexpected'


def _unclosed(offset: int, tokens: list[Token]) -> str:
    closing = {"{": "}", "(": ")", "[": "]"}
    open_brackets: list[str] = []
    for token in tokens:
        if token.kind != "sign":
            continue
        if token.text in closing:
            open_brackets.append(token.text)
        elif token.text in closing.values():
            if not open_brackets or closing[open_brackets[-1]] != token.text:
                return f'"{token.text}" closes nothing: check the brackets before it'
            open_brackets.pop()
    if open_brackets:
        bracket = open_brackets[-1]
        return f'"{bracket}" is never closed: add the missing "{closing[bracket]}"'
    return ""


def _quote(offset: int, tokens: list[Token]) -> str:
    for token in tokens:
        if token.kind == "sign" and token.text in ('"', "'"):
            return (
                "a string does not end: close its quotation mark, and write a quotation mark "
                'inside it as \\"'
            )
    return ""


def _misplaced(offset: int, tokens: list[Token]) -> str:
    at = next((i for i, t in enumerate(tokens) if t.end > offset), len(tokens) - 1)
    token, last = tokens[at], tokens[at - 1]
    if token.says("NOT", "EXISTS"):
        return "write FILTER NOT EXISTS { ... } or FILTER EXISTS { ... }"
    if last.says("FILTER"):
        return "put the condition of FILTER in parentheses: FILTER(?x > 3)"
    if token.says("FILTER"):
        return "FILTER belongs inside the braces of WHERE, after a complete triple pattern"
    if token.kind == "word" and last.kind in ("variable", "name", "iri"):
        return (
            f'"{token.text}" is no name: write a property as wdt:P..., an entity as wd:Q..., '
            "a variable as ?name"
        )
    if token.says("AS"):
        return "put an expression and its name in parentheses: (COUNT(?x) AS ?n)"
    return ""
