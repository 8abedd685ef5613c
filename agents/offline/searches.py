"""What to search for next."""

from collections.abc import Iterator

from branchwise.agents.offline.readings import readings
from branchwise.agents.offline.view import Seen, View
from branchwise.agents.offline.words import (
    contains_name,
    names,
    sentences,
    stems,
    unique,
    words_beside,
)

MAX_CALLS = 10
MAX_TURNS = 3
_HOPS = 3


def next_queries(view: View) -> list[str]:
    """Queries for the next turn, none when it is time to answer.

    First the question as it stands, or the readings that it came with; then each reading of the
    asked name with what is asked about it, or the bare name where only one was found; then names
    that the best sentences bring up.
    """
    most = MAX_CALLS + len(view.readings)
    if view.must_answer or view.turns >= MAX_TURNS or len(view.queries) >= most:
        return []
    if not view.queries:
        question = f"{view.question} {view.chosen}".rstrip()
        return unique(view.readings or (question,)) if view.question else []
    asked = {query.lower() for query in view.queries}
    wanted = _about_readings(view) if view.turns == 1 else _about_names(view)
    fresh = [query for query in unique(wanted) if query.lower() not in asked]
    return fresh[: most - len(view.queries)]


def _about_readings(view: View) -> Iterator[str]:
    listed = [Seen("", title, "") for title in view.listed]
    found = readings(view.question, [*view.passages, *listed])
    for title, own in found.items():
        yield " ".join([title, *words_beside(view.question, own[0].base)])
    if found:
        yield next(iter(found.values()))[0].base
    else:
        yield from _about_names(view)


def _about_names(view: View) -> Iterator[str]:
    """Second hops: names out of the sentences that say most of what the question says."""
    found = readings(view.question, view.passages)
    sources = [p for own in found.values() for p in own] or list(view.passages[:3])
    known = {passage.title.lower() for passage in view.passages}
    brought = [name for passage in sources for name in _brought_up(view.question, passage)]
    for name in unique(brought)[:_HOPS]:
        if name.lower() not in known:
            yield name


def _brought_up(question: str, passage: Seen) -> list[str]:
    asked = stems(question)
    ranked = sorted(sentences(passage.text), key=lambda s: -len(stems(s) & asked))
    return [
        found[0].rstrip(".")
        for sentence in ranked[:1]
        for found in names(sentence)
        if " " in found[0] and not contains_name(question, found[0])
    ]
