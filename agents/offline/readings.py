"""Readings: several titles that share a name which the question uses."""

import re
from collections.abc import Sequence

from branchwise.agents.offline.view import Seen
from branchwise.agents.offline.words import contains_name, stems, words

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
    """Whether the question writes `base` with a capital: "heat" is no film where it is not."""
    first = words(base)[0]
    return first[0].isdigit() or bool(re.search(rf"\b{re.escape(first)}\b", question))


def _narrowing(question: str, title: str, base: str) -> int:
    """How many words of the title's disambiguator the question says."""
    return len(stems(title[len(base) :]) & stems(question.replace(base, " ")))
