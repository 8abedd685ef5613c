"""Passages, rows and matches as a model reads them. All of it is untrusted data."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

from branchwise.base.text import counted, cut, printable, unbroken
from branchwise.corpora.folder import Titles
from branchwise.corpora.passages import name_of
from branchwise.corpora.retrieval import MAX_K, Hit, phrases_held
from branchwise.kg.answers import MAX_TEXT, Match, QueryResult, Term
from branchwise.tools.artifacts import PassageRecord, RepeatRecord, RowsRecord

MAX_MORE_QUERIES, MAX_OPENED = 4, 20
"""Of one search, and passages of one call that opens titles."""
MAX_TITLES, MAX_MORE_NAMES = 10, 9
"""Of one call."""
MAX_NAMES = 50
"""The most that `wikidata_search` lists for a text."""
MAX_NAMED = 3
"""Titles of passages that are not repeated."""
REACH = 5
"""Pages behind the first passage of one, in which passages take the places of those known."""
NO_PASSAGE = "No passage matches the query."
_BETWEEN = "\n\n"
MAX_SHOWN_ROWS = 100
MAX_SHOWN_BYTES = 24 * 1024
MAX_NAME_CHARS = 300
_MAX_CELL = MAX_TEXT + 100
"""Of a value, whose own note says where the graph cut it."""
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
    """New passages whole, with empty lines between them, then how many others were shown before."""
    return _BETWEEN.join([*map(block, records), *([repeats_text(repeats)] if repeats else [])])


def repeats_text(repeats: Sequence[RepeatRecord]) -> str:
    """How many passages are not repeated, and the first three of their titles."""
    titles = list(dict.fromkeys(filter(None, (unbroken(repeat["title"]) for repeat in repeats))))
    named = "; ".join(cut(title, MAX_NAME_CHARS) for title in titles[:MAX_NAMED])
    more = "; …" if len(titles) > MAX_NAMED else ""
    count = len({repeat["id"] for repeat in repeats})
    said = f"Shown before, not repeated: {counted(count, 'passage')}"
    return f"{said} ({named}{more})" if titles else said


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
    ranking: Sequence[Hit], k: int, shown: Collection[str], names: Sequence[str] = ()
) -> tuple[list[Hit], list[RepeatRecord]]:
    """The best `k` hits of a ranking that the model lacks, and the others that stand among them.

    A page of which nothing is known is the ranking's own. Where others take the places of known
    passages, and the query has `names`, a hit behind the first half of the k must have one of them:
    the rest share other words. Where no hit has one as the query writes it, all k stay.
    """
    new: list[Hit] = []
    repeated: list[RepeatRecord] = []
    named = {hit.passage.id for hit in ranking if names and phrases_held(hit.passage, names)}
    for rank, (passage, score) in enumerate(ranking):
        if len(new) == k:
            break
        if passage.id in shown:
            repeated.append(RepeatRecord(id=passage.id, title=passage.title))
        elif (
            not names
            or passage.id in named
            or rank < k // 2
            or (rank < k and not (repeated and named))
        ):
            new.append(Hit(passage, score))
    return new, repeated


def search_head(query: int, shown: int, matching: int, k: int, page: int) -> str:
    """What a search found: passages shown, how many match, whether another page has more. `query`:
    which of the call's, from 1; 0 where it has one. To repeat its words would cost much."""
    # A trace is printed with the sentence that follows on the same line.
    end = "" if shown else "."
    least = "+" if matching >= MAX_K else ""
    more = ""
    if matching > page * k:
        more = f"; more on page {page + 1}"
    elif least:
        more = "; for others, word the query differently"
    return (
        f"{f'Query {query}: ' if query else ''}{shown} of {matching}{least} that match{more}{end}"
    )


def answer_text(answer: QueryResult) -> str:
    """Names of the columns, one row per line, what was cut, and notes.

    At most 100 rows and 24 KiB of rows, cut between rows.
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


def rows_record(answer: QueryResult) -> RowsRecord:
    """An answer as a tool's artifact keeps it."""
    return RowsRecord(
        variables=list(answer.variables),
        rows=[[term and _value(term) for term in row] for row in answer.rows],
        complete=answer.complete,
        boolean=answer.boolean,
        labels=dict(answer.labels),
    )


def _value(term: Term) -> dict[str, str]:
    """As in SPARQL's JSON results."""
    kind = {"iri": "uri", "literal": "literal", "blank": "bnode"}[term.kind]
    more = {"datatype": term.datatype, "xml:lang": term.language}
    return {"type": kind, "value": term.value, **{key: text for key, text in more.items() if text}}


def _cells(answer: QueryResult, row: Sequence[Term | None]) -> Iterable[str]:
    for variable, term in zip(answer.variables, row, strict=True):
        if term is None:
            yield "-"
        elif term.kind != "iri":
            is_date = term.datatype.endswith("#dateTime")
            value = term.value.removesuffix("T00:00:00Z") if is_date else term.value
            yield _one_line(value, _MAX_CELL)
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


def matches_text(text: str, matches: Sequence[Match], limit: int = MAX_NAMES) -> str:
    """Matches under the name that they bear, in order; guesses are marked. Where as many names came
    as were asked for, it says how to see more."""
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
    if len({match.name for match in matches}) >= limit and limit < MAX_NAMES:
        lines.append(f"(limited to {counted(limit, 'name')}; there may be more: raise `limit`)")
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


def _one_line(text: str, most: int = MAX_NAME_CHARS) -> str:
    return cut(printable(unbroken(text), " "), most)
