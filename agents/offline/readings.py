"""Readings: several titles that share a name which the question uses, and those that the question
came with."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from branchwise.agents.offline.view import Seen, View
from branchwise.agents.offline.words import (
    STOP_WORDS,
    base_name,
    contains_name,
    longest_name,
    sentences,
    stem,
    stems,
    words,
)

MAX_READINGS = 6


def readings(question: str, passages: Sequence[Seen]) -> dict[str, list[Seen]]:
    """Passages by title, for the titles whose bare name stands in the question.

    Of nested names ("Heat", "Heat Wave") only those with the longest bare name count. Where the
    question says words of disambiguators ("1976", "film"), the titles with most of them stay.
    """
    titled: dict[str, list[Seen]] = {}
    for passage in passages:
        if contains_name(question, passage.base) and _is_name(question, passage.base):
            titled.setdefault(passage.title, []).append(passage)
    if not titled:
        return {}
    longest = max((own[0].base for own in titled.values()), key=lambda base: len(words(base)))
    same = {title: own for title, own in titled.items() if own[0].base.lower() == longest.lower()}
    shared = {title: _narrowing(question, title, longest) for title in same}
    most = max(shared.values())
    return dict([(t, own) for t, own in same.items() if shared[t] == most][:MAX_READINGS])


def _is_name(question: str, base: str) -> bool:
    """Whether the question writes `base` with a capital: "heat" is not a film if it does not."""
    first = words(base)[0]
    return first[0].isdigit() or bool(re.search(rf"\b{re.escape(first)}\b", question))


def _narrowing(question: str, title: str, base: str) -> int:
    """How many words of the title's disambiguator the question says."""
    return len(stems(title[len(base) :]) & stems(question.replace(base, " ")))


_YEAR = re.compile(r"1\d{3}|20\d{2}")


class ReadingSearch(NamedTuple):
    """Answers to look for: their key, the question and the name in it, and where they may stand."""

    key: str
    question: str
    name: str
    passages: Sequence[Seen]


def told_apart(question: str, reading: str) -> frozenset[str]:
    """Stems that the reading says beyond the question: what tells it from the others."""
    return frozenset(Counter(_stems(reading)) - Counter(_stems(question)))


def keys_for(question: str, given: Sequence[str], titles: Mapping[str, str]) -> dict[str, str]:
    """Title to the key for its answers, for titles (with what they open with) that fit a reading.

    A title that alone fits a reading best is answered under that reading's text, and no second
    one is. Where several fit one reading equally well, each of them is a reading that is not in
    the list, with its title as key.
    """
    best = {reading: _best(told_apart(question, reading), titles) for reading in given}
    keys: dict[str, str] = {}
    for reading, fits in best.items():
        if len(fits) == 1 and fits[0] not in keys:
            keys[fits[0]] = reading
    for fits in best.values():
        keys.update({title: title for title in fits if title not in keys and len(fits) > 1})
    return keys


def sought(view: View) -> list[ReadingSearch]:
    """What to look for under each of the readings that the question came with.

    Where titles share a name with them, in the passages of the titles that fit; else in those that
    say what tells the reading apart.
    """
    named: dict[str, list[Seen]] = {}
    for asked in (*view.readings, view.question):
        named |= readings(asked, view.passages)
    if not named:
        return [ReadingSearch(r, r, longest_name(r), telling(view, r)) for r in view.readings]
    openings = {title: sentences(own[0].text)[0] for title, own in named.items()}
    keys = keys_for(view.question, view.readings, openings)
    return [
        ReadingSearch(key, view.question, named[title][0].base, named[title])
        for title, key in keys.items()
    ]


def telling(view: View, reading: str) -> list[Seen]:
    """The passages that say most of what tells a reading apart; all, where nothing does."""
    apart = told_apart(view.question, reading)
    if not apart:
        return list(view.passages)
    said = [len(apart & {*_stems(p.title), *_stems(p.text)}) for p in view.passages]
    most = max(said, default=0)
    return [p for p, n in zip(view.passages, said, strict=True) if most and n == most]


def _best(apart: frozenset[str], titles: Mapping[str, str]) -> list[str]:
    """The titles with most of the words; all of them where there is no word to go by."""
    if not apart:
        return list(titles)
    shared = {title: _shared(apart, title, opening) for title, opening in titles.items()}
    most = max(shared.values(), default=0)
    return [title for title, n in shared.items() if most and n == most]


def _shared(apart: frozenset[str], title: str, opening: str) -> int:
    """Shared words: with the brackets of a title, or with the opening where it has none.

    None at all where both give years and none of them is the same.
    """
    brackets = title[len(base_name(title)) :]
    said = frozenset(_stems(brackets or opening))
    years, own = _years(apart), _years(said)
    return 0 if years and own and years.isdisjoint(own) else len(apart & said)


def _years(said: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in said if _YEAR.fullmatch(word))


def _stems(text: str) -> list[str]:
    return [stem(word) for word in words(text) if word.lower() not in STOP_WORDS]
