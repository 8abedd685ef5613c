"""Answers in the branch form, out of what was read: titles as keys, names as answers."""

import orjson

from manners.conversation import Conversation, ShownPassage
from manners.text import base, names, sentences, stems

MOST_ANSWERS = 12
DEFAULT = "default"


def answer(seen: Conversation) -> str:
    """The final JSON: under each title that bears an asked name, the names of the sentences that
    share most with the question. It need not be good: what is measured is what was found."""
    named = {name.lower() for name in names(seen.question)}
    titles = dict.fromkeys(p.title for p in seen.passages if base(p.title).lower() in named)
    found = {title: _answers(seen, title) for title in titles}
    found = {title: answers for title, answers in found.items() if answers}
    if len(found) == 1:
        found = {DEFAULT: next(iter(found.values()))}
    if not found:
        found = {DEFAULT: [p.title for p in seen.passages[:MOST_ANSWERS]]}
    told = f"Read {len(seen.passages)} passages in {len(seen.calls)} calls."
    return orjson.dumps({"reasoning": told, "answers": found}).decode()


def _answers(seen: Conversation, title: str) -> list[str]:
    about = [p for p in seen.passages if p.title == title or title in p.text]
    told = [(sentence, passage) for passage in about for sentence in sentences(passage.text)]
    ranked = sorted(told, key=lambda pair: -len(stems(pair[0]) & stems(seen.question)))
    best = [name for sentence, passage in ranked[:3] for name in _named(sentence, passage, seen)]
    return list(dict.fromkeys(best))[:MOST_ANSWERS]


def _named(sentence: str, passage: ShownPassage, seen: Conversation) -> list[str]:
    own = base(passage.title).lower()
    return [
        name
        for name in names(sentence)
        if name.lower() not in seen.question.lower() and name.lower() not in own
    ]
