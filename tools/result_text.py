"""Passages, rows and matches as a model reads them. All of it is untrusted data."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

from branchwise.base.text import cut, printable, unbroken
from branchwise.corpora.folder import Titles
from branchwise.corpora.passages import name_of
from branchwise.corpora.retrieval import Hit
from branchwise.kg.answers import Match, QueryResult, Term
from branchwise.tools.artifacts import PassageRecord, RepeatRecord

MAX_MORE_QUERIES, MAX_OPENED = 4, 20
"""Of one search and of one opened title, at most."""
NO_PASSAGE = "No passage matches the query."
_BETWEEN = "\n\n"
_REPEATED = "Shown before, not repeated:"
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


class ShownPassages(Protocol):
    """The passages that the model has before it whole, seen from one of a turn's calls."""

    @property
    def most(self) -> int:
        """How many they can be."""
        ...

    async def ids(self) -> Collection[str]:
        """Their ids, once the calls before this one have ended."""
        ...


def passage_record(hit: Hit, titles: Titles | None = None) -> PassageRecord:
    """A hit as a tool's artifact keeps it; `titles` say which part of a title it is."""
    passage = hit.passage
    record = PassageRecord(id=passage.id, title=passage.title, text=passage.text, score=hit.score)
    if titles and (place := titles.place(passage)):
        record["part"] = list(place)
    return record


def block(record: Mapping[str, Any]) -> str:
    """`[id] Title`, and the text on one line, so that a passage cannot pose as the start of
    another. Of a title with several passages it says which one this is."""
    part = record.get("part")
    number = f" · {part[0]} of {part[1]}" if part else ""
    head = f"[{record['id']}] {unbroken(str(record['title']))}{number}"
    return f"{head}\n{unbroken(str(record['text']))}"


def passages_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Passages as the agent sees them."""
    return blocks(records, ()) or NO_PASSAGE


def blocks(records: Iterable[Mapping[str, Any]], repeats: Sequence[RepeatRecord]) -> str:
    """New passages whole, with empty lines between them, then the others by their titles."""
    named = "\n".join(
        [_REPEATED, *(f"[{repeat['id']}] {unbroken(repeat['title'])}" for repeat in repeats)]
    )
    return _BETWEEN.join([*map(block, records), *([named] if repeats else [])])


def shown_whole(content: str, passages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Ids of a result's passages that stand whole in what the model reads of it."""
    behind = 0
    for passage in passages:
        if {"id", "title", "text"} <= passage.keys():
            text = block(passage)
            # Most follow each other: to look there first takes a third of the time.
            start = behind if content.startswith(text, behind) else content.find(text)
            if start >= 0:
                yield str(passage["id"])
                behind = start + len(text) + len(_BETWEEN)


def spread(ranking: Sequence[Hit], per_name: int) -> list[Hit]:
    """A ranking with at most `per_name` passages of each name first, then the rest, each in order.

    A name is a title without a disambiguator in brackets, in any case of letters.
    """
    first: list[Hit] = []
    rest: list[Hit] = []
    count: Counter[str] = Counter()
    for hit in ranking:
        name = name_of(hit.passage.title).casefold()
        count[name] += 1
        (first if count[name] <= per_name else rest).append(hit)
    return first + rest


def new_and_repeated(
    ranking: Sequence[Hit], k: int, shown: Collection[str]
) -> tuple[list[Hit], list[RepeatRecord]]:
    """The best `k` hits of a ranking that the model lacks, and the others that stand among them."""
    new: list[Hit] = []
    repeated: list[RepeatRecord] = []
    for hit in ranking:
        if len(new) == k:
            break
        if hit.passage.id in shown:
            repeated.append(RepeatRecord(id=hit.passage.id, title=hit.passage.title))
        else:
            new.append(hit)
    return new, repeated


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
            is_date = term.datatype.endswith("#dateTime")
            yield _one_line(term.value.removesuffix("T00:00:00Z") if is_date else term.value)
        else:
            label = answer.labels.get(term.value)
            beside = f"{variable}Label" in answer.variables  # says the same
            name = f" ({_one_line(label)})" if label and not beside else ""
            yield short_iri(term.value) + name


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
        named = list(bearers)
        if len(named) > 1:
            lines.append(f"{len(named)} things are called {_one_line(name)!r}:")
        lines += map(_match_line, named)
    return "\n".join(lines)


def _match_line(match: Match) -> str:
    # A class without statements is used all the same, as a value.
    own = f"{match.statements} statement{'s' if match.statements != 1 else ''}"
    members = class_size(match.members) if match.members else ""
    counts = own if match.statements or not members else ""
    about = "; ".join(filter(None, [", ".join(match.types), counts, members]))
    alias = f" (found as {match.name!r})" if match.name != match.label else ""
    described = f": {match.description}" if match.description else ""
    return _one_line(f"{match.id}  {match.label}{alias}{described} [{about}]")


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
