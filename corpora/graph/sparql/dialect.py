"""What Wikidata's query service understands beyond SPARQL 1.1, written in SPARQL 1.1.

* commas between columns, and hints to its optimiser: left out;
* instants without a time of day or a time zone, `"1976-12-17"^^xsd:dateTime`: midnight, UTC;
* instants compared with days, `?date < "1977-01-01"^^xsd:date`: both as instants;
* strings between other marks than one `"` on each side: between these;
* `HAVING (?n > 3)` with the name of a column: its expression.

And what SPARQL 1.1 allows and rdflib's parser does not: a space before a path's `*`, `+` or `?`.
"""

from itertools import pairwise

from branchwise.corpora.graph.sparql.edits import Edits
from branchwise.corpora.graph.sparql.instants import DAY, INSTANT, is_day, whole_instant
from branchwise.corpora.graph.sparql.prefixes import Names
from branchwise.corpora.graph.sparql.reading import Reader
from branchwise.corpora.graph.sparql.strings import write_plainly
from branchwise.corpora.graph.sparql.structure import Select
from branchwise.corpora.graph.sparql.tokens import Token

_MODIFIERS = ("*", "+", "?")
_COMPARISONS = ("<", ">", "<=", ">=", "=", "!=")


def to_standard(edits: Edits, tokens: list[Token], reader: Reader) -> None:
    """Write what the query service's dialect has of its own in SPARQL 1.1."""
    for start, end in reader.removable:
        edits.replace(start, end)
    for at in range(1, len(tokens) - 2):
        if tokens[at].kind == "string":
            _instant(edits, tokens, at, reader.names)
    write_plainly(edits, tokens)
    for select in reader.selects:
        for comma in select.commas:
            edits.replace(comma.start, comma.end)
        _name_in_having(edits, select)
    for before, token in pairwise(tokens):
        if token.says(*_MODIFIERS) and (before.kind in ("iri", "name") or before.says(")", "a")):
            edits.replace(before.end, token.start)


def _name_in_having(edits: Edits, select: Select) -> None:
    for token in select.having:
        span = select.expressions.get(token.text[1:])
        if span is not None:
            edits.replace(token.start, token.end, f"({edits.within(*span)})")


def _instant(edits: Edits, tokens: list[Token], at: int, names: Names) -> None:
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
