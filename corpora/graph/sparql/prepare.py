"""A query as a model wrote it, made ready to run: read-only, complete, plain SPARQL 1.1."""

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from branchwise.corpora.graph.answers import MAX_QUERY_BYTES, GraphError
from branchwise.corpora.graph.sparql.edits import Edits, Place, offset_of
from branchwise.corpora.graph.sparql.labels import Labels
from branchwise.corpora.graph.sparql.mentions import Mention, mentions_of, required
from branchwise.corpora.graph.sparql.prefixes import Names
from branchwise.corpora.graph.sparql.reading import Reader
from branchwise.corpora.graph.sparql.refusals import check_depth, check_tokens, check_tree
from branchwise.corpora.graph.sparql.structure import Select
from branchwise.corpora.graph.sparql.syntax import check_start, fault_of, remedy_for, syntax_error
from branchwise.corpora.graph.sparql.tokens import Span, Token, expand_codepoints, tokens_of

Form = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]
_FENCE = re.compile(r"\s*```[a-z]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL | re.IGNORECASE)
_ESCAPE = re.compile(r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}")


@dataclass(frozen=True)
class Prepared:
    """A query that may run.

    `text`: plain SPARQL 1.1 with its prefixes. `variables`: the columns of a SELECT, else None.
    `patterns`: the triple patterns that every solution must match, with full IRIs, in order:
    those of the outermost group and of plain groups in it. `mentioned`: Wikidata numbers in it.
    """

    text: str
    form: Form
    variables: tuple[str, ...] | None
    patterns: tuple[str, ...]
    mentioned: tuple[Mention, ...]


class _Parsed(NamedTuple):
    form: Form
    variables: tuple[str, ...] | None


def prepare(text: str) -> Prepared:
    """Make a query ready to run. A pure function of the text; some 40 ms.

    Raises GraphError: "refused" (not read-only, too long, another server), "syntax" (with line,
    column, and the line), "resources" (nesting).
    """
    text = _tidy(text)
    tokens, comments = tokens_of(text)
    check_depth(tokens)
    names = Names(tokens)
    check_tokens(tokens, names)
    check_start(text, tokens, names)
    reader = Reader(tokens, names)
    query = cast(Select, reader.query())
    edits = _edits(text, tokens, comments, reader)
    parsed = _check(edits, tokens)
    patterns = required(query.where)
    return Prepared(
        text=edits.apply(),
        form=parsed.form,
        variables=parsed.variables,
        patterns=tuple(triple.text for triple in patterns),
        mentioned=mentions_of(tokens, names, reader.selects, patterns),
    )


def _tidy(text: str) -> str:
    """The query without what models put around it, escapes of characters expanded."""
    if len(text.encode("utf-8", "replace")) > MAX_QUERY_BYTES:
        raise GraphError(
            "refused", f"the query is longer than {MAX_QUERY_BYTES} bytes: ask for less at once"
        )
    fenced = _FENCE.fullmatch(text)
    text = (fenced[1] if fenced else text).lstrip("\ufeff").rstrip().rstrip(";")
    text = re.sub(r"\A\s*sparql\b(?!\s*:)", "", text, flags=re.IGNORECASE)
    try:
        text = expand_codepoints(text)
        text.encode()
    except ValueError as error:
        raise GraphError("syntax", f"not a character: {str(error)[:80]}") from None
    if _ESCAPE.search(text):
        raise GraphError("refused", "a character escape within a character escape: write it out")
    return text


def _edits(text: str, tokens: list[Token], comments: list[Span], reader: Reader) -> Edits:
    """What has to change in the text."""
    edits = Edits(text)
    missing = reader.names.missing
    edits.insert(0, "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in sorted(missing.items())))
    for start, end in (*comments, *reader.removable):
        edits.replace(start, end)
    for select in reader.selects:
        for comma in select.commas:
            edits.replace(comma.start, comma.end)
    taken = {t.text[1:] for t in tokens if t.kind == "variable"}
    Labels(edits, taken).supply(reader.selects)
    return edits


def _check(edits: Edits, tokens: list[Token]) -> _Parsed:
    """Parse the new text with Oxigraph, which says best where an error is, and with rdflib."""
    import pyoxigraph

    text = edits.apply()
    try:
        result = pyoxigraph.Store().query(text)
    except SyntaxError as error:
        fault = fault_of(str(error))
        if fault is None:
            raise GraphError("syntax", f"the query does not parse: {str(error)[:200]}") from None
        at = edits.origin(offset_of(text, fault.at))
        remedy = remedy_for(edits.text, at, tokens, fault.reason)
        raise syntax_error(edits.text, at, remedy) from None
    except (RuntimeError, ValueError, OSError):
        result = None
    tree = _tree(edits, text)
    check_tree(tree)
    form = cast(Form, tree[1].name.removesuffix("Query").upper())
    variables = None
    if isinstance(result, pyoxigraph.QuerySolutions):
        variables = tuple(variable.value for variable in result.variables)
    return _Parsed(form, variables)


def _tree(edits: Edits, text: str) -> Any:
    from pyparsing import ParseException
    from rdflib.plugins.sparql.parser import parseQuery

    try:
        return parseQuery(text)
    except RecursionError:
        raise GraphError(
            "resources", "the query nests too deep: write it with fewer brackets"
        ) from None
    except ParseException as error:
        at = edits.origin(offset_of(text, Place(error.lineno, error.column)))
        raise syntax_error(edits.text, at, "this is not SPARQL 1.1") from None
