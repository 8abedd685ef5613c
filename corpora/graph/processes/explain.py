"""Why a query has no answer: which number is unknown, which pattern matches nothing.

A model that is told "0 rows" guesses again; one that is told which line found nothing mends it.
Runs in the query process, after the answer is on its way: if it takes too long, only it is lost.
"""

import re
from collections.abc import Sequence

from pyoxigraph import Store

from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.names.index import NameIndex
from branchwise.corpora.graph.processes.hints import hint
from branchwise.corpora.graph.processes.rows import holds
from branchwise.corpora.graph.processes.shorthand import shorten
from branchwise.corpora.graph.sparql.mentions import Mention
from branchwise.corpora.graph.sparql.prepare import Prepared

_MOST_PATTERNS = 12
_MOST_NOTES = 3
_NO_WORDS = {"label", "item", "entity", "value", "property", "id", "name", "x", "y"}


def unknown_mentions(prepared: Prepared, names: NameIndex) -> list[str]:
    """A sentence for each number in the query that the graph does not have."""
    unknown = {m.id: m for m in reversed(prepared.mentioned) if not names.knows(m.id)}
    return [_unknown(mention, prepared, names) for mention in reversed(unknown.values())]


def explain_emptiness(prepared: Prepared, store: Store, names: NameIndex) -> list[str]:
    """Sentences that say why a query has no row.

    Raises GraphError("unknown") where it cannot have one, since a pattern that it needs and that
    matches nothing names a number that the graph does not have.
    """
    patterns = prepared.patterns[:_MOST_PATTERNS]
    barren = [i for i, pattern in enumerate(patterns) if not holds(store, pattern)]
    fatal = [m for m in prepared.mentioned if m.pattern in barren and not names.knows(m.id)]
    if fatal:
        sentences = dict.fromkeys(_unknown(mention, prepared, names) for mention in fatal)
        raise GraphError("unknown", " ".join(sentences))
    if barren:
        return [_alone(patterns[i], store, names) for i in barren[:_MOST_NOTES]]
    return _together(patterns, prepared, store)


def _alone(pattern: str, store: Store, names: NameIndex) -> str:
    return f"`{shorten(pattern)}` matches nothing. {hint(pattern, store, names)}".rstrip()


def _together(patterns: Sequence[str], prepared: Prepared, store: Store) -> list[str]:
    """Each pattern matches alone: find the first that leaves nothing of those before it."""
    for count in range(2, len(patterns) + 1):
        if not holds(store, " . ".join(patterns[:count])):
            before = " . ".join(shorten(pattern) for pattern in patterns[: count - 1])
            return [
                f"`{before}` {'match together' if count > 2 else 'matches'}; "
                f"adding `{shorten(patterns[count - 1])}` leaves nothing."
            ]
    if not patterns or len(prepared.patterns) > len(patterns):
        return []
    return [
        "All triple patterns match together: a FILTER, VALUES, MINUS, UNION, subquery or HAVING "
        "leaves nothing of it." + _comparison(prepared.text)
    ]


def _comparison(text: str) -> str:
    """Advice where a string is compared with =, which labels with a language never equal."""
    if re.search(r"=\s*\"[^\"]*\"(?![@^])|\"[^\"]*\"\s*=", text) is None:
        return ""
    return ' A label has a language: compare STR(?label) = "...", or write "..."@en.'


def _unknown(mention: Mention, prepared: Prepared, names: NameIndex) -> str:
    if mention.id.startswith("Q"):
        return (
            f"The graph has no entity {mention.id}. Do not guess numbers: "
            "look the name up with wikidata_search."
        )
    said = f"The graph has no property {mention.id}."
    alone = mention.pattern is None or f" <{mention.iri}> " in prepared.patterns[mention.pattern]
    near = names.nearest_properties(_words(mention.variables), 3) if alone else []
    if near:
        perhaps = ", ".join(f"{match.id} ({match.label})" for match in near)
        said += f" Near what the variables are called: {perhaps}."
    return f'{said} Look it up with wikidata_search(kind="property").'


def _words(variables: Sequence[str]) -> list[str]:
    """What variables are called, the value's first: ?film wdt:P57 ?directorLabel is director."""
    names = (re.sub(r"(?:Alt)?(?:Label|Description)$", "", name) for name in reversed(variables))
    return [name for name in dict.fromkeys(names) if name.lower() not in _NO_WORDS]
