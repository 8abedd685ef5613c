"""What to do about a word that cannot stand where it does, as far as one can guess."""

from branchwise.kg.sparql.tokens import Token

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
