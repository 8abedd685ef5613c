"""The expander's message: the question, and the namesakes that were found for its names."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from branchwise.graphs.namesakes import QuestionNames
from branchwise.graphs.question_names import folded
from branchwise.tools.registry import NAMES_TOOL
from branchwise.trace.parts import FoundTitle, TitleSearch

MAX_LISTED = 20
"""Namesakes of one name; readings are fewer."""
BETWEEN = " — "
"""Between a title and what is said of it."""


def namesakes(question: str, looked: Iterable[TitleSearch]) -> Mapping[str, Sequence[FoundTitle]]:
    """By name, in the order of the question, what bears it; each thing once.

    Without names that the question itself tells apart ("King Kong (1976 film)").
    """
    names = QuestionNames(question)
    of_name: dict[str, list[FoundTitle]] = {}
    for one in _titles_then_bearers(looked):
        known = of_name.setdefault(one.name, [])
        if not any(_is_same(one, other) for other in known):
            known.append(one)
    whole = sorted(names.whole(of_name), key=question.find)
    return {
        name: of_name[name][:MAX_LISTED]
        for name in whole
        if not any(names.tells_apart(one.title, name) for one in of_name[name])
    }


def expander_message(question: str, listed: Mapping[str, Sequence[FoundTitle]]) -> str:
    """The user's message: each thing on a line of its own, which it cannot break."""
    parts = [f"Question: {question}"]
    for name, things in listed.items():
        parts.append("\n".join([f"Found for {name!r}:", *map(_entry, things)]))
    return "\n\n".join(parts)


def _entry(thing: FoundTitle) -> str:
    return f"- {thing.title}{BETWEEN}{thing.about}" if thing.about else f"- {thing.title}"


def _titles_then_bearers(looked: Iterable[TitleSearch]) -> list[FoundTitle]:
    """Titles of passages; of names that the graph has more bearers of, these too."""
    searches = list(looked)
    found = [one for search in searches if search.tool != NAMES_TOOL for one in search.found]
    titles = list({one.title: one for one in reversed(found)}.values())[::-1]
    bearers = [one for search in searches if search.tool == NAMES_TOOL for one in search.found]
    known, borne = (Counter(one.name for one in listed) for listed in (titles, bearers))
    return [*titles, *(one for one in bearers if borne[one.name] > known[one.name])]


def _is_same(one: FoundTitle, other: FoundTitle) -> bool:
    """Whether a thing is listed already: its title with the same words about it, or its
    description has all that tells the title apart."""
    if folded(one.title) == folded(other.title):
        return folded(one.title) != folded(one.name) or folded(one.about) == folded(other.about)
    apart = set(folded(other.title)) - set(folded(other.name))
    return bool(apart) and apart <= {*folded(one.title), *folded(one.about)}
