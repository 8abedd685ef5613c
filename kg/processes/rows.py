"""Running a prepared query on an Oxigraph store, bounding its answer, and why it has none.

A model that is told "0 rows" guesses again; one that is told which line found nothing corrects it.
The reason is found after the answer is on its way: if it takes too long, only it is lost.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import orjson
from pyoxigraph import BlankNode, Literal, NamedNode, QueryBoolean, QueryTriples, Store

from branchwise.kg.answers import (
    MAX_LABEL,
    MAX_ROWS,
    MAX_SENTENCES,
    KgError,
    QueryResult,
    cut,
    cut_value,
)
from branchwise.kg.names.index import NameIndex
from branchwise.kg.sparql.prepare import Mention, Prepared
from branchwise.kg.sparql.structure import WIKIDATA, shorten

_PLAIN = (
    "http://www.w3.org/2001/XMLSchema#string",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
)
MAX_ANSWER = 8 * 2**20
"""Bytes of the rows in JSON; those after that are left out."""

MAX_LABELS = 16 * 2**20
"""Bytes of all labels in JSON, the rest is left out: ten of 300 characters in 1,000 rows fit."""


def run(store: Store, names: NameIndex, prepared: Prepared) -> QueryResult:
    """Run a query; the rows' labels beside them, and what it names that the graph lacks. Terms are
    tuples, which pickle faster. Raises KgError for what Oxigraph cannot parse, evaluate or read."""
    boolean = None
    variables: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = []
    complete = True
    try:
        solutions = store.query(prepared.text)
        if isinstance(solutions, QueryBoolean):
            boolean = bool(solutions)
        else:
            variables = ("subject", "predicate", "object")
            if not isinstance(solutions, QueryTriples):
                variables = tuple(variable.value for variable in solutions.variables)
            rows, complete = _bounded(solutions, len(variables))
    except SyntaxError as error:
        raise KgError("syntax", f"The query could not be read: {error.msg}") from None
    except OSError:
        message = "The graph's store cannot be read: the user must build the graph again."
        raise KgError("damaged", message) from None
    except (ValueError, RuntimeError) as error:
        raise KgError("resources", f"The query could not be evaluated: {error}") from None
    iris = {cell[0] for row in rows for cell in row if cell is not None and cell[1] == "iri"}
    notes = [cut(note) for note in _unknown_ids(prepared.mentioned, prepared, names)]
    if not complete and not rows:
        notes.append("The first row alone is too long: ask for fewer columns.")
    labels = short_labels(names.labels(iris))
    return QueryResult(variables, tuple(rows), complete, boolean, labels, tuple(notes))


def short_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels cut to `MAX_LABEL` characters, as many as `MAX_LABELS` allows."""
    kept: dict[str, str] = {}
    size = 0
    for iri, label in labels.items():
        short = cut(label, MAX_LABEL)
        size += len(orjson.dumps((iri, short)))
        if size > MAX_LABELS:
            break
        kept[iri] = short
    return kept


def _bounded(solutions: Iterable[Any], width: int) -> tuple[list[tuple[Any, ...]], bool]:
    rows: list[tuple[Any, ...]] = []
    size = 0
    for solution in islice(solutions, MAX_ROWS + 1):
        row = tuple(_cell(solution[column]) for column in range(width))
        size += len(orjson.dumps(row))
        if len(rows) == MAX_ROWS or size > MAX_ANSWER:
            return rows, False
        rows.append(row)
    return rows, True


def _cell(term: Any) -> tuple[str, str, str, str] | None:
    if term is None:
        return None
    if isinstance(term, NamedNode):
        return (term.value, "iri", "", "")
    if isinstance(term, BlankNode):
        return (term.value, "blank", "", "")
    if isinstance(term, Literal):
        datatype = term.datatype.value
        plain = datatype in _PLAIN  # what SPARQL's JSON results leave out
        return (cut_value(term.value), "literal", "" if plain else datatype, term.language or "")
    return (cut_value(str(term)), "literal", "", "")


_STRING = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_TERM = rf"<[^<>]*>|[?$]\w+|_:\w+|{_STRING}(?:@[\w-]+|\^\^<[^<>]*>)?|[^\s<>\"']+"
_TRIPLE = re.compile(rf"\s*({_TERM})\s+(.+?)\s+({_TERM})\s*\.?\s*", re.DOTALL)
_PROPERTY_AS_THING = re.compile(rf"<{WIKIDATA}entity/(P\d+)>")
_ITEM_AS_PROPERTY = re.compile(rf"<{WIKIDATA}prop/(?:[\w-]+/)*(Q\d+)>")
_STATEMENT = re.compile(rf"<{WIKIDATA}prop/(?:statement/)?(P\d+)>")
_USED_PROPERTY = re.compile(rf"<{WIKIDATA}prop/(?:[\w-]+/)*(P\d+)>")


def _holds(store: Store, *patterns: str) -> bool:
    return bool(store.query(f"ASK {{ {' . '.join(patterns)} }}"))


def _hints(
    store: Store, names: NameIndex, subject: str, predicate: str, object: str
) -> Iterator[str]:
    """Sentences on what to try; IRIs are written in full."""
    for number in _PROPERTY_AS_THING.findall(predicate):
        yield f"wd:{number} is the property itself; to ask for its values write wdt:{number}."
    for number in _ITEM_AS_PROPERTY.findall(f"{subject} {predicate} {object}"):
        yield f"{number} is an entity, not a property: write wd:{number}, as subject or value."
    for number in _USED_PROPERTY.findall(f"{subject} {object}"):
        yield f"As subject or value a property is written wd:{number}."
    # Labels are in a language: "Heat" never equals "Heat"@en, the most common mistake.
    if text := re.match(_STRING, object):
        for form in (f"{text[0]}@en", text[0]):
            if form != object and _holds(store, f"{subject} {predicate} {form}"):
                different = "text with a language and text without are different"
                yield f"It matches with {form}: {different}."
        if predicate.endswith(("#label>", "#altLabel>")):
            yield "No name is written exactly so: wikidata_search finds near ones."
    turned = f"{object} {predicate} {subject}"
    if object[0] not in "\"'" and not subject[0] == object[0] == "?" and _holds(store, turned):
        yield f"The other way round it matches: `{shorten(turned)}`."
    # Full statements may be there for some properties only.
    for number in _STATEMENT.findall(predicate):
        if _holds(store, f"?subject <{WIKIDATA}prop/direct/{number}> ?value"):
            yield f"It may be stated as wdt:{number} only, without a statement of its own."
    if not re.fullmatch(r"<[^<>]*>", predicate):
        return
    short = shorten(predicate)
    quad = next(iter(store.quads_for_pattern(None, NamedNode(predicate[1:-1]), None)), None)
    if quad is None:
        yield f"No statement has {short}."
        return
    value = quad.object
    label = names.labels([value.value]).get(value.value) if isinstance(value, NamedNode) else None
    named = f" ({cut(label, MAX_LABEL)})" if label else ""
    yield f"{short} has values such as {shorten(str(value))}{named}."


_MOST_PATTERNS = 12
_MOST_BRANCHES = 12
_NO_WORDS = {"label", "item", "entity", "value", "property", "id", "name", "x", "y"}


def explain_emptiness(prepared: Prepared, store: Store, names: NameIndex) -> list[str]:
    """Sentences that say why a query has no row. Raises KgError("unknown") if it cannot have one,
    because a required pattern matches nothing and names a number that the graph lacks."""
    patterns = prepared.patterns[:_MOST_PATTERNS]
    barren = [i for i, pattern in enumerate(patterns) if not _holds(store, pattern)]
    needed = [mention for mention in prepared.mentioned if mention.pattern in barren]
    if fatal := _unknown_ids(needed, prepared, names):
        raise KgError("unknown", " ".join(fatal))
    if barren:
        return [_alone(patterns[i], store, names) for i in barren[:MAX_SENTENCES]]
    if clash := _clash(patterns, store):
        return [clash]
    return _explain_branches(prepared, store, names) or [_left(prepared, len(patterns))]


def _explain_branches(prepared: Prepared, store: Store, names: NameIndex) -> list[str]:
    sides = prepared.alternatives
    single = len(sides) == 1
    notes: list[str] = []
    barren = 0
    for number, branch in enumerate(sides[:_MOST_BRANCHES], 1):
        patterns = branch[:_MOST_PATTERNS]
        missing = next((pattern for pattern in patterns if not _holds(store, pattern)), None)
        why = _alone(missing, store, names) if missing is not None else _clash(patterns, store)
        barren += bool(why)
        if why and len(notes) < MAX_SENTENCES:
            notes.append(f"In {'the subquery' if single else f'side {number} of the UNION'}: {why}")
    if barren > len(notes):
        notes.append(f"And {barren - len(notes)} more sides of the UNION match nothing.")
    elif barren == len(sides) > 1:
        notes.append("So no side of the UNION matches.")
    elif not single and not barren and prepared.patterns and 0 < len(sides) <= _MOST_BRANCHES:
        apart = not any(_holds(store, *prepared.patterns, *branch) for branch in sides)
        outside = "No side of the UNION matches together with the patterns outside of it."
        notes += [outside] * apart
    return notes


def _left(prepared: Prepared, count: int) -> str:
    if not count:
        return (
            "Nothing is left of what its parts match: run subqueries, UNION sides, and VALUES "
            "with the patterns beside them one by one."
        )
    many = "All" if count == len(prepared.patterns) else f"The first {count}"
    # A string that is compared with = never equals a label with a language.
    compared = re.search(r"=\s*\"[^\"]*\"(?![@^])|\"[^\"]*\"\s*=", prepared.text)
    advice = ' A label has a language: compare STR(?label) = "...", or write "..."@en.'
    return (
        f"{many} triple patterns match together: a FILTER, VALUES, MINUS, UNION, subquery, "
        f"HAVING or OFFSET leaves nothing of it.{advice if compared else ''}"
    )


def _alone(pattern: str, store: Store, names: NameIndex) -> str:
    parts = _TRIPLE.fullmatch(pattern)
    hint = next(_hints(store, names, *parts.groups()), "") if parts else ""
    return f"`{shorten(pattern)}` matches nothing. {hint}".rstrip()


def _clash(patterns: Sequence[str], store: Store) -> str:
    """Each pattern matches alone: the first that leaves nothing of those before it; "" if none."""
    for count in range(2, len(patterns) + 1):
        if not _holds(store, *patterns[:count]):
            before = " . ".join(shorten(pattern) for pattern in patterns[: count - 1])
            return (
                f"`{before}` {'match together' if count > 2 else 'matches'}; "
                f"adding `{shorten(patterns[count - 1])}` leaves nothing."
            )
    return ""


def _unknown_ids(mentioned: Sequence[Mention], prepared: Prepared, names: NameIndex) -> list[str]:
    """A sentence for each number that the graph lacks, at most three; then how many more."""
    first: dict[str, Mention] = {}
    for mention in mentioned:
        first.setdefault(mention.id, mention)
    unknown = [mention for mention in first.values() if not names.knows(mention.id)]
    notes = [_unknown(mention, prepared, names) for mention in unknown[:MAX_SENTENCES]]
    if more := len(unknown) - len(notes):
        notes.append(f"And {more:,} more of the query's numbers are not in the graph.")
    return notes


def _unknown(mention: Mention, prepared: Prepared, names: NameIndex) -> str:
    if mention.id.startswith("Q"):
        return (
            f"The graph has no entity {mention.id}. Do not guess numbers: "
            "look the name up with wikidata_search."
        )
    sentence = f"The graph has no property {mention.id}."
    if mention.pattern is None or f" <{mention.iri}> " in prepared.patterns[mention.pattern]:
        # What variables are called, the value's first: ?directorLabel is a director.
        suffix = r"(?:Alt)?(?:Label|Description)$"
        words = dict.fromkeys(re.sub(suffix, "", name) for name in reversed(mention.variables))
        near = names.nearest_properties([w for w in words if w.lower() not in _NO_WORDS], 3)
        if near:
            perhaps = ", ".join(f"{match.id} ({match.label})" for match in near)
            sentence += f" Near what the variables are called: {perhaps}."
    return f'{sentence} Look it up with wikidata_search(kind="property").'
