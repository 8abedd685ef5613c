"""Answers by branch: for each reading of the question, the spans of its passages that could be what
is asked for."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from branchwise.agents.offline.readings import ReadingSearch, readings, sought
from branchwise.agents.offline.view import Seen, View
from branchwise.agents.offline.words import (
    STOP_WORDS,
    contains_name,
    longest_name,
    names,
    sentences,
    stem,
    stems,
    unique,
    word_places,
    words,
)

AnswerKind = Literal["person", "year", "date", "number", "name"]

MAX_ANSWERS = 12
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"\b(?:1\d{3}|20\d{2})\b"
_DATE = re.compile(rf"\b\d{{1,2}} {_MONTH} \d{{4}}\b|\b{_MONTH} \d{{1,2}}, \d{{4}}\b|{_YEAR}")
_COUNTS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBER = re.compile(
    rf"[$€£]?\b\d[\d,.]*\d\b(?: (?:thousand|million|billion))?|\b\d+\b|\b(?:{_COUNTS})\b",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*+(?:,\s*+(?:(?<=\s)and|&)?|(?<=\s)and|&)\s*+")


class _Candidate(NamedTuple):
    """A span that could be the answer, and how good its sentence and place are."""

    text: str
    score: float


def _asked_kind(question: str) -> AnswerKind:
    """What the question word asks for."""
    asked = question.lower()
    if re.search(r"\b(what|which) year|\byears?\b.*\?$", asked):
        return "year"
    if re.search(r"\bwhen\b|\b(what|which) (date|day)", asked):
        return "date"
    if re.search(r"\bhow (many|much|long|old|tall|far|high|big)\b|\bwhat number", asked):
        return "number"
    if re.search(r"\bwho(m|se)?\b", asked):
        return "person"
    return "name"


def _read_answers(question: str, name: str, passages: Sequence[Seen]) -> list[str]:
    """Answers to `question` in `passages`, best first; `name` is the thing that it asks about.

    The sentence that says most of what the question says decides; of its spans, the one nearest
    to the words that they share, with those that are listed beside it.
    """
    kind = _asked_kind(question)
    wanted = stems(question) - stems(name)
    found = [c for passage in passages for c in _candidates(kind, question, wanted, passage)]
    if kind == "name":
        found += _titles(question, wanted, passages)
    if not found:
        return []
    best = max(candidate.score for candidate in found)
    return unique(c.text for c in found if c.score >= best - 1e-9)[:MAX_ANSWERS]


def _candidates(
    kind: AnswerKind, question: str, wanted: frozenset[str], passage: Seen
) -> Iterator[_Candidate]:
    for sentence in sentences(passage.text):
        shared = stems(sentence) & wanted
        if not shared:
            continue
        spans = _spans(kind, question, passage, sentence)
        for text in _nearest(sentence, spans, shared):
            yield _Candidate(text, len(shared))


def _spans(kind: AnswerKind, question: str, passage: Seen, sentence: str) -> list[re.Match[str]]:
    if kind == "year":
        return list(re.finditer(_YEAR, sentence))
    if kind == "date":
        return list(_DATE.finditer(sentence))
    if kind == "number":
        return list(_NUMBER.finditer(sentence))
    return [
        found
        for found in names(sentence)
        if not contains_name(question, found[0])
        and not contains_name(passage.title, found[0])
        and (kind == "name" or _like_a_person(found[0]))
    ]


def _like_a_person(name: str) -> bool:
    return len(name.split()) in (2, 3, 4) and not re.search(r"\d|^The ", name)


def _nearest(sentence: str, spans: list[re.Match[str]], shared: frozenset[str]) -> list[str]:
    """The span nearest to a shared word, with those that a list joins to it."""
    if not spans:
        return []
    places = [m.span() for m in word_places(sentence) if stem(m[0]) in shared]
    at = min(range(len(spans)), key=lambda n: min(_distance(spans[n].span(), p) for p in places))
    first = last = at
    while first > 0 and _joined(sentence, spans[first - 1], spans[first]):
        first -= 1
    while last + 1 < len(spans) and _joined(sentence, spans[last], spans[last + 1]):
        last += 1
    return [_clean(span[0]) for span in spans[first : last + 1]]


def _distance(span: tuple[int, int], place: tuple[int, int]) -> int:
    """Characters between a span and a word; before the word costs more than after it."""
    if span[0] >= place[1]:
        return span[0] - place[1]
    return 2 * max(0, place[0] - span[1])


def _joined(sentence: str, left: re.Match[str], right: re.Match[str]) -> bool:
    return _JOINT.fullmatch(sentence, left.end(), right.start()) is not None


def _clean(text: str) -> str:
    """Without a full stop or a possessive at the end, and without leading stop words."""
    parts = re.sub(r"['’]s?$", "", text).split()
    while len(parts) > 1 and parts[0].lower() in STOP_WORDS - {"the", "a", "an", "of", "i", "you"}:
        parts = parts[1:]
    joined = " ".join(parts)
    return joined if re.search(r"\b(?:Jr|Sr|[A-Z])\.$", joined) else joined.rstrip(".,")


def _titles(question: str, wanted: frozenset[str], passages: Sequence[Seen]) -> list[_Candidate]:
    """Titles of passages that say of their subject what the question asks: "Which films did X
    direct?" is answered by passages that name X beside "directed"."""
    asked = [found[0] for found in names(question) if words(found[0])]
    return [
        _Candidate(passage.title, len(shared) + 0.5)
        for passage in passages
        if asked
        and any(contains_name(passage.text, name) for name in asked)
        and not contains_name(question, passage.base)
        for shared in [max((stems(s) & wanted for s in sentences(passage.text)), key=len)]
        if shared
    ]


_DEFAULT = "default"


def read_branches(view: View) -> dict[str, list[str]]:
    """Answers by reading, those that the question came with under their texts; or by `default`
    where there is only one."""
    if view.readings and (listed := _read(view, sought(view))):
        return listed
    found = readings(view.question, view.passages)
    if len(found) < 2:
        read = _single(view, found)
        return {_DEFAULT: read} if read else {}
    return _read(
        view, [ReadingSearch(t, view.question, own[0].base, own) for t, own in found.items()]
    )


def _read(view: View, all_sought: Sequence[ReadingSearch]) -> dict[str, list[str]]:
    answers = {
        one.key: _read_answers(one.question, one.name, [*one.passages, *_further(view, one)])
        for one in all_sought
    }
    return {key: read for key, read in answers.items() if read}


def _single(view: View, found: Mapping[str, list[Seen]]) -> list[str]:
    """Answers where there is one reading; a title in brackets shows that others were ruled out."""
    for title, own in found.items():
        if title != own[0].base and (
            read := _read(view, [ReadingSearch(title, view.question, own[0].base, own)])
        ):
            return read[title]
    name = next(iter(found.values()))[0].base if found else longest_name(view.question)
    return _read_answers(view.question, name, view.passages)


def _further(view: View, one: ReadingSearch) -> list[Seen]:
    """Passages about names that a reading's own passages bring up: the second hop."""
    name = one.name.lower()
    brought = {found[0].rstrip(".").lower() for p in one.passages for found in names(p.text)}
    return [
        passage
        for passage in view.passages
        if passage.base.lower() in brought and passage.base.lower() != name
    ]
