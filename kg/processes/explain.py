"""Why a query has no answer: which number is unknown, which pattern matches nothing.

A model that is told "0 rows" guesses again; one that is told which line found nothing corrects it.
Runs in the query process, after the answer is on its way: if it takes too long, only it is lost.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from pyoxigraph import NamedNode, Store

from branchwise.kg.answers import MAX_LABEL, MAX_SENTENCES, KgError, cut
from branchwise.kg.names.index import NameIndex
from branchwise.kg.sparql.prepare import Mention, Prepared
from branchwise.kg.sparql.structure import WIKIDATA, shorten

_STRING = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_TERM = rf"<[^<>]*>|[?$]\w+|_:\w+|{_STRING}(?:@[\w-]+|\^\^<[^<>]*>)?|[^\s<>\"']+"
_TRIPLE = re.compile(rf"\s*({_TERM})\s+(.+?)\s+({_TERM})\s*\.?\s*", re.DOTALL)
_PROPERTY_AS_THING = re.compile(rf"<{WIKIDATA}entity/(P\d+)>")
_ITEM_AS_PROPERTY = re.compile(rf"<{WIKIDATA}prop/(?:[\w-]+/)*(Q\d+)>")
_STATEMENT = re.compile(rf"<{WIKIDATA}prop/(?:statement/)?(P\d+)>")
_USED_PROPERTY = re.compile(rf"<{WIKIDATA}prop/(?:[\w-]+/)*(P\d+)>")


class _Triple(NamedTuple):
    subject: str
    predicate: str
    object: str


def _holds(store: Store, pattern: str) -> bool:
    """Whether a group graph pattern has a solution."""
    return bool(store.query(f"ASK {{ {pattern} }}"))


def _hint(pattern: str, store: Store, names: NameIndex) -> str:
    """A sentence or two on what to try; "" if nothing is known. `pattern` has full IRIs."""
    parts = _TRIPLE.fullmatch(pattern)
    if parts is None:
        return ""
    triple = _Triple(*parts.groups())
    found = chain(
        _wrong_prefix(triple),
        _wrong_language(triple, store),
        _wrong_direction(triple, store),
        _wrong_statement_form(triple, store),
        _values_of(triple, store, names),
    )
    return next(found, "")


def _wrong_prefix(triple: _Triple) -> Iterator[str]:
    for number in _PROPERTY_AS_THING.findall(triple.predicate):
        yield f"wd:{number} is the property itself; to ask for its values write wdt:{number}."
    for number in _ITEM_AS_PROPERTY.findall(" ".join(triple)):
        yield f"{number} is an entity, not a property: write wd:{number}, as subject or value."
    for number in _USED_PROPERTY.findall(f"{triple.subject} {triple.object}"):
        yield f"As subject or value a property is written wd:{number}."


def _wrong_language(triple: _Triple, store: Store) -> Iterator[str]:
    """Labels are in a language: "Heat" never equals "Heat"@en, the most common mistake."""
    text = re.match(_STRING, triple.object)
    if text is None:
        return
    for form in (f"{text[0]}@en", text[0]):
        if form != triple.object and _holds(store, f"{triple.subject} {triple.predicate} {form}"):
            yield f"It matches with {form}: text with a language and text without are different."
    if triple.predicate.endswith(("#label>", "#altLabel>")):
        yield "No name is written exactly so: wikidata_search finds near ones."


def _wrong_direction(triple: _Triple, store: Store) -> Iterator[str]:
    if triple.object[0] in "\"'" or triple.subject[0] == triple.object[0] == "?":
        return
    turned = f"{triple.object} {triple.predicate} {triple.subject}"
    if _holds(store, turned):
        yield f"The other way round it matches: `{shorten(turned)}`."


def _wrong_statement_form(triple: _Triple, store: Store) -> Iterator[str]:
    """Full statements may be there for some properties only."""
    for number in _STATEMENT.findall(triple.predicate):
        if _holds(store, f"?subject <{WIKIDATA}prop/direct/{number}> ?value"):
            yield f"It may be stated as wdt:{number} only, without a statement of its own."


def _values_of(triple: _Triple, store: Store, names: NameIndex) -> Iterator[str]:
    """Whether the property is used at all, and what a value of it looks like."""
    if not re.fullmatch(r"<[^<>]*>", triple.predicate):
        return
    short = shorten(triple.predicate)
    found = next(iter(store.quads_for_pattern(None, NamedNode(triple.predicate[1:-1]), None)), None)
    if found is None:
        yield f"No statement has {short}."
        return
    value = found.object
    label = names.labels([value.value]).get(value.value) if isinstance(value, NamedNode) else None
    named = f" ({cut(label, MAX_LABEL)})" if label else ""
    yield f"{short} has values such as {shorten(str(value))}{named}."


_MOST_PATTERNS = 12
_MOST_BRANCHES = 12
_NO_WORDS = {"label", "item", "entity", "value", "property", "id", "name", "x", "y"}


def unknown_mentions(prepared: Prepared, names: NameIndex) -> list[str]:
    """The numbers in the query that the graph lacks: a sentence each for the first three."""
    return _told(prepared.mentioned, prepared, names)


def explain_emptiness(prepared: Prepared, store: Store, names: NameIndex) -> list[str]:
    """Sentences that say why a query has no row.

    Raises KgError("unknown") if it cannot have one, because a required pattern matches nothing
    and names a number that the graph lacks.
    """
    patterns = prepared.patterns[:_MOST_PATTERNS]
    barren = [i for i, pattern in enumerate(patterns) if not _holds(store, pattern)]
    needed = [mention for mention in prepared.mentioned if mention.pattern in barren]
    if fatal := _told(needed, prepared, names):
        raise KgError("unknown", " ".join(fatal))
    if barren:
        return [_alone(patterns[i], store, names) for i in barren[:MAX_SENTENCES]]
    if clash := _clash(patterns, store):
        return [clash]
    return _explain_branches(prepared, store, names) or [_left(prepared, len(patterns))]


def _explain_branches(prepared: Prepared, store: Store, names: NameIndex) -> list[str]:
    """Sentences on what the sides of a UNION, or the only subquery, do not match."""
    branches = prepared.alternatives[:_MOST_BRANCHES]
    single = len(prepared.alternatives) == 1
    told: list[str] = []
    barren = 0
    for number, branch in enumerate(branches, 1):
        why = _branch(branch[:_MOST_PATTERNS], store, names)
        barren += bool(why)
        if why and len(told) < MAX_SENTENCES:
            told.append(f"In {'the subquery' if single else f'side {number} of the UNION'}: {why}")
    if barren > len(told):
        told.append(f"And {barren - len(told)} more sides of the UNION match nothing.")
    elif barren == len(prepared.alternatives) > 1:
        told.append("So no side of the UNION matches.")
    elif not single and not barren and _apart(prepared, store):
        told.append("No side of the UNION matches together with the patterns outside of it.")
    return told


def _branch(patterns: Sequence[str], store: Store, names: NameIndex) -> str:
    """Why a branch matches nothing; "" if it matches."""
    for pattern in patterns:
        if not _holds(store, pattern):
            return _alone(pattern, store, names)
    return _clash(patterns, store)


def _apart(prepared: Prepared, store: Store) -> bool:
    """Whether the patterns outside the branches leave nothing of any."""
    if not prepared.patterns or not 0 < len(prepared.alternatives) <= _MOST_BRANCHES:
        return False
    return not any(
        _holds(store, " . ".join((*prepared.patterns, *branch))) for branch in prepared.alternatives
    )


def _left(prepared: Prepared, count: int) -> str:
    """What can be said if everything that was tried matches."""
    if not count:
        return (
            "Nothing is left of what its parts match: run subqueries, UNION sides, and VALUES "
            "with the patterns beside them one by one."
        )
    many = "All" if count == len(prepared.patterns) else f"The first {count}"
    return (
        f"{many} triple patterns match together: a FILTER, VALUES, MINUS, UNION, subquery, "
        f"HAVING or OFFSET leaves nothing of it.{_comparison(prepared.text)}"
    )


def _alone(pattern: str, store: Store, names: NameIndex) -> str:
    return f"`{shorten(pattern)}` matches nothing. {_hint(pattern, store, names)}".rstrip()


def _clash(patterns: Sequence[str], store: Store) -> str:
    """Each pattern matches alone: the first that leaves nothing of those before it; "" if none."""
    for count in range(2, len(patterns) + 1):
        if not _holds(store, " . ".join(patterns[:count])):
            before = " . ".join(shorten(pattern) for pattern in patterns[: count - 1])
            return (
                f"`{before}` {'match together' if count > 2 else 'matches'}; "
                f"adding `{shorten(patterns[count - 1])}` leaves nothing."
            )
    return ""


def _comparison(text: str) -> str:
    """Advice if a string is compared with =, which never equals a label with a language."""
    if re.search(r"=\s*\"[^\"]*\"(?![@^])|\"[^\"]*\"\s*=", text) is None:
        return ""
    return ' A label has a language: compare STR(?label) = "...", or write "..."@en.'


def _told(mentioned: Sequence[Mention], prepared: Prepared, names: NameIndex) -> list[str]:
    """A sentence for each number that the graph lacks, at most three; then how many more."""
    first: dict[str, Mention] = {}
    for mention in mentioned:
        first.setdefault(mention.id, mention)
    unknown = [mention for mention in first.values() if not names.knows(mention.id)]
    told = [_unknown(mention, prepared, names) for mention in unknown[:MAX_SENTENCES]]
    if more := len(unknown) - len(told):
        told.append(f"And {more:,} more of the query's numbers are not in the graph.")
    return told


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
