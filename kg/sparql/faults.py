"""What Oxigraph's parser says against a text, and where in it the grammar is left.

The parser tries keywords by length, so the place that its message names lies past the fault by as
much as the longest keyword that it tried there. A beginning of a query that something could
complete has no fault: the longest such beginning ends where the fault is.
"""

from branchwise.kg.sparql.tokens import Token


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
