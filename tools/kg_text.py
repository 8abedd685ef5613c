"""Rows and matches of a graph as compact text for a model. All of it is untrusted data."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from branchwise.base.text import cut, printable, unbroken
from branchwise.kg.answers import Match, QueryResult, Term

MAX_SHOWN_ROWS = 100
MAX_SHOWN_BYTES = 8 * 1024
_MAX_CELL = 300
_SEARCHED = re.compile(r'with wikidata_search(?:\(kind="property"\))?')
_PREFIXES = (
    ("http://www.wikidata.org/entity/statement/", "wds:"),
    ("http://www.wikidata.org/entity/", "wd:"),
    ("http://www.wikidata.org/prop/direct/", "wdt:"),
    ("http://www.wikidata.org/prop/statement/", "ps:"),
    ("http://www.wikidata.org/prop/qualifier/", "pq:"),
    ("http://www.wikidata.org/prop/", "p:"),
    ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"),
    ("http://www.w3.org/2000/01/rdf-schema#", "rdfs:"),
    ("http://www.w3.org/2004/02/skos/core#", "skos:"),
    ("http://schema.org/", "schema:"),
)


def answer_text(answer: QueryResult) -> str:
    """Names of the columns, one row per line, what was cut, and notes.

    At most 100 rows and 8 KiB of rows.
    """
    if answer.boolean is not None:
        return "\n".join(["yes" if answer.boolean else "no", *answer.notes])
    if not answer.rows:
        return "\n".join(["no rows", *answer.notes])
    lines, shown = [], 0
    room = MAX_SHOWN_BYTES
    for row in answer.rows[:MAX_SHOWN_ROWS]:
        line = " | ".join(_cells(answer, row))
        room -= len(line.encode()) + 1
        if room < 0:
            break
        lines.append(line)
        shown += 1
    total = len(answer.rows)
    count = f"{total} row{'s' if total != 1 else ''}" if answer.complete else f"over {total} rows"
    head = f"{count}: {' | '.join('?' + name for name in answer.variables)}"
    if shown < total or not answer.complete:
        lines.append(
            f"({shown} of them shown; ask for fewer columns, COUNT them, or go on with "
            f"ORDER BY and OFFSET {shown})"
        )
    return "\n".join([head, *lines, *answer.notes])


def _cells(answer: QueryResult, row: Sequence[Term | None]) -> Iterable[str]:
    for variable, term in zip(answer.variables, row, strict=True):
        if term is None:
            yield "-"
        elif term.kind != "iri":
            yield _one_line(_literal(term))
        else:
            label = answer.labels.get(term.value)
            beside = f"{variable}Label" in answer.variables  # says the same
            name = f" ({_one_line(label)})" if label and not beside else ""
            yield short_iri(term.value) + name


def _literal(term: Term) -> str:
    """A date without its time of day, if that is midnight."""
    if term.datatype.endswith("#dateTime"):
        return term.value.removesuffix("T00:00:00Z")
    return term.value


def short_iri(iri: str) -> str:
    """wd:Q42 for Wikidata's IRIs; others in angle brackets."""
    for start, prefix in _PREFIXES:
        if iri.startswith(start):
            return _one_line(prefix + iri.removeprefix(start))
    return _one_line(f"<{iri}>")


def matches_text(text: str, matches: Sequence[Match]) -> str:
    """Matches under the name that they bear, in order; guesses are marked."""
    missing = f"nothing is called {_one_line(text)!r}"
    if not matches:
        return f"{missing} here; try another spelling, fewer words, or another name of it"
    lines: list[str] = []
    guesses = False
    for (near, name), bearers in groupby(matches, key=lambda match: (match.near, match.name)):
        if near and not guesses:
            guesses = True
            lines.append(
                "names that are only like it:" if lines else f"{missing}; the nearest names are:"
            )
        found = list(bearers)
        if len(found) > 1:
            lines.append(f"{len(found)} things are called {_one_line(name)!r}:")
        lines += map(_match_line, found)
    return "\n".join(lines)


def _match_line(match: Match) -> str:
    kinds = ", ".join(match.types)
    about = "; ".join(filter(None, [kinds, _counts(match)]))
    alias = f" (found as {match.name!r})" if match.name != match.label else ""
    described = f": {match.description}" if match.description else ""
    return _one_line(f"{match.id}  {match.label}{alias}{described} [{about}]")


def _counts(match: Match) -> str:
    """What may be asked of it. A class without statements is used all the same, as a value."""
    own = f"{match.statements} statement{'s' if match.statements != 1 else ''}"
    if not match.members:
        return own
    return "; ".join([own] * bool(match.statements) + [class_size(match.members)])


def by_label(advice: str) -> str:
    """Advice to call `wikidata_search` for a model that has only queries: labels have the names."""
    text = _SEARCHED.sub("by label", advice)
    text = text.replace("call wikidata_search", "ask for its label")
    return text.replace("wikidata_search finds", "a filter on labels finds")


def class_size(members: int) -> str:
    """How many things are instances of a class, in words."""
    return f"class of {members:,} thing{'s' if members != 1 else ''}"


def _one_line(text: str) -> str:
    return cut(printable(unbroken(text), " "), _MAX_CELL)
