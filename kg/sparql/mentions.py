"""The triple patterns that every solution must match, and the numbers that a query names."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from branchwise.kg.sparql.prefixes import QueryPrefixes
from branchwise.kg.sparql.structure import GroupPattern, SelectQuery, Triple
from branchwise.kg.sparql.tokens import Token

_NUMBERED = re.compile(r"http://www\.wikidata\.org/(?:entity/|prop/(?:[a-z-]+/)*)([QPL][0-9]+)")


class Mention(NamedTuple):
    """A Wikidata number in a query.

    `pattern`: of the required pattern that it is in, None elsewhere. `variables`: in the same
    triple pattern.
    """

    id: str
    iri: str
    pattern: int | None
    variables: tuple[str, ...]


def required(where: GroupPattern) -> list[Triple]:
    """The triple patterns of a group and of the plain groups in it."""
    found = list(where.triples)
    for group in where.groups:
        if group.kind == "plain" and group.select is None:
            found += required(group)
    return sorted(found, key=lambda triple: triple.start)


def alternatives(where: GroupPattern) -> list[list[Triple]]:
    """What `required` leaves out: the patterns of each branch of the first UNION, else of the only
    subselect. A branch or subselect that holds nothing but the same counts as what is in it.
    """
    if where.select is not None:
        return _within(where, set())
    groups = _joined(where)
    outside = {name for triple in required(where) for name in triple.variables}
    first = next((group for group in groups if group.kind == "union"), None)
    if first is not None and first.parent is not None:
        later = first.parent.groups[first.parent.groups.index(first) + 1 :]
        sides = (first, *_branches(later))
        return [way for side in sides for way in _within(side, outside)]
    selects = [group for group in groups if group.select is not None]
    return _within(selects[0], outside) if len(selects) == 1 else []


def _joined(where: GroupPattern) -> list[GroupPattern]:
    """The groups that every solution joins, in order: plain ones, those in them, and branches."""
    found = []
    for group in where.groups:
        if group.kind in ("plain", "union"):
            found.append(group)
        if group.kind == "plain" and group.select is None:
            found += _joined(group)
    return found


def _branches(groups: list[GroupPattern]) -> Iterator[GroupPattern]:
    """The groups that begin with the word UNION, up to the first that does not."""
    return takewhile(lambda group: group.kind == "union" and group.head < group.start, groups)


def _within(group: GroupPattern, outside: set[str]) -> list[list[Triple]]:
    """The patterns of a branch or subselect, each way to match it. A variable that a subselect
    keeps to itself is another than the one of that name outside of it, and gets another name.
    """
    inside = group if group.select is None else group.select.where
    found = required(inside)
    ways = [found] if found else alternatives(inside) or [[]]
    if group.select is None:
        return ways
    hidden = {f"?{name}" for name in outside.difference(group.select.columns())}
    return [[_apart(triple, hidden) for triple in way] for way in ways]


def _apart(triple: Triple, hidden: set[str]) -> Triple:
    parts = (triple.subject, triple.predicate, triple.object)
    subject, predicate, value = (f"{part}_inside" if part in hidden else part for part in parts)
    return replace(
        triple,
        text=f"{subject} {predicate} {value}",
        subject=subject,
        predicate=predicate,
        object=value,
    )


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
    found: dict[tuple[str, int | None], Mention] = {}
    for token in tokens[names.prologue_end :]:
        iri = names.iri(token) if token.kind in ("iri", "name") else None
        match = _NUMBERED.fullmatch(iri or "")
        if match is None:
            continue
        in_triple = owner.get(token.start)
        number = None if in_triple is None else index.get(id(in_triple))
        variables = () if in_triple is None else in_triple.variables
        mention = Mention(match[1], match[0], number, variables)
        found.setdefault((mention.iri, id(in_triple) if in_triple else None), mention)
    return tuple(found.values())
