"""What is refused: text that does not parse, with where, the line and the likely remedy; and what a
query may not do, decided on its tokens and again on its syntax tree.

Oxigraph's parser tries keywords by length, so the place that its message names lies past the fault
by as much as the longest keyword that it tried there. A beginning of a query that something could
complete has no fault: the longest such beginning ends where the fault is.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NoReturn

from branchwise.kg.answers import KgError
from branchwise.kg.sparql.reading import FORMS
from branchwise.kg.sparql.structure import KNOWN, LABEL_SERVICE, QueryPrefixes, SelectQuery
from branchwise.kg.sparql.tokens import (
    Edits,
    TextPosition,
    Token,
    all_plain,
    depth,
    offset_of,
    place,
    tokens_of,
    wrong_escape,
)


def objection(text: str) -> str:
    """What Oxigraph's parser says against a query; "" where it has nothing to say.

    It is given options that it refuses after parsing: `Store.query` would evaluate what it can at
    once, and ask a server for a SERVICE clause even on an empty store.
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
_FURTHEST = 40  # tokens before the place that Oxigraph names at which a fault is looked for
_MOST_TOKENS = 600


def fault_token(text: str, tokens: list[Token], offset: int) -> Token | None:
    """The first token that nothing allows, at `offset` or before; the "end" token where more must
    follow; None where no beginning near there can be completed, or the text is long."""
    if len(tokens) > _MOST_TOKENS:
        return None
    last = next((i for i, token in enumerate(tokens) if token.start >= offset), len(tokens) - 1)
    for at in range(last, max(-1, last - _FURTHEST), -1):
        if _completes(text[: tokens[at - 1].end] if at else "", tokens[:at]):
            return tokens[at]
    return None


def _completes(beginning: str, tokens: list[Token]) -> bool:
    opened: list[str] = []
    for token in tokens:
        if token.says(*_CLOSING):
            opened.append(token.text)
        elif token.says(*_CLOSING.values()) and opened:
            opened.pop()
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
    if remedy := next(filter(None, (guess(tokens, at) for guess in _GUESSES)), None):
        return remedy
    token = tokens[at]
    unexpected = f'"{token.text[:40]}" is unexpected here'
    return "the query ends too early" if token.kind == "end" else unexpected


def _foreign(tokens: list[Token], at: int) -> str:
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
        end = "close its quotation mark, and write a quotation mark"
        return f'a string does not end: {end} inside it as \\"'
    return ""


def _brackets(tokens: list[Token], at: int) -> str:
    opened: list[str] = []
    for token in tokens[: at + 1]:
        if token.says(*_CLOSING):
            opened.append(token.text)
        elif token.says(*_CLOSING.values()):
            if not opened or _CLOSING[opened[-1]] != token.text:
                inside = f'inside "{opened[-1]}"' if opened else "and nothing is open"
                return f'"{token.text}" {inside}: check the brackets before it'
            opened.pop()
    if opened and tokens[at].kind == "end":
        return f'"{opened[-1]}" is never closed: add the missing "{_CLOSING[opened[-1]]}"'
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
    if word := next((word for word in (token, last) if word.says("DESC", "ASC")), None):
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
        if (at := wrong_escape(token)) is not None:
            shown = text[at : at + 2] if text[at : at + 2].isprintable() else "\\"
            raise syntax_error(text, at, f"write a backslash twice in a string: \\{shown}")


def check_start(text: str, tokens: list[Token], names: QueryPrefixes) -> None:
    """Refuse text in which no query begins, and names with an undeclared prefix."""
    first = tokens[names.prologue_end]
    if not first.says(*FORMS):
        begins = "nothing" if first.kind == "end" else f'"{first.text[:40]}"'
        remedy = f"a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE, not {begins}"
        if first.says("PREFIX", "BASE"):
            remedy = "a declaration is PREFIX name: <http://...>, with angle brackets"
        raise syntax_error(text, first.start, remedy)
    for token in names.unknown:
        declare = f'the prefix "{token.text.partition(":")[0]}:" is not declared'
        known = f"Known without PREFIX: {', '.join(KNOWN)}; or write the IRI in full, <http://...>"
        raise syntax_error(text, token.start, f"{declare}. {known}")


def explain(edits: Edits, message: str, selects: list[SelectQuery]) -> KgError:
    match = _POSITION.match(message)
    if match is None:
        return KgError("syntax", f"the query does not parse: {message[:200]}")
    text = edits.apply()
    # The place that Oxigraph names is past the fault.
    offset = offset_of(text, TextPosition(int(match[1]), int(match[2])))
    for reason, remedy in _REASONS.items():
        if reason in match[3]:
            return _meant(edits, offset, remedy, selects)
    tokens = tokens_of(text)[0]
    nearest = next((token for token in tokens if token.end > offset), tokens[-1])
    token = fault_token(text, tokens, offset) or nearest
    remedy = remedy_at(tokens, tokens.index(token))
    return syntax_error(edits.text, edits.origin(token.start), remedy)


def not_sparql(text: str) -> KgError:
    """The error of a text that only Oxigraph can read."""
    for token, follows in pairwise(tokens_of(text)[0]):
        if token.says("LATERAL") or (token.text, follows.text) in (("<", "<"), ("!", "!")):
            return syntax_error(text, token.start, f'"{token.text}" here is not SPARQL 1.1')
    return KgError("syntax", "the query is not SPARQL 1.1: write it with simpler parts")


def _meant(edits: Edits, offset: int, remedy: str, selects: list[SelectQuery]) -> KgError:
    if "{column}" not in remedy:
        return syntax_error(edits.text, edits.origin(offset), remedy)
    for select in selects:
        for column in select.plain:
            name = column.text[1:]
            if select.grouped and name not in select.keys:
                remedy = remedy.format(column=name)
                return syntax_error(edits.text, column.start, remedy)
    return syntax_error(edits.text, edits.origin(offset), remedy.format(column="x"))


MAX_DEPTH = 24
MAX_PREPARED = 65_536
"""Characters of a query with its look-ups of labels."""
MAX_STEPS = 100
"""Triple patterns and steps of paths. Oxigraph takes 1 s to order a hundred, 12 s for two."""
_UPDATES = ("INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "COPY", "MOVE", "ADD", "USING")
_READ_ONLY = "only SELECT, ASK, CONSTRUCT and DESCRIBE are answered: the graph is read-only"
_ONE_GRAPH = "there is one graph: leave {word} out and write its patterns directly"
_ALONE = (
    "SERVICE is not answered, except `SERVICE wikibase:label`: "
    "to find an entity by name call wikidata_search, and ask for the rest with triple patterns"
)
_NAMED = (
    "named subqueries (WITH ... AS %name, INCLUDE) are not SPARQL 1.1: "
    "write a subquery, { SELECT ... WHERE { ... } }, where INCLUDE stands"
)
_FUNCTION = (
    "functions named by IRI are not answered, except casts such as xsd:integer(?x): "
    "use SPARQL 1.1's own functions"
)

_CLAUSE = re.compile(r"(?i)(?<=s)e(?=rvice)|(?<=g)r(?=aph)|(?<=f)r(?=om)")
_AMBIGUOUS = re.compile(r"<(?!https?://)[^>]*['#]")
"""`?a<?b#>` is a variable and an IRI here; to others it may be a comparison and a comment."""


def check_depth(tokens: list[Token]) -> None:
    """Refuse what nests deeper than the parsers can follow. Raises KgError."""
    if depth(tokens) > MAX_DEPTH:
        message = f"the query nests more than {MAX_DEPTH} brackets deep: write it with fewer"
        raise KgError("resources", f"{message}, or ask in several queries")


def check_steps(tokens: list[Token], patterns: int) -> None:
    """Refuse a query of too many patterns, with steps of paths. Raises KgError."""
    if patterns + sum(token.says("/") for token in tokens) > MAX_STEPS:
        message = f"the query has more than {MAX_STEPS} triple patterns and steps of paths"
        raise KgError("resources", f"{message}: ask in several queries")


def check_size(characters: int) -> None:
    """Refuse a query that has become too long. Raises KgError."""
    if characters > MAX_PREPARED:
        message = "the query asks for too many labels, descriptions and aliases at once"
        raise KgError("resources", f"{message}: leave some out, or ask in several queries")


def check_tokens(tokens: list[Token], names: QueryPrefixes) -> None:
    """Refuse updates, other data and other servers. Raises KgError."""
    # What could hide a clause in a string from one parser and show it to another.
    if any(token.kind == "string" and "service" in token.text.lower() for token in tokens):
        for token in tokens:
            if token.kind == "iri" and _AMBIGUOUS.match(token.text):
                _refuse(
                    f"{token.text[:40]} may be an IRI or a comparison: "
                    "write IRIs in full, and a space on both sides of <"
                )
    for at, token in enumerate(tokens):
        if token.says(*_UPDATES):
            _refuse(f"{token.text.upper()}: {_READ_ONLY}")
        if token.says("WITH", "INCLUDE"):
            _refuse(_NAMED)
        if token.says("FROM", "GRAPH"):
            _refuse(_ONE_GRAPH.format(word=token.text.upper()))
        if token.says("SERVICE"):
            name = tokens[at + 2 if tokens[at + 1].says("SILENT") else at + 1]
            if names.iri(name) != LABEL_SERVICE:
                _refuse(_ALONE)


def check_reading(text: str) -> None:
    """Refuse a text that is to run and asks a server, label service or not, or other data. Where
    the words for this are in it, in strings, IRIs or names, Oxigraph must read the text with other
    words in their places: if it took one for a clause, it cannot. Raises KgError."""
    tokens = tokens_of(text)[0]
    if any(token.says("SERVICE") for token in tokens):
        _refuse("`SERVICE wikibase:label` belongs inside the braces of WHERE")
    misspelt = _CLAUSE.sub("x", text)
    if not all_plain(tokens) or (misspelt != text and objection(misspelt)):
        _refuse("the query can be read in two ways: write its strings and IRIs more simply")


def check_tree(tree: Any) -> None:
    """Refuse the same, as rdflib's parser reads the text that will run. Raises KgError."""
    declared = (part for part in tree[0] if part.name == "PrefixDecl")
    prefixes = {str(part.get("prefix") or ""): str(part.iri) for part in declared}
    for node in _nodes(tree):
        if node.name == "ServiceGraphPattern":
            _refuse(_ALONE)
        if node.name == "GraphGraphPattern" or node.name == "DatasetClause":
            _refuse(_ONE_GRAPH.format(word="GRAPH" if "Graph" in node.name else "FROM"))
        if node.name == "Function":
            iri = str(node.iri)
            if getattr(node.iri, "name", None) == "pname":
                prefix = str(node.iri.get("prefix") or "")
                iri = prefixes.get(prefix, "") + str(node.iri.localname)
            if not iri.startswith(KNOWN["xsd"]):
                _refuse(_FUNCTION)


def _nodes(tree: Any) -> Iterator[Any]:
    from rdflib.plugins.sparql.parserutils import CompValue

    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, CompValue):
            yield node
            pending.extend(node.values())
        elif not isinstance(node, str):
            try:
                pending.extend(node)
            except TypeError:
                continue


def _refuse(message: str) -> NoReturn:
    raise KgError("refused", message)
