"""A query as a model wrote it, made ready to run: read-only, complete, plain SPARQL 1.1.

What Wikidata's query service understands beyond SPARQL 1.1 is written in SPARQL 1.1:

* commas between columns, and hints to its optimiser: left out;
* instants without a time of day or a time zone, `"1976-12-17"^^xsd:dateTime`: midnight, UTC;
* instants compared with days, `?date < "1977-01-01"^^xsd:date`: both as instants;
* strings between other marks than one `"` on each side: between these;
* `HAVING (?n > 3)` with the name of a column: its expression;
* `GROUP_CONCAT(?x)` over what is no text, such as entities and numbers: `GROUP_CONCAT(STR(?x))`.

And what SPARQL 1.1 allows and not every parser does: a space before a path's `*`, `+` or `?`
(rdflib's); a semicolon after the last property, and a GROUP_CONCAT without a separator (Virtuoso).
"""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Any, Literal, NamedTuple, cast

from branchwise.kg.answers import MAX_QUERY_BYTES, KgError
from branchwise.kg.sparql.labels import Labels, languages_of, services_of
from branchwise.kg.sparql.reading import Reader
from branchwise.kg.sparql.refusals import (
    check_depth,
    check_escapes,
    check_reading,
    check_size,
    check_start,
    check_steps,
    check_tokens,
    check_tree,
    explain,
    not_sparql,
    objection,
)
from branchwise.kg.sparql.structure import (
    DAY,
    INSTANT,
    GroupPattern,
    QueryPrefixes,
    SelectQuery,
    Triple,
    is_day,
    whole_instant,
)
from branchwise.kg.sparql.tokens import (
    Edits,
    Span,
    Token,
    expand_codepoints,
    tokens_of,
    write_plainly,
)

_NUMBERED = re.compile(r"http://www\.wikidata\.org/(?:entity/|prop/(?:[a-z-]+/)*)([QPL][0-9]+)")


class Mention(NamedTuple):
    """A Wikidata number in a query, with its required `pattern` and its triple's `variables`."""

    id: str
    iri: str
    pattern: int | None
    variables: tuple[str, ...]


def required(where: GroupPattern) -> list[Triple]:
    """The triple patterns of a group and of the plain groups in it."""
    patterns = list(where.triples)
    for group in where.groups:
        if group.kind == "plain" and group.select is None:
            patterns += required(group)
    return sorted(patterns, key=lambda triple: triple.start)


def alternatives(where: GroupPattern) -> list[list[Triple]]:
    """What `required` leaves out: the patterns of each branch of the first UNION, else of the only
    subselect. A branch or subselect that holds nothing but the same counts as what is in it."""
    if where.select is not None:
        return _within(where, set())
    groups = _joined(where)
    outside = {name for triple in required(where) for name in triple.variables}
    first = next((group for group in groups if group.kind == "union"), None)
    if first is not None and first.parent is not None:
        # The branches after it begin with the word UNION.
        later = first.parent.groups[first.parent.groups.index(first) + 1 :]
        others = takewhile(lambda group: group.kind == "union" and group.head < group.start, later)
        return [way for side in (first, *others) for way in _within(side, outside)]
    selects = [group for group in groups if group.select is not None]
    return _within(selects[0], outside) if len(selects) == 1 else []


def _joined(where: GroupPattern) -> list[GroupPattern]:
    """The groups that every solution joins, in order: plain ones, those in them, and branches."""
    groups = []
    for group in where.groups:
        if group.kind in ("plain", "union"):
            groups.append(group)
        if group.kind == "plain" and group.select is None:
            groups += _joined(group)
    return groups


def _within(group: GroupPattern, outside: set[str]) -> list[list[Triple]]:
    """The patterns of a branch or subselect, each way to match it, hidden variables renamed."""
    inside = group if group.select is None else group.select.where
    patterns = required(inside)
    ways = [patterns] if patterns else alternatives(inside) or [[]]
    if group.select is None:
        return ways
    hidden = {f"?{name}" for name in outside.difference(group.select.columns())}
    renamed: list[list[Triple]] = []
    for way in ways:
        renamed.append([])
        for triple in way:
            terms = (triple.subject, triple.predicate, triple.object)
            subject, verb, value = (f"{t}_inside" if t in hidden else t for t in terms)
            text = f"{subject} {verb} {value}"
            other = replace(triple, text=text, subject=subject, predicate=verb, object=value)
            renamed[-1].append(other)
    return renamed


def mentions_of(
    tokens: list[Token], names: QueryPrefixes, selects: list[SelectQuery], patterns: list[Triple]
) -> tuple[Mention, ...]:
    """Every number that a query names, in order, once for each triple pattern."""
    index = {id(triple): number for number, triple in enumerate(patterns)}
    owner: dict[int, Triple] = {}
    for select in selects:
        for group in select.where.nested():
            for triple in group.triples:
                for token in triple.tokens:
                    owner.setdefault(token.start, triple)
    mentions: dict[tuple[str, int | None], Mention] = {}
    for token in tokens[names.prologue_end :]:
        iri = names.iri(token) if token.kind in ("iri", "name") else None
        match = _NUMBERED.fullmatch(iri or "")
        if match is None:
            continue
        in_triple = owner.get(token.start)
        number = None if in_triple is None else index.get(id(in_triple))
        variables = () if in_triple is None else in_triple.variables
        mention = Mention(match[1], match[0], number, variables)
        mentions.setdefault((mention.iri, id(in_triple) if in_triple else None), mention)
    return tuple(mentions.values())


_MODIFIERS = ("*", "+", "?")
_COMPARISONS = ("<", ">", "<=", ">=", "=", "!=")


def to_standard(edits: Edits, tokens: list[Token], reader: Reader) -> None:
    """Write what the query service's dialect has of its own in SPARQL 1.1."""
    for start, end in reader.removable:
        edits.replace(start, end)
    for at in range(1, len(tokens) - 2):
        if tokens[at].kind == "string":
            # Write a literal, or the text in a cast, as an instant where one is meant.
            string = tokens[at]
            typed = reader.names.iri(tokens[at + 2]) if tokens[at + 1].says("^^") else None
            cast = tokens[at - 1].says("(") and reader.names.iri(tokens[at - 2]) == INSTANT
            whole = whole_instant(string.text)
            if (typed == INSTANT or cast) and whole != string.text:
                edits.replace(string.start, string.end, whole)
            elif typed == DAY and is_day(string.text):
                other = _compared(tokens, at)
                if other is not None:
                    edits.replace(string.start, tokens[at + 2].end, f"{whole}^^<{INSTANT}>")
                    edits.replace(other.start, other.end, f"<{INSTANT}>({other.text})")
        elif tokens[at].says("GROUP_CONCAT") and tokens[at + 1].says("("):
            _texts(edits, tokens, at + 2)
    write_plainly(edits, tokens)
    for select in reader.selects:
        for comma in select.commas:
            edits.replace(comma.start, comma.end)
        for token in select.having:
            span = select.expressions.get(token.text[1:])
            if span is not None:
                edits.replace(token.start, token.end, f"({edits.within(*span)})")
    for before, token in pairwise(tokens):
        if token.says(*_MODIFIERS) and (before.kind in ("iri", "name") or before.says(")", "a")):
            edits.replace(before.end, token.start)
        if before.says(";") and token.says(";", ".", "}", "]"):
            edits.replace(before.start, before.end)


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
    while tokens[at].kind != "end" and not tokens[at].says(",", ";", ")"):
        at = _closing(tokens, at) + 1
    return at


def _closing(tokens: list[Token], at: int) -> int:
    level = 0
    for number, token in enumerate(tokens[at:], at):
        level += token.says("(") - token.says(")")
        if level == 0:
            return number
    return len(tokens) - 2


def _compared(tokens: list[Token], at: int) -> Token | None:
    before, after = tokens[max(0, at - 3) : at], tokens[at + 3 : at + 6]
    if len(before) == 3 and before[2].says(*_COMPARISONS) and before[1].kind == "variable":
        return before[1] if before[0].says("(", "&&", "||") else None
    if len(after) == 3 and after[0].says(*_COMPARISONS) and after[1].kind == "variable":
        return after[1] if after[2].says(")", "&&", "||") else None
    return None


QueryForm = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]
_FENCE = re.compile(r"```(?:[a-zA-Z]*[ \t]*\n)?(.*?)(?:```|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\[uU][0-9A-Fa-f]{4}|(?<!\\)(?:\\\\)*\\[uU]")
"""What some parser may expand once more: rdflib's takes `\\\\u0041` and `\\U0041` for escapes."""


@dataclass(frozen=True)
class Prepared:
    """A query that may run.

    `text`: plain SPARQL 1.1 with its prefixes. `variables`: the columns of a SELECT, else None.
    `patterns`: the triple patterns that every solution must match, with full IRIs, in order:
    those of the outermost group and of plain groups in it. `mentioned`: Wikidata numbers in it.

    `alternatives`: to explain an empty result where `patterns` says too little, the patterns of
    each branch of the first UNION of these groups, else those of their only subselect, of which
    every solution matches one, together with `patterns`. Hidden variables have other names. ()
    where there is neither; an alternative () asks for no pattern (a branch of VALUES). A Wikidata
    number in them is a `Mention` without `pattern`.
    """

    text: str
    form: QueryForm
    variables: tuple[str, ...] | None
    patterns: tuple[str, ...]
    mentioned: tuple[Mention, ...]
    alternatives: tuple[tuple[str, ...], ...] = ()


def prepare(text: str) -> Prepared:
    """Make a query ready to run. A pure function of the text; some 20 ms, most of it in rdflib.
    Raises KgError: "refused" (not read-only, too long, another server), "syntax" (with line,
    column, and the line), "resources" (nesting, too many patterns)."""
    text = _tidy(text)
    tokens, comments = tokens_of(text)
    check_depth(tokens)
    names = QueryPrefixes(tokens)
    check_tokens(tokens, names)
    check_escapes(text, tokens)
    check_start(text, tokens, names)
    reader = Reader(tokens, names)
    query = cast(SelectQuery, reader.query())
    check_steps(tokens, reader.patterns)
    edits = _runnable(text, tokens, comments, reader)
    patterns = required(query.where)
    form = cast(QueryForm, query.form)
    return Prepared(
        text=edits.apply(),
        form=form,
        variables=query.columns() if form == "SELECT" else None,
        patterns=tuple(triple.text for triple in patterns),
        mentioned=mentions_of(tokens, names, reader.selects, patterns),
        alternatives=tuple(tuple(t.text for t in branch) for branch in alternatives(query.where)),
    )


def _tidy(text: str) -> str:
    if len(text.encode("utf-8", "replace")) > MAX_QUERY_BYTES:
        message = f"the query is longer than {MAX_QUERY_BYTES} bytes: ask for less at once"
        raise KgError("refused", message)
    fenced = _FENCE.search(text)
    text = (fenced[1] if fenced else text).lstrip("\ufeff").rstrip().rstrip(";")
    text = re.sub(r"\A\s*sparql\b(?!\s*:)", "", text, flags=re.IGNORECASE)
    try:
        text = expand_codepoints(text)
        text.encode()
    except ValueError as error:
        raise KgError("syntax", f"not a character: {str(error)[:80]}") from None
    if _ESCAPE.search(text):
        raise KgError(
            "refused",
            "a broken character escape: write the character itself, or \\u with four hexadecimal "
            "digits; for a backslash in a string, two of them",
        )
    return text


def _runnable(text: str, tokens: list[Token], comments: list[Span], reader: Reader) -> Edits:
    """The edits that make a text run, its labels supplied. Raises KgError. Where look-ups of labels
    do not parse, it runs without them. Errors have the places of the text without;
    so has the tree: rdflib's parser takes twice as long over look-ups as over the rest."""
    plain = _edits(text, tokens, comments, reader)
    edits = _edits(text, tokens, comments, reader)
    # The innermost select gets its labels first.
    services = [group for select in reader.selects for group in services_of(select.where)]
    taken = {token.text[1:] for token in tokens if token.kind == "variable"}
    labels = Labels(edits, taken, languages_of(services))
    for select in reversed(reader.selects):
        labels.supply(select)
    if objection(edits.apply()):
        edits = plain
        message = objection(plain.apply())
        if message:
            raise explain(plain, message, reader.selects)
    check_size(len(edits.apply()))
    check_reading(edits.apply())
    check_tree(_tree(plain))
    return edits


def _edits(text: str, tokens: list[Token], comments: list[Span], reader: Reader) -> Edits:
    edits = Edits(text)
    missing = reader.names.missing
    edits.insert(0, "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in sorted(missing.items())))
    for start, end in comments:
        edits.replace(start, end)
    to_standard(edits, tokens, reader)
    for select in reader.selects:
        for service in services_of(select.where):
            edits.replace(service.head, service.end, "." if service.open_before else "")
    return edits


def _tree(edits: Edits) -> Any:
    """rdflib's syntax tree of the new text. Raises KgError. A thread of its own has frames for the
    parser, which takes some thirty a bracket, however deep its caller stands."""
    from pyparsing import ParseBaseException
    from rdflib.plugins.sparql.parser import parseQuery

    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(parseQuery, edits.apply()).result()
    except RecursionError:
        message = "the query nests too deep: write it with fewer brackets"
        raise KgError("resources", message) from None
    except ParseBaseException:
        raise not_sparql(edits.text) from None
