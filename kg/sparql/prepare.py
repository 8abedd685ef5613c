"""A query as a model wrote it, made ready to run: read-only, complete, plain SPARQL 1.1."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, cast

from branchwise.kg.answers import MAX_QUERY_BYTES, KgError
from branchwise.kg.sparql.dialect import to_standard
from branchwise.kg.sparql.edits import Edits
from branchwise.kg.sparql.faults import objection
from branchwise.kg.sparql.labels import Labels, languages_of, services_of
from branchwise.kg.sparql.mentions import (
    Mention,
    alternatives,
    mentions_of,
    required,
)
from branchwise.kg.sparql.prefixes import QueryPrefixes
from branchwise.kg.sparql.reading import Reader
from branchwise.kg.sparql.refusals import (
    check_depth,
    check_reading,
    check_size,
    check_steps,
    check_tokens,
    check_tree,
)
from branchwise.kg.sparql.structure import SelectQuery
from branchwise.kg.sparql.syntax import check_escapes, check_start, explain, not_sparql
from branchwise.kg.sparql.tokens import Span, Token, expand_codepoints, tokens_of

QueryForm = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]
_FENCE = re.compile(r"```(?:[a-zA-Z]*[ \t]*\n)?(.*?)(?:```|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\[uU][0-9A-Fa-f]{4}|(?<!\\)(?:\\\\)*\\[uU]")
"""What some parser may expand once more, however many backslashes are before it: rdflib's takes
`\\\\u0041` and `\\U0041` for an escape, too."""


@dataclass(frozen=True)
class Prepared:
    """A query that may run.

    `text`: plain SPARQL 1.1 with its prefixes. `variables`: the columns of a SELECT, else None.
    `patterns`: the triple patterns that every solution must match, with full IRIs, in order:
    those of the outermost group and of plain groups in it. `mentioned`: Wikidata numbers in it.

    `alternatives`: to explain an empty result where `patterns` says too little, the patterns of
    each branch of the first UNION of these groups, else those of their only subselect. Every
    solution matches all the patterns of one alternative, together with `patterns`; a variable that
    a subselect hides is called otherwise than one outside. () where there is neither, and an
    alternative () asks for no pattern (a branch of VALUES). A Wikidata number in them is a
    `Mention` without `pattern`.
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
    column, and the line), "resources" (nesting, too many patterns).
    """
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
    """The query without what models put around it, escapes of characters expanded."""
    if len(text.encode("utf-8", "replace")) > MAX_QUERY_BYTES:
        raise KgError(
            "refused", f"the query is longer than {MAX_QUERY_BYTES} bytes: ask for less at once"
        )
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
    """The edits that make a text run, its labels supplied. Raises KgError.

    A text that parses without look-ups of labels and not with them runs without: a label is a
    convenience. Errors are those of the text without, because its places are the asker's; so is
    the tree, because rdflib's parser takes twice as long over the look-ups as over the rest.
    """
    plain = _edits(text, tokens, comments, reader)
    edits = _edits(text, tokens, comments, reader)
    _supply(edits, tokens, reader)
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
    """What has to change in a text, but for labels."""
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


def _supply(edits: Edits, tokens: list[Token], reader: Reader) -> None:
    """Supply labels, the innermost select first."""
    services = [group for select in reader.selects for group in services_of(select.where)]
    taken = {token.text[1:] for token in tokens if token.kind == "variable"}
    labels = Labels(edits, taken, languages_of(services))
    for select in reversed(reader.selects):
        labels.supply(select)


def _tree(edits: Edits) -> Any:
    """rdflib's syntax tree of the new text. Raises KgError.

    The parser takes some thirty frames a bracket: on a thread of its own it has as many as any,
    however deep its caller stands.
    """
    from pyparsing import ParseBaseException
    from rdflib.plugins.sparql.parser import parseQuery

    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(parseQuery, edits.apply()).result()
    except RecursionError:
        raise KgError(
            "resources", "the query nests too deep: write it with fewer brackets"
        ) from None
    except ParseBaseException:
        raise not_sparql(edits.text) from None
