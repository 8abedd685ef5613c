"""Conditions with answers in sentences and citations, as free-text tasks ask for them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from branchwise.agents.offline.readings import telling
from branchwise.agents.offline.view import Seen, View
from branchwise.agents.offline.words import sentences, stems

MAX_CONDITIONS = 3
_SHARE = 0.6
"""A passage is cited that says at least this share of the answer's words."""


class _Said(NamedTuple):
    score: float
    passage: Seen
    answer: str


def read_conditions(question: str, passages: Sequence[Seen]) -> list[dict[str, Any]]:
    """For each of the best titles: the sentence that says most of the question's words and the
    one after it, citing the passages that say the same."""
    asked = stems(question)
    said = [s for passage in passages if (s := _best(asked, passage)) is not None]
    best: dict[str, _Said] = {}
    for entry in sorted(said, key=lambda s: -s.score):
        best.setdefault(entry.passage.title, entry)
    kept = [s for s in best.values() if s.score >= 0.75 * max(b.score for b in best.values())]
    return [
        {
            "condition": f"The question is about {entry.passage.title}.",
            "answer": entry.answer,
            "citations": _citations(entry, passages),
        }
        for entry in kept[:MAX_CONDITIONS]
    ]


def read_listed(view: View) -> list[dict[str, Any]]:
    """The best answer under each of the readings that the question came with, where there is one;
    without any, the conditions that the titles give."""
    found = []
    for reading in view.readings:
        best = read_conditions(reading, telling(view, reading))[:1]
        found += [{**condition, "condition": reading} for condition in best]
    return found or read_conditions(view.question, view.passages)


def _best(asked: frozenset[str], passage: Seen) -> _Said | None:
    text = sentences(passage.text)
    if not text:
        return None
    shares = [len(stems(sentence) & asked) for sentence in text]
    at = max(range(len(text)), key=lambda n: shares[n])
    if not shares[at]:
        return None
    titled = len(stems(passage.title) & asked) / 2
    return _Said(shares[at] + titled, passage, " ".join(text[at : at + 2]))


def _citations(entry: _Said, passages: Sequence[Seen]) -> list[str]:
    said = stems(entry.answer)
    return [
        passage.id
        for passage in passages
        if passage is entry.passage or len(stems(passage.text) & said) >= _SHARE * len(said)
    ]
