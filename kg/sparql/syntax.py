"""Syntax errors that say where, show the line, and name the likely remedy.

Oxigraph's parser tries keywords by length, so the place that its message names lies past the fault
by as much as the longest keyword that it tried there. A beginning of a query that something could
complete has no fault: the longest such beginning ends where the fault is.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from branchwise.kg.answers import KgError
from branchwise.kg.sparql.reading import FORMS
from branchwise.kg.sparql.structure import KNOWN, QueryPrefixes, SelectQuery
from branchwise.kg.sparql.tokens import (
    Edits,
    TextPosition,
    Token,
    offset_of,
    place,
    tokens_of,
    wrong_escape,
)


def objection(text: str) -> str:
    """What Oxigraph's parser says against a query; "" where it has nothing to say.

    The query is not evaluated: `Store.query` evaluates what it can at once, and would ask a server
    for a SERVICE clause even on an empty store, so it is given options that it refuses, which it
    looks at after parsing.
    """
    import pyoxigraph

    refused = pyoxigraph.DefaultGraph()
    try:
        pyoxigraph.Store().query(text, use_default_graph_as_union=True, default_graph=refused)
    except SyntaxError as error:
        return str(error) or "it does not parse"
    except ValueError:
        return ""
    raise RuntimeError("pyoxigraph ran a query that it was only to parse")


_CLOSING = {"{": "}", "(": ")", "[": "]"}
_MISSING = (
    *("", "?v_", "?v_ ?w_", "?v_ ?w_ ?u_", "?v_ { }", "(?v_)", "(?v_ AS ?w_)", "AS ?v_"),
    *("1", "1 1", "(1)", "1 AS ?v_", "= 1", "()", "{ }", "* { }", "{ ?v_ ?w_ ?u_ }"),
    *("BY ?v_", "EXISTS { }", "<a:b>", ": <a:b>"),
)
_FURTHEST = 40
"""Tokens before the place that Oxigraph names at which a fault is looked for."""
_MOST_TOKENS = 600


def fault_token(text: str, tokens: list[Token], offset: int) -> Token | None:
    """The first token that nothing allows, at `offset` or before; the "end" token where more must
    follow; None where no beginning near there can be completed, or the text is long.
    """
    if len(tokens) > _MOST_TOKENS:
        return None
    last = next((i for i, token in enumerate(tokens) if token.start >= offset), len(tokens) - 1)
    for at in range(last, max(-1, last - _FURTHEST), -1):
        if at < len(tokens) and _completes(text[: tokens[at - 1].end] if at else "", tokens[:at]):
            return tokens[at]
    return None


def _completes(beginning: str, tokens: list[Token]) -> bool:
    opened = _opened(tokens)
    closings = {" ".join(_CLOSING[bracket] for bracket in reversed(opened))}
    if "(" in opened:
        first = len(opened) - 1 - opened[::-1].index("(")
        while first and opened[first - 1] == "(":
            first -= 1
        inner = " ".join(_CLOSING[bracket] for bracket in reversed(opened[first + 1 :]))
        outer = " ".join(_CLOSING[bracket] for bracket in reversed(opened[:first]))
        closings.add(f"{inner} AS ?x_) {outer}")
    return any(
        not objection(f"{beginning} {missing} {closing} {tail}")
        for closing in closings
        for tail in ("", "{ }", "SELECT * { }")
        for missing in _MISSING
    )


def _opened(tokens: list[Token]) -> list[str]:
    opened: list[str] = []
    for token in tokens:
        if token.says(*_CLOSING):
            opened.append(token.text)
        elif token.says(*_CLOSING.values()) and opened:
            opened.pop()
    return opened


_TERMS = ("variable", "name", "iri", "string", "number", "blank")
_FOREIGN = {
    "UNION": "put both sides of UNION in braces: { ... } UNION { ... }",
    "AND": "write && for and, || for or",
    "OR": "write && for and, || for or",
    "LIKE": 'there is no LIKE: write CONTAINS(STR(?x), "...") or REGEX(STR(?x), "...")',
    "TOP": 'there is no TOP: write LIMIT 10 after the last "}"',
    "JOIN": "there is no JOIN: triple patterns that share a variable are joined",
}


def remedy_at(tokens: list[Token], at: int) -> str:
    """What to do about the token `at`, the first that cannot stand where it does."""
    for guess in _GUESSES:
        remedy = guess(tokens, at)
        if remedy:
            return remedy
    token = tokens[at]
    if token.kind == "end":
        return "the query ends too early"
    return f'"{token.text[:40]}" is unexpected here'


def _foreign(tokens: list[Token], at: int) -> str:
    """Words of other languages, and of this one where they cannot stand."""
    token, last = tokens[at], tokens[at - 1]
    if token.kind == "word" and token.text.upper() in _FOREIGN:
        return _FOREIGN[token.text.upper()]
    if token.says("=") and last.says("="):
        return "write = once to compare"
    if token.says("(") and last.kind == "name":
        return 'leave out what is in parentheses after a name, or write it as a comment, "# ..."'
    if last.says("WHERE"):
        return "what follows WHERE stands in braces: WHERE { ... }"
    if token.says("<", ">", "<=", ">=", "!=") and last.kind in ("name", "iri"):
        return "compare in a FILTER: ?x wdt:P569 ?date . FILTER(?date > ...)"
    return ""


def _quote(tokens: list[Token], at: int) -> str:
    broken = any(token.kind == "sign" and token.text in ('"', "'") for token in tokens)
    if broken or (at and tokens[at - 1].kind == "string" and tokens[at].kind in ("word", "string")):
        return (
            "a string does not end: close its quotation mark, and write a quotation mark "
            'inside it as \\"'
        )
    return ""


def _brackets(tokens: list[Token], at: int) -> str:
    closing = {"{": "}", "(": ")", "[": "]"}
    opened: list[str] = []
    for token in tokens[: at + 1]:
        if token.says(*closing):
            opened.append(token.text)
        elif token.says(*closing.values()):
            if not opened or closing[opened[-1]] != token.text:
                inside = f'inside "{opened[-1]}"' if opened else "and nothing is open"
                return f'"{token.text}" {inside}: check the brackets before it'
            opened.pop()
    if opened and tokens[at].kind == "end":
        return f'"{opened[-1]}" is never closed: add the missing "{closing[opened[-1]]}"'
    return ""


def _misplaced(tokens: list[Token], at: int) -> str:
    token, last = tokens[at], tokens[at - 1]
    if token.says("NOT", "EXISTS") or last.says("NOT"):
        return "write FILTER NOT EXISTS { ... } or FILTER EXISTS { ... }"
    if last.says("FILTER"):
        return "put the condition of FILTER in parentheses: FILTER(?x > 3)"
    if token.says("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT", "AS"):
        return "put an expression and its name in parentheses: (COUNT(?x) AS ?n)"
    if last.says("AS") and token.kind == "variable":
        return f"{token.text} has a value already: choose a new name after AS"
    for word in (token, last):
        if word.says("DESC", "ASC"):
            return f"write {word.text.upper()}(?x), around what is ordered by"
    if token.says("LIMIT", "ORDER", "GROUP", "HAVING", "OFFSET"):
        order = "in the order GROUP BY, HAVING, ORDER BY, LIMIT"
        return f'{token.text.upper()} belongs after the last "}}", {order}'
    if token.says("FILTER", "BIND", "OPTIONAL"):
        return f"{token.text.upper()} belongs inside the braces, after a complete triple pattern"
    if token.kind == "iri":
        return "an IRI in angle brackets must be complete, <http://...>"
    if last.says("LIMIT", "OFFSET"):
        return "LIMIT and OFFSET take a number"
    return ""


def _incomplete(tokens: list[Token], at: int) -> str:
    token, last = tokens[at], tokens[at - 1]
    if token.kind == "word" and tokens[at + 1].says("("):
        return f'there is no function "{token.text}" in SPARQL 1.1'
    if token.kind == "word" and last.kind in ("variable", "name", "iri"):
        return (
            f'"{token.text}" is no name: write a property as wdt:P..., an entity as wd:Q..., '
            "a variable as ?name"
        )
    if token.says("}", ".", ";") and last.kind in ("variable", "name", "iri", "string"):
        return "a triple pattern has three parts, subject property value: one is missing"
    if token.kind in ("variable", "name", "iri", "string") and last.kind in _TERMS:
        return f'"{token.text[:40]}" is one part too many: end a triple pattern with "."'
    return ""


_GUESSES = (_quote, _brackets, _foreign, _misplaced, _incomplete)


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
