"""What Wikidata's query service understands beyond SPARQL 1.1, written in SPARQL 1.1.

* commas between columns, and hints to its optimiser: left out;
* instants without a time of day or a time zone, `"1976-12-17"^^xsd:dateTime`: midnight, UTC;
* instants compared with days, `?date < "1977-01-01"^^xsd:date`: both as instants;
* strings between other marks than one `"` on each side: between these;
* `HAVING (?n > 3)` with the name of a column: its expression;
* `GROUP_CONCAT(?x)` over what is no text, such as entities and numbers: `GROUP_CONCAT(STR(?x))`.

And what SPARQL 1.1 allows and not every parser does: a space before a path's `*`, `+` or `?`
(rdflib's); a semicolon after the last property, and a GROUP_CONCAT without a separator (Virtuoso).
"""

from itertools import pairwise

from branchwise.kg.sparql.edits import Edits
from branchwise.kg.sparql.instants import DAY, INSTANT, is_day, whole_instant
from branchwise.kg.sparql.prefixes import QueryPrefixes
from branchwise.kg.sparql.reading import Reader
from branchwise.kg.sparql.strings import write_plainly
from branchwise.kg.sparql.structure import SelectQuery
from branchwise.kg.sparql.tokens import Token

_MODIFIERS = ("*", "+", "?")
_COMPARISONS = ("<", ">", "<=", ">=", "=", "!=")


def to_standard(edits: Edits, tokens: list[Token], reader: Reader) -> None:
    """Write what the query service's dialect has of its own in SPARQL 1.1."""
    for start, end in reader.removable:
        edits.replace(start, end)
    for at in range(1, len(tokens) - 2):
        if tokens[at].kind == "string":
            _instant(edits, tokens, at, reader.names)
        elif tokens[at].says("GROUP_CONCAT") and tokens[at + 1].says("("):
            _texts(edits, tokens, at + 2)
    write_plainly(edits, tokens)
    for select in reader.selects:
        for comma in select.commas:
            edits.replace(comma.start, comma.end)
        _name_in_having(edits, select)
    for before, token in pairwise(tokens):
        if token.says(*_MODIFIERS) and (before.kind in ("iri", "name") or before.says(")", "a")):
            edits.replace(before.end, token.start)
        if before.says(";") and token.says(";", ".", "}", "]"):
            edits.replace(before.start, before.end)


def _name_in_having(edits: Edits, select: SelectQuery) -> None:
    for token in select.having:
        span = select.expressions.get(token.text[1:])
        if span is not None:
            edits.replace(token.start, token.end, f"({edits.within(*span)})")


def _texts(edits: Edits, tokens: list[Token], at: int) -> None:
    """Join texts: in SPARQL 1.1 one value that is none leaves the whole without a value."""
    first = at + tokens[at].says("DISTINCT")
    end = _end(tokens, first)
    text = tokens[first].says("STR") and _closing(tokens, first + 1) == end - 1
    if end > first and not text:
        edits.insert(tokens[first].start, "STR(")
        edits.insert(tokens[end - 1].end, ")")
    if end > first and tokens[end].says(")"):
        edits.insert(tokens[end].start, '; SEPARATOR=" "')


def _end(tokens: list[Token], at: int) -> int:
    """Where the expression that begins at a token has ended."""
    while tokens[at].kind != "end" and not tokens[at].says(",", ";", ")"):
        at = _closing(tokens, at) + 1
    return at


def _closing(tokens: list[Token], at: int) -> int:
    """The bracket that closes the one at a token; the token itself where it opens none."""
    level = 0
    for number, token in enumerate(tokens[at:], at):
        level += token.says("(") - token.says(")")
        if level == 0:
            return number
    return len(tokens) - 2


def _instant(edits: Edits, tokens: list[Token], at: int, names: QueryPrefixes) -> None:
    """Write a literal, or the text in a cast, as an instant where one is meant."""
    string = tokens[at]
    typed = names.iri(tokens[at + 2]) if tokens[at + 1].says("^^") else None
    cast = tokens[at - 1].says("(") and names.iri(tokens[at - 2]) == INSTANT
    whole = whole_instant(string.text)
    if (typed == INSTANT or cast) and whole != string.text:
        edits.replace(string.start, string.end, whole)
    elif typed == DAY and is_day(string.text):
        other = _compared(tokens, at)
        if other is not None:
            edits.replace(string.start, tokens[at + 2].end, f"{whole}^^<{INSTANT}>")
            edits.replace(other.start, other.end, f"<{INSTANT}>({other.text})")


def _compared(tokens: list[Token], at: int) -> Token | None:
    """The variable that a literal is compared with, alone."""
    before, after = tokens[max(0, at - 3) : at], tokens[at + 3 : at + 6]
    if len(before) == 3 and before[2].says(*_COMPARISONS) and before[1].kind == "variable":
        return before[1] if before[0].says("(", "&&", "||") else None
    if len(after) == 3 and after[0].says(*_COMPARISONS) and after[1].kind == "variable":
        return after[1] if after[2].says(")", "&&", "||") else None
    return None
