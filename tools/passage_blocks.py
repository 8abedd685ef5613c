"""Passages as a model reads them: each whole once, then by its title."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from branchwise.base.text import unbroken
from branchwise.corpora.folder import Titles
from branchwise.corpora.passages import name_of
from branchwise.corpora.retrieval import Hit
from branchwise.tools.artifacts import PassageRecord, RepeatRecord

MAX_MORE_QUERIES, MAX_OPENED = 4, 20
"""Of one search and of one opened title, at most."""
NO_PASSAGE = "No passage matches the query."
_BETWEEN = "\n\n"
_REPEATED = "Shown before, not repeated:"


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
    return f"{_head(record)}\n{unbroken(str(record['text']))}"


def _head(record: Mapping[str, Any]) -> str:
    part = record.get("part")
    place = f" · {part[0]} of {part[1]}" if part else ""
    return f"[{record['id']}] {unbroken(str(record['title']))}{place}"


def passages_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Passages as the agent sees them."""
    return blocks(records, ()) or NO_PASSAGE


def blocks(records: Iterable[Mapping[str, Any]], repeats: Sequence[RepeatRecord]) -> str:
    """New passages whole, with empty lines between them, then the others by their titles."""
    named = "\n".join([_REPEATED, *(f"[{one['id']}] {unbroken(one['title'])}" for one in repeats)])
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
