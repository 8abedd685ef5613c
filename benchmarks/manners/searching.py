"""The manners: from a conversation to the next calls; none are left when it is time to answer."""

from collections.abc import Iterator
from itertools import islice
from typing import Protocol

from manners.conversation import Conversation, ShownPassage
from manners.offer import Calls, Offer
from manners.text import base, content_words, names, sentences, stems, without


class Manner(Protocol):
    """How a model searches."""

    def __call__(self, seen: Conversation, offer: Offer) -> Calls: ...


def stops_early(seen: Conversation, offer: Offer) -> Calls:
    """Searches the question, then its names, and answers with what came back."""
    asked = seen.readings or (seen.question,)
    told = " ".join(names(seen.question))
    turns = [[*asked], [told] if told and told.lower() not in seen.asked else []]
    return offer.searches(turns[seen.turns]) if seen.turns < len(turns) else []


REWORDED_A_TURN = 3
_WORDINGS = (
    "{word} {name}",
    "{name} {word}",
    "list of {word} {name}",
    "all {word} of {name}",
    "which {word}, {name}",
    "{name}: {word} and more",
    "information about {word} {name}",
    "known {word} by {name}",
)


def repeats_itself(seen: Conversation, offer: Offer) -> Calls:
    """Rewords the same names until it is told that no call is left, as a recorded model did."""
    fresh = (query for query in wordings(seen.question) if query.lower() not in seen.asked)
    return offer.searches(list(islice(fresh, REWORDED_A_TURN)))


def wordings(question: str) -> Iterator[str]:
    """The name, the question, then name and words of the question in ever other wordings."""
    named = names(question) or [question]
    rest = content_words(without(question, named)) or ["facts"]
    yield from named
    yield f"{' '.join(rest)} {' '.join(named)}"
    yield question
    for wording in _WORDINGS:
        for word, name in ((word, name) for name in reversed(named) for word in rest):
            yield wording.format(word=word, name=name)


AT_ONCE = 4
LITTLE = 2
"""Calls left with which `reads_everything` answers."""
MOST_PAGES = 3


def reads_everything(seen: Conversation, offer: Offer) -> Calls:
    """Follows every title and every name that it meets, and uses all that the tools offer.

    It answers when a result says that little is left; else it goes on until it is told to stop.
    """
    if seen.left is not None and seen.left <= LITTLE:
        return []
    most = AT_ONCE if seen.left is None else min(AT_ONCE, seen.left - LITTLE)
    if not seen.calls:
        first = [*(seen.readings or (seen.question,)), *names(seen.question)]
        return offer.searches(list(dict.fromkeys(first)))[:most]
    calls = [*_opened(seen, offer), *offer.searches(_subjects(seen)), *_paged(seen, offer)]
    if len(calls) < most:
        needed = (most - len(calls)) * offer.queries
        calls += offer.searches(list(islice(_met(seen), needed)))
    return calls[:most]


def _is_subject(title: str, question: str) -> bool:
    """Whether a title's name is one of the question's, which does not tell it apart itself."""
    if base(title).lower() not in {name.lower() for name in names(question)}:
        return False
    return title in question or f"{base(title)} (" not in question


def _opened(seen: Conversation, offer: Offer) -> Calls:
    """The titles of the asked names, and those that have passages which were not shown."""
    if not offer.opens:
        return []
    given = [call.args[offer.opens_by] for call in seen.calls if call.name == offer.opens]
    opened = {title for one in given for title in (one if isinstance(one, list) else [one])}
    shown: dict[str, list[ShownPassage]] = {}
    for passage in seen.passages:
        shown.setdefault(passage.title, []).append(passage)
    wanted = [
        title
        for title, parts in shown.items()
        if _is_subject(title, seen.question) or parts[0].parts > len(parts)
    ]
    return offer.open([title for title in wanted if title not in opened])


def _subjects(seen: Conversation) -> list[str]:
    """Each title that bears an asked name, with the rest of the question."""
    rest = without(seen.question, names(seen.question))
    titles = dict.fromkeys(p.title for p in seen.passages if _is_subject(p.title, seen.question))
    queries = [f"{title} {rest}".strip() for title in titles if title != base(title)]
    return [query for query in queries if query.lower() not in seen.asked]


def _paged(seen: Conversation, offer: Offer) -> Calls:
    """The next page of searches for asked names whose last page brought something new."""
    if not offer.pages:
        return []
    named = names(seen.question)
    known: set[str] = set()
    last: dict[str, tuple[int, bool, Calls]] = {}
    for call in seen.calls:
        found = {passage.id for passage in call.passages}
        page = int(call.args.get("page", 1))
        if call.name == offer.search and any(name in str(call.args) for name in named):
            args = {key: value for key, value in call.args.items() if key != "page"}
            last[str(args)] = (page, bool(found - known), offer.page(args, page + 1))
        known |= found
    return [c for page, new, calls in last.values() if new and page < MOST_PAGES for c in calls]


def _met(seen: Conversation) -> Iterator[str]:
    """Titles and names to look up: first out of what was found about the asked names, and there
    out of sentences that share words with the question; each once."""
    asked = set(seen.asked) | {name.lower() for name in names(seen.question)}
    titles = {base(p.title).lower(): p.title for p in reversed(seen.passages)}
    found = sorted(seen.passages, key=lambda p: not _is_subject(p.title, seen.question))
    for passage in found:
        told = sorted(sentences(passage.text), key=lambda s: -_shared(s, seen.question))
        for name in [passage.title, *(name for sentence in told for name in names(sentence))]:
            query = titles.get(name.lower(), name)
            is_new = query.lower() not in asked and name.lower() not in asked
            if is_new and not any(known.startswith(query.lower()) for known in asked):
                asked |= {query.lower(), name.lower()}
                yield query


def _shared(sentence: str, question: str) -> int:
    return len(stems(sentence) & stems(question))


MANNERS: dict[str, Manner] = {
    "stops_early": stops_early,
    "repeats_itself": repeats_itself,
    "reads_everything": reads_everything,
}
