"""CondAmbigQA: conditions with free-text answers, cited from 20 given passages a question.

Format: the published JSON array (github.com/innovation64/CondAmbigQA). A property becomes a
branch: its condition is the name, its `groundtruth` the only answer (a list is joined), its
citations the ids (content hashes) of passages.

`Question.passages` keeps all slots in their order, repeats included, because "Fragment k" and
citations number them; `corpus build` removes the repeats.

Citations are titled "k. Title". The number stands where the k-th passage has that title. If it has
another (about 1 in 100), the citation's own text decides: the passage that holds most of its words,
if that is at least half of them; else the number stands. A citation that points nowhere is kept
apart in `meta["unresolved_citations"]`. `meta["benchmark"]` names the benchmark.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.base.errors import InputError
from branchwise.base.text import one_line
from branchwise.corpora.loaders.records import (
    PublishedEntry,
    PublishedRecord,
    entry_question,
    uniquely_named,
    validated,
)
from branchwise.corpora.loaders.source import RowPlace
from branchwise.corpora.passages import Passage, make_passage
from branchwise.corpora.questions import Answer, Branch, Question

_MARKER = r"\[[^\[\]]{0,200}\bfragments?\b[^\[\]]{0,200}\]"
_MARKER_IN_SENTENCE = re.compile(rf"(?:\s*{_MARKER})+(?=\s*[.,;:!?])", re.IGNORECASE)
_MARKER_ANYWHERE = re.compile(_MARKER, re.IGNORECASE)
_DOUBLED_STOP = re.compile(r"(?<!\.)\.\s*\.(?!\.)")
_NUMBERED = re.compile(r"\s*(\d{1,4})\s*\.\s*(.*)", re.DOTALL)
_WORD = re.compile(r"\w+")


class _Citation(PublishedRecord):
    title: str
    text: str = ""


class _Property(PublishedRecord):
    condition: str
    groundtruth: str | list[str]
    citations: tuple[_Citation, ...] = ()

    @property
    def answer(self) -> str:
        parts = [self.groundtruth] if isinstance(self.groundtruth, str) else self.groundtruth
        return " ".join(filter(None, map(without_markers, parts)))


class _Context(PublishedRecord):
    title: str
    text: str


class _Entry(PublishedEntry):
    properties: list[Any]
    ctxs: list[_Context]


def condambigqa_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry; None if something in it was refused."""
    return entry_question(_Entry, record, at, _question)


def without_markers(text: str) -> str:
    """The text without "[Fragment 3, Fragment 5]" and the like, white space collapsed."""
    # First: searching for a marker after each of many spaces takes quadratic time.
    text = one_line(text)
    unmarked = _MARKER_ANYWHERE.sub(" ", _MARKER_IN_SENTENCE.sub("", text))
    if unmarked != text:
        unmarked = _DOUBLED_STOP.sub(".", unmarked)
    return one_line(unmarked)


def _question(entry: _Entry, where: str) -> Question:
    passages = [make_passage(context.title, context.text) for context in entry.ctxs]
    branches: list[Branch] = []
    unresolved: list[str] = []
    for number, raw in enumerate(_flat(entry.properties), start=1):
        place = f"{where}, property {number}"
        item = validated(_Property, raw, place)
        name, answer = without_markers(item.condition), item.answer
        if not name or not answer:
            missing = "groundtruth" if name else "condition"
            raise InputError(f"its {missing} is empty", where=place, remedy="fill or remove it")
        cited = [_cited_id(citation, passages) for citation in item.citations]
        unresolved += [c.title for c, id in zip(item.citations, cited, strict=True) if id is None]
        citations = tuple(dict.fromkeys(id for id in cited if id is not None))
        branches.append(Branch(name=name, answers=(Answer(text=answer),), citations=citations))
    apart = {"unresolved_citations": unresolved} if unresolved else {}
    return Question(
        id=entry.id,
        question=entry.question.strip(),
        ambiguous=len(branches) > 1,
        branches=uniquely_named(branches),
        passages=tuple(passages),
        meta={"benchmark": "condambigqa", **apart},
    )


def _flat(properties: Sequence[Any]) -> Iterator[Any]:
    """Properties with nested lists written out (one published property is itself a list)."""
    for item in properties:
        if isinstance(item, list):
            yield from _flat(item)
        else:
            yield item


def _cited_id(citation: _Citation, passages: Sequence[Passage]) -> str | None:
    """The id of the passage that a citation means, None if it points nowhere."""
    match = _NUMBERED.match(citation.title)
    number = int(match[1]) - 1 if match else -1
    title = match[2] if match else citation.title
    numbered = passages[number] if 0 <= number < len(passages) else None
    if numbered is not None and _words(numbered.title) == _words(title):
        return numbered.id
    words = set(_words(citation.text))

    def agreement(passage: Passage) -> tuple[int, bool]:
        return len(words.intersection(_words(passage.text))), passage is numbered

    if words and passages:
        best = max(passages, key=agreement)
        if 2 * agreement(best)[0] >= len(words):
            return best.id
    return numbered.id if numbered else None


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
