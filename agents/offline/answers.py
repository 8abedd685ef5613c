"""Answers out of passages, by reading: titles that share a name which the question uses, or the
readings that the question came with."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from branchwise.agents.offline.view import Seen, View
from branchwise.agents.offline.words import (
    STOP_WORDS,
    WORD,
    base_name,
    contains_name,
    longest_name,
    names,
    sentences,
    stem,
    stem_list,
    stems,
    unique,
    words,
)

AnswerKind = Literal["person", "year", "date", "number", "name"]

MAX_READINGS, MAX_ANSWERS, MAX_CONDITIONS = 6, 12, 3
_SHARE = 0.6
"""A passage is cited that says at least this share of the answer's words."""
_DEFAULT = "default"
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"\b(?:1\d{3}|20\d{2})\b"
_DATE = re.compile(rf"\b\d{{1,2}} {_MONTH} \d{{4}}\b|\b{_MONTH} \d{{1,2}}, \d{{4}}\b|{_YEAR}")
_COUNTS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBER = re.compile(
    rf"[$€£]?\b\d[\d,.]*\d\b(?: (?:thousand|million|billion))?|\b\d+\b|\b(?:{_COUNTS})\b",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*+(?:,\s*+(?:(?<=\s)and|&)?|(?<=\s)and|&)\s*+")


class ReadingSearch(NamedTuple):
    """Answers to look for: their key, the question and the name in it, and where they may stand."""

    key: str
    question: str
    name: str
    passages: Sequence[Seen]


def readings(question: str, passages: Sequence[Seen]) -> dict[str, list[Seen]]:
    """Passages by title, for the titles whose bare name stands in the question.

    It is written there with a capital: "heat" is not a film. Of nested names ("Heat", "Heat Wave")
    only those with the longest bare name count. Where the question says words of disambiguators
    ("1976", "film"), the titles with most of them stay.
    """
    titled: dict[str, list[Seen]] = {}
    for passage in passages:
        if contains_name(question, passage.base):
            first = words(passage.base)[0]
            if first[0].isdigit() or re.search(rf"\b{re.escape(first)}\b", question):
                titled.setdefault(passage.title, []).append(passage)
    if not titled:
        return {}
    longest = max((own[0].base for own in titled.values()), key=lambda base: len(words(base)))
    same = {title: own for title, own in titled.items() if own[0].base.lower() == longest.lower()}
    beside = stems(question.replace(longest, " "))
    shared = {title: len(stems(title[len(longest) :]) & beside) for title in same}
    most = max(shared.values())
    return dict([(t, own) for t, own in same.items() if shared[t] == most][:MAX_READINGS])


def told_apart(question: str, reading: str) -> frozenset[str]:
    """Stems that the reading says beyond the question: what tells it from the others."""
    return frozenset(Counter(stem_list(reading)) - Counter(stem_list(question)))


def keys_for(question: str, given: Sequence[str], titles: Mapping[str, str]) -> dict[str, str]:
    """Title to the key for its answers, for titles (with what they open with) that fit a reading.

    A title that alone fits a reading best is answered under that reading's text, and no second
    one is. Where several fit one reading equally well, each of them is a reading that is not in
    the list, with its title as key.
    """
    best = {reading: _best_titles(told_apart(question, reading), titles) for reading in given}
    keys: dict[str, str] = {}
    for reading, fits in best.items():
        if len(fits) == 1 and fits[0] not in keys:
            keys[fits[0]] = reading
    for fits in best.values():
        keys.update({title: title for title in fits if title not in keys and len(fits) > 1})
    return keys


def _best_titles(apart: frozenset[str], titles: Mapping[str, str]) -> list[str]:
    """The titles that share most of the words, with their brackets or, without any, their opening;
    all of them where there is no word to go by. Where both give years, one must be the same."""
    if not apart:
        return list(titles)
    shared: dict[str, int] = {}
    for title, opening in titles.items():
        own = stems(title[len(base_name(title)) :] or opening)
        years, own_years = ({w for w in side if re.fullmatch(_YEAR, w)} for side in (apart, own))
        is_other = years and own_years and years.isdisjoint(own_years)
        shared[title] = 0 if is_other else len(apart & own)
    most = max(shared.values(), default=0)
    return [title for title, n in shared.items() if most and n == most]


def _sought(view: View) -> list[ReadingSearch]:
    """What to look for under each of the readings that the question came with.

    Where titles share a name with them, in the passages of the titles that fit; else in those that
    say what tells the reading apart.
    """
    named: dict[str, list[Seen]] = {}
    for asked in (*view.readings, view.question):
        named |= readings(asked, view.passages)
    if not named:
        return [ReadingSearch(r, r, longest_name(r), _telling(view, r)) for r in view.readings]
    openings = {title: sentences(own[0].text)[0] for title, own in named.items()}
    keys = keys_for(view.question, view.readings, openings)
    return [
        ReadingSearch(key, view.question, named[title][0].base, named[title])
        for title, key in keys.items()
    ]


def _telling(view: View, reading: str) -> list[Seen]:
    """The passages that say most of what tells a reading apart; all, where nothing does."""
    apart = told_apart(view.question, reading)
    if not apart:
        return list(view.passages)
    shared = [len(apart & (stems(p.title) | stems(p.text))) for p in view.passages]
    most = max(shared, default=0)
    return [p for p, n in zip(view.passages, shared, strict=True) if most and n == most]


def read_branches(view: View) -> dict[str, list[str]]:
    """Answers by reading, those that the question came with under their texts; or by `default`
    where there is only one."""
    if view.readings and (listed := _read(view, _sought(view))):
        return listed
    by_title = readings(view.question, view.passages)
    searches = [
        ReadingSearch(title, view.question, own[0].base, own) for title, own in by_title.items()
    ]
    if len(searches) > 1:
        return _read(view, searches)
    # A title in brackets shows that other readings were ruled out.
    for search in searches:
        if search.key != search.name and (read := _read(view, [search])):
            return {_DEFAULT: read[search.key]}
    name = searches[0].name if searches else longest_name(view.question)
    answers = _read_answers(view.question, name, view.passages)
    return {_DEFAULT: answers} if answers else {}


def _read(view: View, searches: Sequence[ReadingSearch]) -> dict[str, list[str]]:
    """Out of a reading's own passages, and of those about names that they bring up."""
    answers = {}
    for search in searches:
        brought_up = [name[0] for passage in search.passages for name in names(passage.text)]
        brought = {name.rstrip(".").lower() for name in brought_up} - {search.name.lower()}
        further = [passage for passage in view.passages if passage.base.lower() in brought]
        passages = [*search.passages, *further]
        answers[search.key] = _read_answers(search.question, search.name, passages)
    return {key: texts for key, texts in answers.items() if texts}


class _Candidate(NamedTuple):
    """A span that could be the answer, and how good its sentence and place are."""

    text: str
    score: float


def _read_answers(question: str, name: str, passages: Sequence[Seen]) -> list[str]:
    """Answers to `question` in `passages`, best first; `name` is the thing that it asks about.

    The sentence that says most of what the question says decides; of its spans, the one nearest
    to the words that they share, with those that are listed beside it.
    """
    kind = _asked_kind(question)
    wanted = stems(question) - stems(name)
    candidates = [
        _Candidate(text, len(shared))
        for passage in passages
        for sentence in sentences(passage.text)
        if (shared := stems(sentence) & wanted)
        for text in _nearest(sentence, _spans(kind, question, passage, sentence), shared)
    ]
    if kind == "name":
        candidates += _titles(question, wanted, passages)
    best = max((candidate.score for candidate in candidates), default=0)
    return unique(c.text for c in candidates if c.score >= best - 1e-9)[:MAX_ANSWERS]


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


def _spans(kind: AnswerKind, question: str, passage: Seen, sentence: str) -> list[re.Match[str]]:
    """What in a sentence could be the answer."""
    patterns = {"year": re.compile(_YEAR), "date": _DATE, "number": _NUMBER}
    if kind in patterns:
        return list(patterns[kind].finditer(sentence))
    others = [
        name
        for name in names(sentence)
        if not contains_name(question, name[0]) and not contains_name(passage.title, name[0])
    ]
    if kind == "name":
        return others
    return [
        name
        for name in others
        if len(name[0].split()) in (2, 3, 4) and not re.search(r"\d|^The ", name[0])
    ]


def _nearest(sentence: str, spans: list[re.Match[str]], shared: frozenset[str]) -> list[str]:
    """The span nearest to a shared word, with those that a list joins to it."""
    if not spans:
        return []
    places = [word.span() for word in WORD.finditer(sentence) if stem(word[0]) in shared]

    def distance(n: int) -> int:
        """Characters to the nearest word; a span before a word is farther than one after it."""
        start, end = spans[n].span()
        return min(start - p[1] if start >= p[1] else 2 * max(0, p[0] - end) for p in places)

    def is_joined(n: int) -> bool:
        """Whether a span and the next one are of one list."""
        return bool(_JOINT.fullmatch(sentence, spans[n].end(), spans[n + 1].start()))

    first = last = min(range(len(spans)), key=distance)
    while first > 0 and is_joined(first - 1):
        first -= 1
    while last + 1 < len(spans) and is_joined(last):
        last += 1
    return [_clean(span[0]) for span in spans[first : last + 1]]


def _clean(text: str) -> str:
    """Without a full stop or a possessive at the end, and without leading stop words."""
    parts = re.sub(r"['’]s?$", "", text).split()
    while len(parts) > 1 and parts[0].lower() in STOP_WORDS - {"the", "a", "an", "of", "i", "you"}:
        parts = parts[1:]
    joined = " ".join(parts)
    return joined if re.search(r"\b(?:Jr|Sr|[A-Z])\.$", joined) else joined.rstrip(".,")


def _titles(
    question: str, wanted: frozenset[str], passages: Sequence[Seen]
) -> Iterator[_Candidate]:
    """Titles of passages that say of their subject what the question asks: "Which films did X
    direct?" is answered by passages that name X beside "directed"."""
    asked = [name[0] for name in names(question) if words(name[0])]
    for passage in passages:
        is_about = any(contains_name(passage.text, name) for name in asked)
        if is_about and not contains_name(question, passage.base):
            shared = max(len(stems(sentence) & wanted) for sentence in sentences(passage.text))
            if shared:
                yield _Candidate(passage.title, shared + 0.5)


class _Quote(NamedTuple):
    score: float
    passage: Seen
    answer: str


def read_conditions(question: str, passages: Sequence[Seen]) -> list[dict[str, Any]]:
    """For each of the best titles: the sentence that says most of the question's words and the
    one after it, citing the passages that say the same."""
    asked = stems(question)
    quotes = [quote for passage in passages if (quote := _best_quote(asked, passage))]
    best: dict[str, _Quote] = {}
    for quote in sorted(quotes, key=lambda quote: -quote.score):
        best.setdefault(quote.passage.title, quote)
    least = 0.75 * max((quote.score for quote in best.values()), default=0.0)
    conditions = []
    for quote in [quote for quote in best.values() if quote.score >= least][:MAX_CONDITIONS]:
        spoken = stems(quote.answer)
        citations = [
            passage.id
            for passage in passages
            if passage is quote.passage or len(stems(passage.text) & spoken) >= _SHARE * len(spoken)
        ]
        condition = f"The question is about {quote.passage.title}."
        conditions.append({"condition": condition, "answer": quote.answer, "citations": citations})
    return conditions


def _best_quote(asked: frozenset[str], passage: Seen) -> _Quote | None:
    text = sentences(passage.text)
    shares = [len(stems(sentence) & asked) for sentence in text]
    if not any(shares):
        return None
    at = max(range(len(text)), key=lambda n: shares[n])
    titled = len(stems(passage.title) & asked) / 2
    return _Quote(shares[at] + titled, passage, " ".join(text[at : at + 2]))


def read_listed(view: View) -> list[dict[str, Any]]:
    """The best answer under each of the readings that the question came with, where there is one;
    without any, the conditions that the titles give."""
    conditions = []
    for reading in view.readings:
        best = read_conditions(reading, _telling(view, reading))[:1]
        conditions += [{**condition, "condition": reading} for condition in best]
    return conditions or read_conditions(view.question, view.passages)
